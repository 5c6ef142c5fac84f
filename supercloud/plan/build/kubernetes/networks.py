"""Addresses of pods, services and the control plane: blocks that nothing else in the plan uses."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ....primitives.addresses import Block
from ...model.plan import Plan

__all__ = ["PRIVATE_RANGES", "ClusterNetworks", "build_cluster_networks"]

# A node's block has space for twice the 110 pods that a kubelet allows by default.
_NODE_BITS = 8
_SERVICE_PREFIX = 16
# Private and shared address space; tried in this order after the cluster's network (RFC 1918, 6598, 2544).
PRIVATE_RANGES = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15")
# Below the first service host (scheduling.py numbers them from 11).
_ENDPOINT_OFFSET = 10


@dataclass(frozen=True)
class ClusterNetworks:
    """Arguments of kubeadm; a managed control plane has its own."""

    pods: Block | None
    """None if no block of the size is free."""
    services: Block | None
    node_prefix: int
    """Prefix length of a node's part of the pod block."""
    endpoint: str
    """Address of the control plane, independent of the hosts that are up."""


def build_cluster_networks(plan: Plan) -> ClusterNetworks:
    """Capacity for twice the current nodes, from the top of the first address space with enough of it."""
    own = ipaddress.IPv4Network(plan.network.cidr)
    used = [plan.network.management, *(pool.addresses.block for pool in plan.pools)]
    used += [subnet.block for subnet in plan.networks.subnets] if plan.networks else []
    used += [server.addresses.block for server in plan.servers]
    used += [ipaddress.IPv4Network(host.address) for host in plan.scheduler.controllers if _is_v4(host.address)]
    hosts = plan.nodes + len(plan.scheduler.controllers)
    bits = min(_NODE_BITS + max(1, 2 * hosts - 1).bit_length(), 24)
    spaces = [own, *map(ipaddress.IPv4Network, PRIVATE_RANGES)]
    pods = _find_free_block(spaces, 32 - bits, used)
    services = _find_free_block(spaces, _SERVICE_PREFIX, [*used, pods] if pods else used)
    endpoint = str(plan.network.management.network_address + _ENDPOINT_OFFSET)
    return ClusterNetworks(pods, services, 32 - _NODE_BITS, endpoint)


def _is_v4(text: str) -> bool:
    """Whether a host has an address of this kind; if not, there is a finding."""
    try:
        return ipaddress.ip_address(text).version == 4
    except ValueError:
        return False


def _find_free_block(spaces: Iterable[Block], prefix: int, used: list[Block]) -> Block | None:
    """The highest aligned block of a size that overlaps no used block."""
    for space in spaces:
        for block in _iter_candidates(space, prefix):
            if not any(block.overlaps(other) for other in used):
                return block
    return None


def _iter_candidates(space: Block, prefix: int) -> Iterator[Block]:
    if prefix < space.prefixlen:
        return
    size = 1 << (32 - prefix)
    for start in range(int(space.broadcast_address) + 1 - size, int(space.network_address) - 1, -size):
        yield ipaddress.IPv4Network((start, prefix))
