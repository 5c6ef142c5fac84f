"""Checks of networks of clouds: ranges, sizes, free addresses, and access."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from itertools import product

from ....catalog import Catalog
from ....errors import Finding
from ...build.cloud.site import SERVICE_ADDRESSES
from ...model.cloud import CloudPlan
from ...model.plan import Plan
from .access import cloud_access, cloud_principals
from .facts import iter_cloud_facts
from .rules import count_security_rules

__all__ = ["CHECKS"]

Network = ipaddress.IPv4Network


def _iter_ranges(plan: Plan) -> Iterator[tuple[str, Network, bool]]:
    """Path, range, whether it is a subnet; invalid ranges are reported in resolution."""
    declared = plan.spec.network
    named = [("network.cidr", declared.cidr, False)] if declared.cidr else []
    named += [(f"network.cidrs[{i}]", text, False) for i, text in enumerate(declared.cidrs)]
    for kind in ("public", "private", "control"):
        named += [(f"network.blocks.{kind}[{i}]", text, True) for i, text in enumerate(getattr(declared.blocks, kind))]
    for path, text, inner in named:
        try:
            yield path, ipaddress.IPv4Network(str(text)), inner
        except ValueError:
            continue


def cloud_network_private(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Public addresses of others on the internet (released tools have used 192.169.0.0/16)."""
    for _, provider, _ in iter_cloud_facts(plan, catalog):
        private = [ipaddress.IPv4Network(text) for text in provider.network.ranges]
        for path, net, _ in _iter_ranges(plan):
            if not any(net.subnet_of(room) for room in private):
                yield Finding(
                    "cloud-network-private",
                    "error",
                    path,
                    f"{net} is public address space",
                    f"use a part of {', '.join(provider.network.ranges)}",
                )


def cloud_network_size(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Networks and subnets larger or smaller than the cloud supports."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        low, high = provider.network.largest, provider.network.smallest
        for path, net, _ in _iter_ranges(plan):
            if not low <= net.prefixlen <= high:
                yield Finding(
                    "cloud-network-size",
                    "error",
                    path,
                    f"{net} is a /{net.prefixlen}: {provider.name} supports networks from /{low} to /{high}",
                    f"use a /{min(max(net.prefixlen, low), high)}",
                )
        declared = {str(net) for _, net, _ in _iter_ranges(plan)}
        small = [
            item
            for item in cloud.network.subnets
            if item.cidr and item.cidr not in declared and Network(item.cidr).prefixlen > high
        ]
        if small:
            yield Finding(
                "cloud-network-size",
                "error",
                "network",
                f"{cloud.network.cidrs[0]} leaves {small[0].cidr} for {small[0].key}: {provider.name} supports "
                f"subnets from /{low} to /{high}",
                "set a larger network",
            )


def cloud_network_overlap(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Ranges that overlap, and subnets outside of the network."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        found = list(_iter_ranges(plan))
        if cloud.network.cidrs and not plan.spec.network.cidr:  # the range that is used if none is set
            found.insert(0, ("network.cidr", Network(cloud.network.cidrs[0]), False))
        for index, (path, net, inner) in enumerate(found):
            # one finding for each range: of many equal ranges, the pairs would be too many to read
            before = (item for item in found[:index] if item[2] == inner and item[1].overlaps(net))
            if first := next(before, None):
                yield Finding(
                    "cloud-network-overlap",
                    "error",
                    path,
                    f"{net} overlaps with {first[1]} ({first[0]})",
                    "set separate ranges",
                )
        subnets = [(path, net) for path, net, inner in found if inner]
        yield from _check_subnet_ranges(cloud, subnets)
        yield from _check_computed_subnets(cloud, subnets)


def _check_subnet_ranges(cloud: CloudPlan, subnets: list[tuple[str, Network]]) -> Iterator[Finding]:
    """Declared subnets outside of the network."""
    whole = [ipaddress.IPv4Network(text) for text in cloud.network.cidrs]
    for path, net in subnets if whole else ():
        if not any(net.subnet_of(room) for room in whole):
            yield Finding(
                "cloud-network-overlap",
                "error",
                path,
                f"{net} is not part of the network ({', '.join(cloud.network.cidrs)})",
                "add a range to network.cidrs, or use a part of one",
            )


def _check_computed_subnets(cloud: CloudPlan, subnets: list[tuple[str, Network]]) -> Iterator[Finding]:
    """Declared subnets that overlap with computed ones: the first of them."""
    places = {str(net): path for path, net in subnets}
    computed = [item for item in cloud.network.subnets if item.cidr and item.cidr not in places]
    for (text, path), item in product(places.items(), computed):
        if Network(text).overlaps(Network(str(item.cidr))):
            yield Finding(
                "cloud-network-overlap",
                "error",
                path,
                f"{text} overlaps with {item.cidr}, which is computed for {item.key}",
                "set all ranges in network.blocks",
            )
            return


def cloud_network_conflict(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Additional ranges that are not allowed with the network's first."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        if not cloud.network.cidrs:
            continue
        first = Network(cloud.network.cidrs[0])
        for path, net, _ in _iter_ranges(plan):
            rules = provider.network.apart if path.startswith("network.cidrs") else ()
            for rule in rules:
                apart = first.subnet_of(Network(rule.first)) and not net.overlaps(first)
                if apart and any(net.overlaps(Network(text)) for text in rule.refused):
                    yield Finding(
                        "cloud-network-conflict",
                        "error",
                        path,
                        f"{net} cannot be combined with {first} (network.cidr): {rule.why}",
                        "use a range that is not in " + ", ".join(rule.refused),
                    )
                    break


def cloud_network_blocks(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Fewer or more declared subnets than zones."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        blocks = plan.spec.network.blocks
        zones = len(cloud.zones)
        control = provider.network.control_zones if plan.scheduler.kind == "kubernetes" else 0
        if blocks.private and len(blocks.private) < zones:
            yield Finding(
                "cloud-network-blocks",
                "error",
                "network.blocks.private",
                f"{len(blocks.private)} ranges for {zones} zones",
                "set one for each zone",
            )
        for name, wanted in (("public", zones), ("control", control)):
            given = len(getattr(blocks, name))
            if given > wanted or (name == "control" and 0 < given < wanted):
                yield Finding(
                    "cloud-network-blocks",
                    "error",
                    f"network.blocks.{name}",
                    f"{given} ranges for {wanted} zones",
                    f"set {wanted}",
                )
        if blocks.public and cloud.network.is_isolated:
            yield Finding(
                "cloud-network-blocks",
                "error",
                "network.blocks.public",
                "an isolated network has no public subnets",
                "omit them, or 'isolated'",
            )


def cloud_subnet_size(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Subnets with fewer addresses than nodes times addresses per node."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        for zone in cloud.zones:
            need = SERVICE_ADDRESSES + sum(_count_addresses(cloud, pool.name, zone) for pool in plan.pools)
            own = [item for item in cloud.network.subnets if item.zone == zone and item.purpose == "nodes"]
            if not own or any(item.cidr is None for item in own):
                continue
            room = sum(Network(str(item.cidr)).num_addresses - provider.network.reserved for item in own)
            if room < need:
                ranges = ", ".join(str(item.cidr) for item in own)
                yield Finding(
                    "cloud-subnet-size",
                    "error",
                    "network",
                    f"{zone} has {room} addresses ({ranges}), but nodes and services require {need}: "
                    f"{_format_address_sum(cloud, plan, zone)}",
                    "set larger ranges in network.blocks.private, or more ranges in network.cidrs",
                )


def _count_addresses(cloud: CloudPlan, pool: str, zone: str) -> int:
    return max(
        (item.max_nodes * item.addresses_per_node for item in cloud.list_groups(pool) if zone in item.zones), default=0
    )


def _format_address_sum(cloud: CloudPlan, plan: Plan, zone: str) -> str:
    parts = [
        f"{group.max_nodes} × {group.addresses_per_node} of {pool.name}"
        for pool in plan.pools
        for group in cloud.list_groups(pool.name)[:1]
        if zone in group.zones
    ]
    return ", ".join([*parts, f"{SERVICE_ADDRESSES} for services"])


def cloud_network_ranges(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More ranges than a network may have by default."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        limit = provider.limits["network-cidrs"]
        if len(cloud.network.cidrs) >= limit.value:
            over = len(cloud.network.cidrs) > limit.value
            yield Finding(
                "cloud-network-ranges",
                "error" if over and not limit.adjustable else "warning",
                "network.cidrs",
                f"{len(cloud.network.cidrs)} ranges: {limit.value} {limit.what} are allowed by default"
                + ("" if over else ": none is left for growth"),
                "request a higher quota first, or use larger ranges",
            )


def cloud_security_rules(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More rules in a group than the cloud allows."""
    for _, provider, _ in iter_cloud_facts(plan, catalog):
        limit = provider.limits["security-group-rules"]
        for what, count, path in count_security_rules(plan):
            if count > limit.value:
                yield Finding(
                    "cloud-security-rules",
                    "error",
                    path,
                    f"{count} rules for {what}: {limit.value} {limit.what} are allowed by default",
                    "merge ranges, or use a custom prefix list in an existing network"
                    if path == "network.access"
                    else "use fewer file systems, or request a higher quota first",
                )


def cloud_limits(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Counts over a quota that must be raised first."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        for name, count, path in _iter_quota_counts(cloud, plan):
            limit = provider.limits.get(name)
            if limit and count > limit.value:
                yield Finding(
                    "cloud-limits",
                    "warning" if limit.adjustable else "error",
                    path,
                    f"{count}: {limit.value} {limit.what} are allowed{' by default' if limit.adjustable else ''}",
                    "request a higher quota first" if limit.adjustable else "use fewer",
                )


def _iter_quota_counts(cloud: CloudPlan, plan: Plan) -> Iterator[tuple[str, int, str]]:
    yield "subnets", len(cloud.network.subnets), "network"
    yield (
        "interface-endpoints",
        sum(kind == "interface" for kind in cloud.network.endpoints.values()),
        "network.isolated",
    )
    if plan.scheduler.kind == "kubernetes":
        yield "kubernetes-node-groups", len(cloud.groups) + 1, "pools"
        yield "kubernetes-access", len(cloud.network.access), "network.access"
        for index, pool in enumerate(plan.spec.pools):
            yield "kubernetes-group-nodes", pool.nodes, f"pools[{index}].nodes"
    else:
        yield "auto-scaling-groups", len(cloud.groups), "pools"


CHECKS = (
    cloud_network_private,
    cloud_network_size,
    cloud_network_overlap,
    cloud_network_blocks,
    cloud_subnet_size,
    cloud_network_ranges,
    cloud_network_conflict,
    cloud_access,
    cloud_principals,
    cloud_security_rules,
    cloud_limits,
)
