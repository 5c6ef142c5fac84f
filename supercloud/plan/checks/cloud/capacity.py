"""Checks of capacity that a cloud, a machine or a zone does not offer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....catalog import Catalog
from ....catalog.sellers import select_regions
from ....errors import Finding, suggest_nearest
from ....primitives.counts import format_indefinite
from ....spec import Pool
from ...build.cloud.groups import count_capacity_nodes
from ...build.cloud.zones import get_capacity_zone
from ...model.cloud import CloudPlan
from ...model.plan import Plan
from .facts import iter_cloud_facts, iter_pools

__all__ = ["CHECKS"]


def cloud_machine_region(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A machine that the region does not offer, or for which this is unknown."""
    for cloud, provider, region in iter_cloud_facts(plan, catalog):
        if region.families is None:
            continue
        for path, declared, pool in iter_pools(plan):
            instance = pool.machine.instance
            if instance is None or pool.machine.accelerators is None or instance.family in region.families:
                continue
            sellers = select_regions(catalog, pool.machine)
            if cloud.region in sellers:
                continue  # the provider's own price list is more precise than a list of families without a date
            local = [zone.name for zone in region.local_zones if instance.family in zone.families]
            if local:
                yield from _check_local_machine(cloud, path, declared, local)
                continue
            reason = provider.unlisted.get(instance.family)
            if reason:
                yield Finding(
                    "cloud-machine-region",
                    "note",
                    f"{path}.machine",
                    f"unknown whether {cloud.region} offers {declared.machine}: {reason}",
                    "ask the provider, and set the zone of your capacity",
                )
                continue
            others = ", ".join(sellers)
            yield Finding(
                "cloud-machine-region",
                "error",
                f"{path}.machine",
                f"{cloud.region} does not offer {instance.family} ({declared.machine})",
                f"use a region that does: {others}" if others else "use another machine",
            )


def _check_local_machine(cloud: CloudPlan, path: str, declared: Pool, local: list[str]) -> Iterator[Finding]:
    """A machine of local zones whose nodes are planned in other zones."""
    zones = {zone for group in cloud.list_groups(declared.name) for zone in group.zones}
    if cloud.network.existing is None and zones - {*local}:
        yield Finding(
            "cloud-machine-region",
            "warning",
            f"{path}.zones",
            f"{declared.machine} is listed for {' and '.join(local)} only; its nodes are planned in "
            f"{', '.join(sorted(zones))}",
            f"set zones: [{local[0]}], and the zone of its capacity",
        )


def cloud_local_zone(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Local zones: what they lack is in other zones, and accounts must be opted in to them."""
    for cloud, _, region in iter_cloud_facts(plan, catalog):
        for index, zone in enumerate(cloud.zones):
            known = region.find_local_zone(zone)
            if known is None:
                continue
            pools = [
                pool.name for pool in plan.pools if any(zone in item.zones for item in cloud.list_groups(pool.name))
            ]
            others = [name for name in cloud.zones if region.find_local_zone(name) is None]
            paths = [path for path, name in _iter_zones(plan) if name == zone]
            yield Finding(
                "cloud-local-zone",
                "note",
                paths[0] if paths else f"site.zones[{index}]",
                f"{zone} is a local zone: nodes of {', '.join(pools) or 'no pool'} are there; gateways, hosts and file "
                f"systems are in {', '.join(others) or 'the other subnets'}, and traffic between them crosses zones",
                "opt the account in to the zone before the first pulumi up" if known.opt_in else "none is required",
            )


def cloud_zone(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A zone that does not belong to the region."""
    for _, _, region in iter_cloud_facts(plan, catalog):
        for path, zones in _iter_zone_lists(plan):
            for zone in sorted({zone for zone in zones if zones.count(zone) > 1}):
                yield Finding("cloud-zone", "error", path, f"duplicate zone {zone}", "list each zone once")
        for path, zone in _iter_zones(plan):
            local = zone.startswith(region.name)
            if region.find_local_zone(zone) or (zone in region.zones if region.zones else local):
                continue
            yield Finding(
                "cloud-zone",
                "warning" if local else "error",
                path,
                f"{zone} is not a{' known' if local else ''} zone of {region.name}",
                suggest_nearest(zone, region.zones) if region.zones else f"zones of {region.name} start with its name",
            )


def _iter_zone_lists(plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Path and zones of the site and of each pool."""
    if plan.spec.site.kind != "onprem":
        yield "site.zones", plan.spec.site.zones
    for path, declared, _ in iter_pools(plan):
        yield f"{path}.zones", declared.zones


def _iter_zones(plan: Plan) -> Iterator[tuple[str, str]]:
    """Path and name of each declared zone: of the site, and of each pool with its capacity."""
    if plan.spec.site.kind != "onprem":
        yield from ((f"site.zones[{index}]", zone) for index, zone in enumerate(plan.spec.site.zones))
    for path, declared, _ in iter_pools(plan):
        yield from ((f"{path}.zones[{index}]", zone) for index, zone in enumerate(declared.zones))
        for index, way in enumerate(declared.capacity):
            zone = get_capacity_zone(way)
            if zone:
                yield f"{path}.capacity[{index}].zone", zone


def cloud_capacity_kind(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A capacity type that the cloud does not have, or not for this machine."""
    for _, provider, _ in iter_cloud_facts(plan, catalog):
        for path, declared, pool in iter_pools(plan):
            for index, way in enumerate(declared.capacity):
                rule = provider.find_capacity_rule(way.kind)
                place = f"{path}.capacity[{index}].kind"
                if rule is None:
                    reason = provider.cannot.get(f"capacity:{way.kind}", "unknown capacity type")
                    ways = ", ".join(item.kind for item in provider.capacity)
                    yield Finding(
                        "cloud-capacity-kind",
                        "error",
                        place,
                        f"{way.kind} does not exist at {provider.name}: {reason}",
                        f"use one of {ways}",
                    )
                elif pool.machine.capacity_kinds and way.kind not in pool.machine.capacity_kinds:
                    yield Finding(
                        "cloud-capacity-kind",
                        "error",
                        place,
                        f"{declared.machine} is not available as {way.kind}",
                        f"use one of {', '.join(pool.machine.capacity_kinds)}",
                    )
            kinds = pool.machine.capacity_kinds
            if not declared.capacity and kinds and "on-demand" not in kinds:
                yield Finding(
                    "cloud-capacity-kind",
                    "error",
                    f"{path}.capacity",
                    f"{declared.machine} is not available on demand, the default",
                    f"set capacity to one of {', '.join(kinds)}",
                )


def cloud_capacity_id(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """An identifier of capacity that is invalid or duplicate."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        seen: dict[str, str] = {}
        for path, declared, _ in iter_pools(plan):
            for index, way in enumerate(declared.capacity):
                ident, rule = getattr(way, "id", None), provider.find_capacity_rule(way.kind)
                if ident is None or rule is None:
                    continue
                place = f"{path}.capacity[{index}].id"
                looks = (rule.id_pattern or ".*").replace("{region}", cloud.region)
                looks = looks.replace("{partition}", cloud.partition)
                example = rule.id_example if re.fullmatch(looks, rule.id_example or "") else looks
                if not re.fullmatch(looks, ident):
                    yield Finding(
                        "cloud-capacity-id",
                        "error",
                        place,
                        f"{ident!r} is not a valid identifier of {format_indefinite(way.kind)} in {cloud.region}",
                        f"an example is {example}",
                    )
                elif seen.get(ident) == path:
                    yield Finding(
                        "cloud-capacity-id",
                        "error",
                        place,
                        f"duplicate capacity {ident} in one pool",
                        "remove one of them",
                    )
                seen[ident] = path


def cloud_capacity_shared(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Capacity of two pools with one identifier but different machines, kinds or zones: an identifier has one of
    each.
    """
    for _ in iter_cloud_facts(plan, catalog):
        seen: dict[str, tuple[str, tuple[str, str, str | None]]] = {}
        for path, declared, _ in iter_pools(plan):
            for index, way in enumerate(declared.capacity):
                ident = getattr(way, "id", None)
                if ident is None or way.kind == "reservation-group":
                    continue
                place, own = f"{path}.capacity[{index}]", (way.kind, declared.machine, get_capacity_zone(way))
                other_place, other = seen.setdefault(ident, (place, own))
                differ = own[:2] != other[:2] or len({own[2], other[2]} - {None}) > 1
                if differ and not other_place.startswith(f"{path}."):
                    yield Finding(
                        "cloud-capacity-shared",
                        "error",
                        f"{place}.id",
                        f"{ident} is {_describe_capacity(own)} here and {_describe_capacity(other)} at {other_place}",
                        "correct one of them, or use other capacity for the other pool",
                    )


def _describe_capacity(capacity: tuple[str, str, str | None]) -> str:
    kind, machine, zone = capacity
    return f"{format_indefinite(kind)} of {machine}{f' in {zone}' if zone else ''}"


def cloud_capacity_zone_missing(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Capacity that exists in one zone, without a declared zone: nodes may be requested in the wrong zone."""
    for cloud, _, region in iter_cloud_facts(plan, catalog):
        site = plan.spec.site
        for path, declared, _ in iter_pools(plan):
            zones = declared.zones or (site.zones if site.kind != "onprem" else ())
            if len(set(zones)) == 1 or len(region.zones) == 1 or cloud.network.existing is not None:
                continue
            for group in cloud.list_groups(declared.name):
                way = group.capacity
                if way.kind in ("reservation", "capacity-block") and get_capacity_zone(way) is None:
                    yield Finding(
                        "cloud-capacity-zone-missing",
                        "warning",
                        f"{path}.capacity[{group.rank}]",
                        f"the {way.kind} exists in one zone, which is not specified: its nodes are requested in "
                        f"{', '.join(group.zones)}, where none start if it is in another zone",
                        "set its zone",
                    )


def cloud_capacity_size(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More nodes than capacity under one identifier can have, and no other capacity for the rest."""
    for _, provider, _ in iter_cloud_facts(plan, catalog):
        for path, declared, pool in iter_pools(plan):
            most = [count_capacity_nodes(provider, pool, way) for way in declared.capacity]
            known = [number for number in most if number]
            if known and len(known) == len(most) and sum(known) < declared.nodes:
                yield Finding(
                    "cloud-capacity-size",
                    "warning",
                    f"{path}.capacity",
                    f"{declared.nodes} nodes, but its capacity has at most {sum(known)} "
                    f"({' and '.join(map(str, known))})",
                    "use a reservation-group of several blocks, or one block for each scale-up domain"
                    if pool.machine.instance and pool.machine.instance.domains
                    else "add capacity, or another capacity type",
                )


def cloud_capacity_zone(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Capacity in a zone that the pool or the site does not use, or in several zones of one fabric."""
    for _ in iter_cloud_facts(plan, catalog):
        site = plan.spec.site
        for path, declared, pool in iter_pools(plan):
            allowed = declared.zones or (site.zones if site.kind != "onprem" else ())
            bound: dict[str, int] = {}
            for index, way in enumerate(declared.capacity):
                zone = get_capacity_zone(way)
                if zone is None:
                    continue
                if allowed and zone not in allowed:
                    yield Finding(
                        "cloud-capacity-zone",
                        "error",
                        f"{path}.capacity[{index}].zone",
                        f"the {way.kind} is in {zone}, {'the pool' if declared.zones else 'the site'} uses "
                        f"{', '.join(allowed)}",
                        f"add {zone} to the zones, or use capacity in one of them",
                    )
                bound.setdefault(zone, index)
            if pool.fabrics and len(bound) > 1:
                yield Finding(
                    "cloud-capacity-zone",
                    "warning",
                    f"{path}.capacity",
                    f"its capacity is in {len(bound)} zones ({', '.join(bound)}), but a fabric never spans zones: "
                    "nodes in different zones cannot reach each other over it",
                    "use capacity in one zone, or declare a pool for each",
                )


def cloud_domain(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Nodes that do not fill the scale-up domains the machine is offered in."""
    for _ in iter_cloud_facts(plan, catalog):
        for path, declared, pool in iter_pools(plan):
            domains = pool.machine.instance.domains if pool.machine.instance else ()
            sizes = sorted(item.nodes for item in domains)
            if declared.domain is not None and declared.domain not in sizes:
                has = f"is offered in domains of {_format_sizes(sizes)} nodes" if sizes else "is not offered in domains"
                yield Finding(
                    "cloud-domain",
                    "error",
                    f"{path}.domain",
                    f"{declared.machine} {has}, not of {declared.domain}",
                    f"set {_format_sizes(sizes)}" if sizes else "omit it",
                )
            elif sizes and declared.nodes % pool.machine.domain_nodes:
                size = pool.machine.domain_nodes if declared.domain else sizes[0]
                up = -(-declared.nodes // size) * size
                yield Finding(
                    "cloud-domain",
                    "error",
                    f"{path}.nodes",
                    f"{declared.nodes} nodes do not fill domains of {_format_sizes(sizes)} nodes of {declared.machine}",
                    f"set {up}",
                )
            elif sizes and (declared.initial or 0) % pool.machine.domain_nodes:
                yield Finding(
                    "cloud-domain",
                    "error",
                    f"{path}.initial",
                    f"{declared.initial} initial nodes do not fill domains of {pool.machine.domain_nodes}",
                    f"set a multiple of {pool.machine.domain_nodes}",
                )


def _format_sizes(sizes: list[int]) -> str:
    return " or ".join(map(str, sizes))


CHECKS = (
    cloud_machine_region,
    cloud_local_zone,
    cloud_zone,
    cloud_capacity_kind,
    cloud_capacity_id,
    cloud_capacity_shared,
    cloud_capacity_zone_missing,
    cloud_capacity_size,
    cloud_capacity_zone,
    cloud_domain,
)
