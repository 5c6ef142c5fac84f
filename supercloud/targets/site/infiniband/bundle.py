"""All files of the InfiniBand bundle."""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.cabling.ends import switch_names
from ....plan.fabric.subnet import engines
from ....plan.model import FabricPlan, Plan
from ....primitives.bundle import Bundle, File
from ....primitives.templates import fill
from ....spec import Fabric as Declared
from ....topology import Fabric as Wiring
from .ipoib import ipoib_script
from .partitions import partitions_text

__all__ = ["render"]

_FOLDER = "/etc/opensm"
_HOSTS = "/etc/supercloud/infiniband"


def render(plan: Plan) -> Bundle:
    """A folder for each InfiniBand fabric with switches of our own."""
    files: dict[str, File | str] = {}
    for fabric in plan.fabrics:
        if fabric.kind == "infiniband" and fabric.tiers:
            declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
            files |= {f"{fabric.name}/{path}": text for path, text in _files(plan, fabric, declared)}
            if plan.networks and any(item.fabric == fabric.name for item in plan.networks.subnets):
                files[f"{fabric.name}/ipoib.sh"] = ipoib_script(plan, fabric)
                files[f"{fabric.name}/ipoib-{fabric.name}.service"] = fill(
                    "infiniband/ipoib.service.j2", name=plan.name, fabric=fabric.name, folder=f"{_HOSTS}/{fabric.name}"
                )
    return Bundle(files)


def _files(plan: Plan, fabric: FabricPlan, declared: Declared) -> Iterator[tuple[str, str]]:
    chosen = engines(fabric, declared)
    nvidia = declared.subnet_manager == "nvidia"
    tiers = [(tier.name, switch_names(fabric.name, tier.name, tier.count)) for tier in fabric.tiers]
    roots = [name for name in tiers[-1][1] if name in fabric.guids]
    whole = bool(roots) and len(roots) == len(tiers[-1][1])
    known = [(fabric.guids[name], name) for _, names in tiers for name in names if name in fabric.guids]
    subnets = fabric.planes * (fabric.rails if _apart(fabric) else 1)
    yield "opensm.conf", fill(
        "infiniband/opensm.conf.j2", name=plan.name, fabric=fabric.name, folder=f"{_FOLDER}/{fabric.name}",
        engines=chosen if nvidia else (*chosen, "no_fallback"), nvidia=nvidia, roots=whole, names=bool(known),
        sharp=declared.sharp, adaptive=declared.adaptive_routing, policy=nvidia and len(tiers) > 1,
    )  # fmt: skip
    yield "partitions.conf", partitions_text(plan, fabric, declared)
    if whole:
        yield "root-guids.conf", "".join(f"{fabric.guids[name]}\n" for name in roots)
    if known:
        yield "node-name-map", "".join(f'{guid} "{name}"\n' for guid, name in known)
    if nvidia:
        yield "ufm/gv.cfg", fill("infiniband/gv.cfg.j2", sharp=declared.sharp, adaptive=declared.adaptive_routing)
        if len(tiers) > 1:
            yield "pgrp_policy.conf", fill("infiniband/pgrp_policy.conf.j2", regexp=f"{fabric.name}-{tiers[-1][0]}-.*")
    yield "GUIDE.md", fill(
        "infiniband/GUIDE.md.j2", fabric=fabric.name, folder=f"{_FOLDER}/{fabric.name}",
        hosts=f"{_HOSTS}/{fabric.name}", engine=chosen[0], subnets=subnets, roots=whole, nvidia=nvidia,
        missing=len(tiers[-1][1]) - len(roots) if fabric.guids else 0,
    )  # fmt: skip


def _apart(fabric: FabricPlan) -> bool:
    return isinstance(fabric.wiring, Wiring) and fabric.wiring.rails_are_disjoint
