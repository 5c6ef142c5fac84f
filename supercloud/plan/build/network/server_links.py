"""Addresses of devices on a fabric other than nodes: storage servers, and machines declared as services.

A fabric's rails are numbered upwards from the start of their block; the servers have the upper half of it. Storage
servers are numbered downwards from its end, declared services upwards from its middle, each group with space to grow.
An address follows from group, server and port, not from the leaf of the cable: adding a node, leaf or server renumbers
no server.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....primitives.addresses import Block, compute_block_size
from ....primitives.nodes import HostRange
from ...model.addressed_links import ServerLinks
from ...model.plan import FabricPlan, Service
from ...model.problems import Problems

__all__ = ["ServerEnd", "iter_server_ends", "build_server_links", "count_server_addresses", "select_upper_half"]

# Reserved number of servers per group, if that needs at most this part of the block.
_DEFAULT_CAPACITY = 512
_CAPACITY_DIVISOR = 16
_DIGITS = 2


class ServerEnd(NamedTuple):
    """One link of a server, with the leaf's port at the other end."""

    links: ServerLinks
    server: int
    port: int
    """Port of the server, from 0."""
    plane: int
    leaf: int
    leaf_port: int
    lane: int
    """Number of the splitter's end, from 1; 0 if the leaf's port is not split."""
    split: int
    """Number of links of such a port."""

    @property
    def host(self) -> str:
        """Name of the server."""
        return self.links.format_host_name(self.server)

    @property
    def name(self) -> str:
        """DNS name: ``scratch-oss-0001-storage``, of further ports ``scratch-oss-0001-storage-2``."""
        return f"{self.host}-{self.links.fabric}" + (f"-{self.port + 1}" if self.port else "")

    @property
    def address(self) -> str:
        """Address of this end of the link."""
        return self.links.get_address(self.server, self.port, self.plane)

    @property
    def gateway(self) -> str:
        """Address of the leaf at the other end."""
        return self.links.get_gateway(self.server, self.port, self.plane)


def select_upper_half(block: Block) -> Block:
    """The parts of a rail's block for servers."""
    return list(block.subnets(prefixlen_diff=1))[1]


def _list_addressed_services(fabric: FabricPlan) -> list[tuple[int, Service]]:
    """Index and service of all services with addresses: a subnet manager needs none."""
    return [
        (number, service) for number, service in enumerate(fabric.services) if service.name != f"{fabric.name}-manager"
    ]


def _count_ports(service: Service) -> int:
    return -(-service.links // service.count)


def _count_addresses(service: Service, servers: int, rails: int) -> int:
    """Addresses of a group with space for more servers; ``rails`` of a flat network share its ports, 0 is routed."""
    if rails:
        return compute_block_size(servers * -(-_count_ports(service) // rails))
    return 2 * _round_up_to_power(servers) * _round_up_to_power(_count_ports(service))


def _compute_capacity(service: Service, rails: int, addresses: int) -> int:
    """Number of servers of a group to reserve addresses for: a power of two."""
    room, least = _DEFAULT_CAPACITY, _round_up_to_power(service.count)
    while room > least and _count_addresses(service, room, rails) > addresses // _CAPACITY_DIVISOR:
        room //= 2
    return max(room, least)


def _round_up_to_power(number: int) -> int:
    return 1 << (max(1, number) - 1).bit_length()


def count_server_addresses(fabric: FabricPlan) -> int:
    """Minimum number of addresses for servers in one rail's block: a power of two, 0 without servers."""
    rails = fabric.rails * fabric.planes if fabric.kind == "infiniband" else 0
    sizes = [_count_addresses(service, service.count, rails) for _, service in _list_addressed_services(fabric)]
    return 2 * _round_up_to_power(sum(sizes)) if len(sizes) > 1 else sum(sizes)


def build_server_links(
    fabric: FabricPlan, blocks: Sequence[Block], position: int, problems: Problems
) -> tuple[ServerLinks, ...]:
    """The part of each group of a fabric in equal blocks, one per plane (routed) or per rail (flat)."""
    rails = len(blocks) if fabric.kind == "infiniband" else 0
    if not _list_addressed_services(fabric):
        return ()
    halves = [select_upper_half(block) for block in blocks]
    whole = halves[0].num_addresses
    low, high = 0, whole
    found: list[ServerLinks] = []
    for number, service in _list_addressed_services(fabric):
        for room in (_compute_capacity(service, rails, whole), _round_up_to_power(service.count)):
            size = _count_addresses(service, room, rails)
            start = (high - size) // size * size if service.hosts else -(-low // size) * size
            if low <= start and start + size <= high:
                break
        else:
            problems.add_error(
                "network-size",
                f"fabrics[{position}]",
                f"{halves[0]} (and each parallel block) has no {size} free addresses for the ports of {service.name}",
                "specify a larger subnet for the fabric",
            )
            continue
        low, high = (low, start) if service.hosts else (start + size, high)
        own = tuple(
            ipaddress.IPv4Network((int(half.network_address) + start, 33 - size.bit_length())) for half in halves
        )
        hosts = service.hosts or HostRange(f"{service.name}-", 1, service.count, max(_DIGITS, len(str(service.count))))
        found.append(ServerLinks(fabric.name, number, service.name, hosts, _count_ports(service), room, own, not rails))
    return tuple(found)


def iter_server_ends(fabric: FabricPlan, links: Sequence[ServerLinks]) -> Iterator[ServerEnd]:
    """Every link of every server of a fabric, group by group, server by server."""
    if not links:
        return
    from ..fabric.service_links import build_service_links  # loads numpy, which planning does not need

    ends = build_service_links(fabric)
    assert ends is not None
    rows = sorted(zip(*(column.tolist() for column in ends), strict=True))
    of = {item.service: item for item in links}
    for service, machine, port, leaf, leaf_port, lane, plane in rows:
        if service in of:
            split = fabric.services[service].split if lane else 1
            yield ServerEnd(of[service], machine, port, plane, leaf, leaf_port, lane, split)
