"""Ways to get machines that a cloud, a machine or a zone does not grant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....catalog import Catalog
from ....errors import Finding, nearest
from ...cloud.zones import way_zone
from ...model import Plan
from .given import cloud_of, pools_of

__all__ = ["CHECKS"]


def cloud_machine_region(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A machine that the region does not sell, or of which that is not known."""
    for cloud, provider, region in cloud_of(plan, catalog):
        if region.families is None:
            continue
        for path, declared, pool in pools_of(plan):
            instance = pool.machine.instance
            if instance is None or pool.machine.accelerators is None or instance.family in region.families:
                continue
            reason = provider.unlisted.get(instance.family)
            if reason:
                yield Finding(
                    "cloud-machine-region", "note", f"{path}.machine",
                    f"whether {cloud.region} sells {declared.machine} is not known: {reason}",
                    "ask the provider, and name the zone of your capacity",
                )  # fmt: skip
                continue
            others = ", ".join(_sellers(catalog, cloud.provider, instance.family))
            yield Finding(
                "cloud-machine-region", "error", f"{path}.machine",
                f"{cloud.region} does not sell {instance.family} ({declared.machine})",
                f"take a region that does: {others}" if others else "take another machine",
            )  # fmt: skip


def _sellers(catalog: Catalog, provider: str, family: str) -> Iterator[str]:
    for item in catalog.all("regions"):
        if getattr(item, "provider", "") == provider and family in (getattr(item, "families", None) or ()):
            yield item.name


def cloud_zone(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A zone that is none of the region's."""
    for _, _, region in cloud_of(plan, catalog):
        site = plan.spec.site
        named = [(f"site.zones[{i}]", zone) for i, zone in enumerate(site.zones)] if site.kind != "onprem" else []
        for path, declared, _ in pools_of(plan):
            named += [(f"{path}.zones[{i}]", zone) for i, zone in enumerate(declared.zones)]
            for index, way in enumerate(declared.capacity):
                zone = way_zone(way)
                if zone:
                    named.append((f"{path}.capacity[{index}].zone", zone))
        lists = [("site.zones", site.zones)] if site.kind != "onprem" else []
        lists += [(f"{path}.zones", declared.zones) for path, declared, _ in pools_of(plan)]
        for path, zones in lists:
            for zone in sorted({zone for zone in zones if zones.count(zone) > 1}):
                yield Finding("cloud-zone", "error", path, f"{zone} is named twice", "name each zone once")
        for path, zone in named:
            if zone not in region.zones and not (not region.zones and zone.startswith(region.name)):
                local = zone.startswith(region.name)
                yield Finding(
                    "cloud-zone", "warning" if local else "error", path,
                    f"{zone} is no zone of {region.name}" + (" that the catalog knows" if local else ""),
                    nearest(zone, region.zones) if region.zones else f"zones of {region.name} begin with its name",
                )  # fmt: skip


def cloud_capacity_kind(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A way to get machines that the cloud does not have, or not for this machine."""
    for _, provider, _ in cloud_of(plan, catalog):
        for path, declared, pool in pools_of(plan):
            for index, way in enumerate(declared.capacity):
                rule = provider.way(way.kind)
                place = f"{path}.capacity[{index}].kind"
                if rule is None:
                    reason = provider.cannot.get(f"capacity:{way.kind}", "it has no such way")
                    ways = ", ".join(item.kind for item in provider.capacity)
                    yield Finding("cloud-capacity-kind", "error", place,
                                  f"{way.kind} does not exist at {provider.name}: {reason}",
                                  f"take one of {ways}")  # fmt: skip
                elif pool.machine.capacity_kinds and way.kind not in pool.machine.capacity_kinds:
                    yield Finding("cloud-capacity-kind", "error", place,
                                  f"{declared.machine} cannot be had as {way.kind}",
                                  f"take one of {', '.join(pool.machine.capacity_kinds)}")  # fmt: skip
            kinds = pool.machine.capacity_kinds
            if not declared.capacity and kinds and "on-demand" not in kinds:
                yield Finding("cloud-capacity-kind", "error", f"{path}.capacity",
                              f"{declared.machine} cannot be had on demand, which is meant where nothing is said",
                              f"say how it is got: {', '.join(kinds)}")  # fmt: skip


def cloud_capacity_id(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """An identifier of capacity that cannot be one, or that is named twice."""
    for _, provider, _ in cloud_of(plan, catalog):
        seen: dict[str, str] = {}
        for path, declared, _ in pools_of(plan):
            for index, way in enumerate(declared.capacity):
                ident, rule = getattr(way, "id", None), provider.way(way.kind)
                if ident is None or rule is None:
                    continue
                place = f"{path}.capacity[{index}].id"
                if rule.id_pattern and not re.fullmatch(rule.id_pattern, ident):
                    yield Finding("cloud-capacity-id", "error", place,
                                  f"{ident!r} is no identifier of a {way.kind} at {provider.name}",
                                  f"one looks like {rule.id_example or rule.id_pattern}")  # fmt: skip
                elif seen.get(ident) == path:
                    yield Finding("cloud-capacity-id", "error", place, f"{ident} is named twice in one pool",
                                  "remove one of them")  # fmt: skip
                seen[ident] = path


def cloud_capacity_zone(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Capacity in a zone that the pool or the site does not use, or in several zones of one fabric."""
    for _ in cloud_of(plan, catalog):
        site = plan.spec.site
        for path, declared, pool in pools_of(plan):
            allowed = declared.zones or (site.zones if site.kind != "onprem" else ())
            bound: dict[str, int] = {}
            for index, way in enumerate(declared.capacity):
                zone = way_zone(way)
                if zone is None:
                    continue
                if allowed and zone not in allowed:
                    yield Finding(
                        "cloud-capacity-zone", "error", f"{path}.capacity[{index}].zone",
                        f"the {way.kind} is in {zone}, {'the pool' if declared.zones else 'the site'} uses "
                        f"{', '.join(allowed)}",
                        f"add {zone} to the zones, or take capacity in one of them",
                    )  # fmt: skip
                bound.setdefault(zone, index)
            if pool.fabrics and len(bound) > 1:
                yield Finding(
                    "cloud-capacity-zone", "warning", f"{path}.capacity",
                    f"its ways lead to {len(bound)} zones ({', '.join(bound)}), and a fabric never spans zones: nodes "
                    "of different ways do not reach each other over it",
                    "take capacity in one zone, or a pool for each",
                )  # fmt: skip


def cloud_domain(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Nodes that do not fill the scale-up domains the machine is sold in."""
    for _ in cloud_of(plan, catalog):
        for path, declared, pool in pools_of(plan):
            domains = pool.machine.instance.domains if pool.machine.instance else ()
            sizes = sorted(item.nodes for item in domains)
            if declared.domain is not None and declared.domain not in sizes:
                has = f"is sold in domains of {_list(sizes)} nodes" if sizes else "is not sold in domains"
                yield Finding("cloud-domain", "error", f"{path}.domain",
                              f"{declared.machine} {has}, not of {declared.domain}",
                              f"take {_list(sizes)}" if sizes else "leave it out")  # fmt: skip
            elif sizes and declared.nodes % pool.machine.domain_nodes:
                size = pool.machine.domain_nodes if declared.domain else sizes[0]
                up = -(-declared.nodes // size) * size
                yield Finding("cloud-domain", "error", f"{path}.nodes",
                              f"{declared.nodes} nodes do not fill domains of {_list(sizes)} nodes of "
                              f"{declared.machine}", f"take {up}")  # fmt: skip
            elif sizes and (declared.initial or 0) % pool.machine.domain_nodes:
                yield Finding("cloud-domain", "error", f"{path}.initial",
                              f"{declared.initial} nodes at first do not fill domains of {pool.machine.domain_nodes}",
                              f"take a multiple of {pool.machine.domain_nodes}")  # fmt: skip


def _list(sizes: list[int]) -> str:
    return " or ".join(map(str, sizes))


CHECKS = (
    cloud_machine_region,
    cloud_zone,
    cloud_capacity_kind,
    cloud_capacity_id,
    cloud_capacity_zone,
    cloud_domain,
)
