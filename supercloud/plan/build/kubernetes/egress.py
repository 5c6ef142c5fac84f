"""Address ranges that tenants' pods must not reach: all networks of the plan, the provider's ranges, link-local
ones.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import suppress

from ....primitives.addresses import Block
from ...model.network import NetworksPlan
from ...model.plan import Plan
from .networks import PRIVATE_RANGES, build_cluster_networks

__all__ = ["compute_blocked_cidrs", "list_blocked_ranges"]

# RFC 3927: metadata services, host agents, hosts without an assigned address.
_LINK_LOCAL = Block("169.254.0.0/16")


def list_blocked_ranges(plan: Plan) -> Mapping[str, tuple[Block, ...]]:
    """Purpose of the networks -> their blocks. IPv6 is not included: no policy allows any of it."""
    found: dict[str, list[Block]] = {}
    for name, block in (*_iter_onprem_ranges(plan), *_iter_cloud_ranges(plan), ("link-local", _LINK_LOCAL)):
        found.setdefault(name, []).append(block)
    return {name: tuple(ipaddress.collapse_addresses(blocks)) for name, blocks in found.items()}


def compute_blocked_cidrs(plan: Plan) -> Mapping[Block, tuple[str, ...]]:
    """The minimal set of blocks that covers all blocked ranges -> their purposes."""
    ranges = list_blocked_ranges(plan)
    blocks = ipaddress.collapse_addresses(block for found in ranges.values() for block in found)
    return {
        block: tuple(name for name, found in ranges.items() if any(part.subnet_of(block) for part in found))
        for block in blocks
    }


def _iter_onprem_ranges(plan: Plan) -> Iterator[tuple[str, Block]]:
    if plan.site.kind != "onprem":
        return
    yield "cluster", Block(plan.network.cidr)
    yield "service", plan.network.management
    for host in plan.scheduler.controllers:
        with suppress(ValueError):  # an address that is not IPv4 has a finding
            yield "service", Block(host.address)
    yield from (("in-band", pool.addresses.block) for pool in plan.pools)
    cluster = build_cluster_networks(plan)
    yield from (("pods", block) for block in (cluster.pods,) if block)
    yield from (("services", block) for block in (cluster.services,) if block)
    yield from (("storage", server.addresses.block) for server in plan.servers)
    if plan.networks is not None:
        yield from _iter_network_ranges(plan.networks)


def _iter_network_ranges(networks: NetworksPlan) -> Iterator[tuple[str, Block]]:
    """The subnets of the fabrics, and the addresses of BMCs, switches and servers."""
    yield from networks.address_spaces.items()
    yield from ((subnet.role, subnet.block) for subnet in networks.subnets)
    yield from (("bmc", run.addresses.block) for run in networks.bmcs)
    for run in networks.switches:
        yield "switch", run.management.block
        if run.loopbacks:
            yield "loopback", run.loopbacks.block
    for link in networks.servers:
        yield from (("rail", block) for block in link.blocks)
    for underlay in networks.underlays:
        yield "rail", underlay.block
        yield "loopback", underlay.loopbacks


def _iter_cloud_ranges(plan: Plan) -> Iterator[tuple[str, Block]]:
    if plan.site.kind == "onprem":
        return
    network = plan.cloud.network if plan.cloud else None  # the cloud assigns addresses of pools, the plan does not
    texts = [*network.cidrs] if network else [plan.network.cidr, *plan.spec.network.cidrs]
    texts += [subnet.cidr for subnet in network.subnets if subnet.cidr] if network else []
    yield from (("cluster", Block(text)) for text in texts)
    if network is None or not network.cidrs:  # an existing network: its ranges are unknown here
        yield from (("private", Block(text)) for text in PRIVATE_RANGES)
    facts = plan.scheduler.kubernetes
    if facts is None or facts.platform_ranges is None:
        return
    for text in (*facts.platform_ranges.services, *facts.platform_ranges.platform.values()):
        if ipaddress.ip_network(text).version == 4:
            yield "provider", Block(text)
