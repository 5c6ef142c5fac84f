"""Links of nodes and servers with the addresses of their ends."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...primitives.addresses import AddressRun, Block
from ...primitives.nodes import HostRange
from ...topology.links import NodeLinks
from .subnet import Subnet

__all__ = ["NodeLink", "PoolLinks", "RailAddresses", "ServerLinks"]


class NodeLink(NamedTuple):
    """A node's link to a leaf, with the addresses of both ends."""

    plane: int
    nic: int
    """NIC number within the plane."""
    leaf: int
    port: int
    """Port of the leaf."""
    address: str
    gateway: str


@dataclass(frozen=True, slots=True)
class RailAddresses:
    """Addresses of node links: each leaf has a separate prefix, each of its ports two addresses of that prefix.

    ``blocks`` contains one block for each plane and side (rail-optimized: rail), planes outermost. The lower address of
    a link is the switch's.
    """

    node_links: NodeLinks
    blocks: tuple[Block, ...]
    leaf_addresses: int
    """Addresses per leaf: a power of two."""

    @property
    def leaves_per_unit(self) -> int:
        """Number of leaves of one side of a unit."""
        return -(-self.node_links.unit_nodes // self.node_links.block_nodes)

    def find_leaf_position(self, leaf: int) -> tuple[int, int, int]:
        """Plane and side of a leaf, and its number among the leaves of that side."""
        plane, local = divmod(leaf, self.node_links.leaves)
        if self.node_links.side_stride > self.node_links.unit_stride:
            side, local = divmod(local, self.node_links.side_stride)
            unit, block = divmod(local, self.node_links.unit_stride)
        else:
            unit, local = divmod(local, self.node_links.unit_stride)
            side, block = divmod(local, self.node_links.side_stride)
        return plane, side, unit * self.leaves_per_unit + block

    def get_leaf_block(self, leaf: int) -> Block:
        """The prefix of all node links of a leaf."""
        plane, side, number = self.find_leaf_position(leaf)
        start = (
            int(self.blocks[plane * self.node_links.leaves_per_block + side].network_address)
            + number * self.leaf_addresses
        )
        return ipaddress.IPv4Network((start, 33 - self.leaf_addresses.bit_length()))

    def list_node_ports(self, leaf: int) -> range:
        """Number of leaf ports that connect nodes."""
        _, _, number = self.find_leaf_position(leaf)
        unit, block = divmod(number, self.leaves_per_unit)
        start = block * self.node_links.block_nodes
        nodes = min(
            self.node_links.block_nodes,
            self.node_links.unit_nodes - start,
            self.node_links.nodes - unit * self.node_links.unit_nodes - start,
        )
        return range(max(0, nodes) * self.node_links.nics_per_leaf)

    def build_link(self, node: int, nic: int, plane: int = 0) -> NodeLink:
        """Return the link of a node's NIC in a plane."""
        _, _, leaf, port, _ = self.node_links.compute_ends(self.node_links.compute_number(node, nic, plane))
        start = self.get_leaf_block(leaf).network_address + 2 * port
        return NodeLink(plane, nic, leaf, port, str(start + 1), str(start))

    def iter_links(self, node: int) -> Iterator[NodeLink]:
        """Return all links of a node, plane by plane."""
        return (
            self.build_link(node, nic, plane)
            for plane in range(self.node_links.planes)
            for nic in range(self.node_links.nics)
        )


@dataclass(frozen=True, slots=True)
class PoolLinks:
    """The ports of a pool's nodes on a fabric, with their addresses: the only source of these addresses."""

    fabric: str
    pool: str
    hosts: HostRange
    subnets: tuple[Subnet, ...]
    """One per rail; for routed links, one per plane and side."""
    first: int
    """Number of the first node: in the fabric's wiring for routed links, else in the subnets."""
    rails: RailAddresses | None
    """Routed links only."""

    @property
    def runs(self) -> tuple[AddressRun, ...]:
        """Addresses of the nodes in each subnet, in their order; empty for routed links."""
        return () if self.rails else tuple(AddressRun(item.block, self.first, len(self.hosts)) for item in self.subnets)

    def get_address(self, node: int, port: int = 0) -> str:
        """Address of a node's port; ports of routed links are numbered plane by plane."""
        if self.rails is None:
            return self.runs[port][node]
        plane, nic = divmod(port, self.rails.node_links.nics)
        return self.rails.build_link(self.first + node, nic, plane).address

    def get_first_address(self, number: int) -> str:
        """Address of the first node in a subnet, which is given by its number from 0."""
        if self.rails is None:
            return self.get_address(0, number)
        plane, side = divmod(number, self.rails.node_links.leaves_per_block)
        return self.rails.build_link(self.first, side * self.rails.node_links.nics_per_leaf, plane).address


@dataclass(frozen=True, slots=True)
class ServerLinks:
    """The fabric ports of equal machines outside of the pools, with their addresses."""

    fabric: str
    service: int
    """Index in the fabric's services."""
    name: str
    """Name of the group of storage servers, or of the service."""
    hosts: HostRange
    ports: int
    """Ports per machine."""
    capacity: int
    """Number of machines that addresses are reserved for."""
    blocks: tuple[Block, ...]
    """One per plane for routed links; else one per rail: ports alternate."""
    is_routed: bool
    """Each link has two addresses; the lower is the switch's."""

    def format_host_name(self, server: int) -> str:
        """Host name of one machine."""
        return self.hosts.get_name(server)

    def get_address(self, server: int, port: int, plane: int = 0) -> str:
        """Address of a machine's port; for routed links, of its port in that plane."""
        if not self.is_routed:
            turn, rail = divmod(port, len(self.blocks))
            return AddressRun(self.blocks[rail], turn * self.capacity, self.capacity)[server]
        return str(self.blocks[plane].network_address + 2 * (port * self.capacity + server) + 1)

    def get_gateway(self, server: int, port: int, plane: int = 0) -> str:
        """Address of the switch's end of a routed link."""
        assert self.is_routed
        return str(self.blocks[plane].network_address + 2 * (port * self.capacity + server))
