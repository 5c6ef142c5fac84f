"""Checks of cables. They lay the cables of a fabric only where the spec says which kinds may be used."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Cable, Catalog
from ...errors import Finding, InputError
from ..model import FabricPlan, Plan

__all__ = ["CHECKS"]


def _declared(plan: Plan) -> Iterator[tuple[str, FabricPlan]]:
    for index, item in enumerate(plan.spec.fabrics):
        fabric = next((fabric for fabric in plan.fabrics if fabric.name == item.name), None)
        if fabric is not None:
            yield f"fabrics[{index}]", fabric


def cable_reach(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Cables longer than any of the kinds that were allowed, and ports that would get two."""
    for path, fabric in _declared(plan):
        declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
        special = declared.cabling or declared.peer_links or declared.exits or declared.joins
        if not special or not fabric.tiers:
            continue
        import numpy as np

        from ..cables import cables_of

        try:
            table = cables_of(plan, fabric)
        except InputError as error:
            yield Finding("cable-reach", "error", path, str(error), "take larger switches, or fewer links")
            continue
        media = declared.cabling.media if declared.cabling else ()
        short = (table.kind < 0) & ~np.isnan(table.length)
        if media and short.any() and any(item.medium in media for item in _known(fabric)):
            worst = int(np.argmax(np.where(short, table.length, -1)))
            reach = max(item.reach for item in _known(fabric) if item.medium in media)
            labels = " to ".join(f"{table.names(side)[worst]}:{table.ports(side)[worst]}" for side in ("one", "other"))
            yield Finding(
                "cable-reach", "error", f"{path}.cabling.media",
                f"{int(short.sum())} of {table.count} links of {fabric.name} are further than {', '.join(media)} goes "
                f"({reach} at {fabric.speed}): the longest is {table.length[worst]:.1f} m, from {labels}",
                "allow a kind that reaches further, or move the racks of switches nearer",
            )  # fmt: skip


def _known(fabric: FabricPlan) -> tuple[Cable, ...]:
    from ..cable_choice import network_of
    from ..cable_parts import Parts

    parts = fabric.parts
    cables = parts.cables if isinstance(parts, Parts) else ()
    return tuple(item for item in cables if network_of(fabric) in item.networks and item.speed == fabric.speed)


def subnet_licence(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """What the subnet manager cannot do."""
    for path, fabric in _declared(plan):
        declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
        for name, wanted in (("adaptive_routing", declared.adaptive_routing), ("sharp", declared.sharp)):
            if wanted and fabric.kind != "infiniband":
                yield Finding("subnet-licence", "error", f"{path}.{name}", f"{fabric.name} is {fabric.kind}: {name} is "
                              "of InfiniBand", "leave it out")  # fmt: skip
            elif wanted and declared.subnet_manager == "opensm":
                yield Finding("subnet-licence", "error", f"{path}.{name}", f"the open subnet manager has no {name}",
                              "set subnet_manager: nvidia where it is licensed, or leave it out")  # fmt: skip


CHECKS = (cable_reach, subnet_licence)
