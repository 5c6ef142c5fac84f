"""Every network as decided: subnets, names, addresses and AS numbers, all of them runs that are counted out.

A switch is known by its tier and its index in the fabric's wiring, which is its name. Addresses and AS numbers grow
outwards (scalable units and pods come before rails, planes come last), so that adding nodes renumbers no switch.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ...catalog import NetworkOs, Switch
from ...catalog.adapter_qos import AdapterQos
from ...primitives.addresses import AddressRun, Block
from ...primitives.nodes import HostRange
from ...primitives.quantity import Duration, Length, Rate
from ...topology import Fabric as Wiring
from ...topology import Tier
from ...topology.links import NodeLinks

__all__ = [
    "BmcRun",
    "QosPolicy",
    "MachineRun",
    "EcnThresholds",
    "NetworksPlan",
    "NodeLink",
    "PoolLinks",
    "RailAddresses",
    "ServerLinks",
    "Subnet",
    "SwitchRun",
    "Underlay",
    "parse_block",
]

_GATEWAY_OFFSET = 254
Role = Literal["service", "in-band", "bmc", "switch", "loopback", "storage", "rail"]


def parse_block(text: str) -> Block | None:
    """A network as a user wrote it, None where it is none of IPv4."""
    try:
        return ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Subnet:
    """A block of addresses with what it is for."""

    name: str
    role: Role
    block: Block
    hosts: int
    """Addresses taken."""
    fabric: str = ""
    """Rails only."""
    is_routed: bool = False
    """Whether it is cut into links of two addresses, each with a switch at the other end."""

    @property
    def gateway(self) -> str | None:
        """The way out, above the hosts of the first 256 addresses; None where there is none, or one a link."""
        return None if self.role in ("rail", "loopback") else str(self.block.network_address + _GATEWAY_OFFSET)


@dataclass(frozen=True, slots=True)
class BmcRun:
    """The management ports of a pool's nodes, of storage servers, of service machines or of distribution units."""

    group: str
    """Pool or group; ``pdu``."""
    owners: HostRange
    names: HostRange
    addresses: AddressRun


@dataclass(frozen=True, slots=True)
class MachineRun:
    """Equal machines that are in no pool and serve no storage: management servers, subnet managers."""

    name: str
    hosts: HostRange
    addresses: AddressRun | None
    """On the ordinary network; None where they do not hang on it."""
    is_managed: bool
    """False: whoever brings them manages them."""


@dataclass(frozen=True, slots=True)
class SwitchRun:
    """All switches of one tier of a fabric."""

    fabric: str
    tier: Tier
    switch: Switch
    network_os: NetworkOs | None
    """Ethernet only."""
    management: AddressRun
    subnet: Subnet
    """Of the management ports of all switches of the fabric."""
    loopbacks: AddressRun | None
    as_numbers: tuple[int, int]
    """Number of the first and step to the next; (0, 0) where nothing is routed."""

    @property
    def management_gateway(self) -> str:
        """The way out of the management ports' subnet."""
        assert self.subnet.gateway is not None
        return self.subnet.gateway

    @property
    def planes(self) -> int:
        """Independent networks the switches are shared out among."""
        return self.tier.axes[0].size

    @property
    def switches_per_plane(self) -> int:
        """Switches of one plane."""
        return self.tier.count // self.planes

    def find_position(self, index: int) -> tuple[int, int]:
        """Plane of a switch, and its number within the plane, from 0."""
        plane, within = divmod(index, self.switches_per_plane)
        axes = self.tier.axes
        if len(axes) == 4 and axes[1].name == "rail":
            rail, rest = divmod(within, axes[2].size * axes[3].size)
            outer, inner = divmod(rest, axes[3].size)
            within = (outer * axes[1].size + rail) * axes[3].size + inner
        return plane, within

    @property
    def hosts(self) -> HostRange:
        """The names of all of them, in the order of the wiring: ``compute-leaf-[001-032]``."""
        return HostRange(f"{self.fabric}-{self.tier.name}-", 1, self.tier.count, max(3, len(str(self.tier.count))))

    def get_plane_hosts(self, plane: int) -> HostRange:
        """The names of one plane's switches."""
        return self.hosts.slice(plane * self.switches_per_plane, (plane + 1) * self.switches_per_plane)

    def format_name(self, index: int) -> str:
        """The name of one."""
        hosts = self.hosts
        return f"{hosts.prefix}{index + 1:0{hosts.width}d}"

    def get_management_address(self, index: int) -> str:
        """Where its management port is reached."""
        plane, number = self.find_position(index)
        return self.management[number * self.planes + plane]

    def get_loopback(self, index: int) -> str:
        """The address it is known by in routing."""
        assert self.loopbacks is not None
        plane, number = self.find_position(index)
        return self.loopbacks[number * self.planes + plane]

    def get_as_number(self, index: int) -> int:
        """Of its own for a leaf, shared by the spines of a pod and by the cores of a plane."""
        plane, number = self.find_position(index)
        if self.tier.name == "spine":
            number //= self.tier.axes[-1].size
        elif self.tier.name == "core":
            number = 0
        first, step = self.as_numbers
        return first + step * (number * self.planes + plane)

    def format_port_alias(self, index: int, split: int = 1, lane: int = 0) -> str:
        """What neighbours hear a port called, or an end of a split one, where that is another name; else empty."""
        if self.network_os is None:
            return ""
        if lane:
            return self.network_os.format_alias(self.switch, self.tier.radix * split, index * split + lane - 1)
        return self.network_os.format_alias(self.switch, self.tier.radix, index)

    @property
    def ports_per_cage(self) -> int:
        """Ports of the fabric's speed that one cage is split into."""
        return max(1, self.tier.radix // self.switch.cages) if self.switch.cages else 1

    def format_cage_name(self, index: int) -> str:
        """What its operating system calls the cage of a port, before it is split."""
        assert self.network_os is not None and self.switch.cages is not None
        return self.network_os.format_port_name(self.switch, self.switch.cages, index // self.ports_per_cage)

    def format_port_name(self, index: int, split: int = 1, lane: int = 0) -> str:
        """What its operating system calls a port, or the end ``lane`` (from 1) of one that a splitter splits."""
        if self.network_os is None:
            return str(index + 1)
        if lane:
            return self.network_os.format_port_name(self.switch, self.tier.radix * split, index * split + lane - 1)
        return self.network_os.format_port_name(self.switch, self.tier.radix, index)


class NodeLink(NamedTuple):
    """A node's link to a leaf, with the address at either end."""

    plane: int
    nic: int
    """Within the plane."""
    leaf: int
    port: int
    """Of the leaf."""
    address: str
    gateway: str


@dataclass(frozen=True, slots=True)
class RailAddresses:
    """Addresses of node links: each leaf has a prefix of its own, each of its ports two addresses of that prefix.

    ``blocks`` has one block for each plane and side (rail-optimized: rail), planes outermost. The lower address of a
    link is the switch's.
    """

    node_links: NodeLinks
    blocks: tuple[Block, ...]
    leaf_addresses: int
    """Addresses of one leaf: a power of two."""

    @property
    def leaves_per_unit(self) -> int:
        """Leaves of one side of a unit."""
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
        """All addresses of a leaf's node links."""
        plane, side, number = self.find_leaf_position(leaf)
        start = (
            int(self.blocks[plane * self.node_links.leaves_per_block + side].network_address)
            + number * self.leaf_addresses
        )
        return ipaddress.IPv4Network((start, 33 - self.leaf_addresses.bit_length()))

    def list_node_ports(self, leaf: int) -> range:
        """Ports of a leaf that nodes hang on."""
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
        """The link of a node's NIC in a plane."""
        _, _, leaf, port, _ = self.node_links.compute_ends(self.node_links.compute_number(node, nic, plane))
        start = self.get_leaf_block(leaf).network_address + 2 * port
        return NodeLink(plane, nic, leaf, port, str(start + 1), str(start))

    def iter_links(self, node: int) -> Iterator[NodeLink]:
        """All links of a node, plane by plane."""
        return (
            self.build_link(node, nic, plane)
            for plane in range(self.node_links.planes)
            for nic in range(self.node_links.nics)
        )


@dataclass(frozen=True, slots=True)
class PoolLinks:
    """The ports that a pool's nodes have on a fabric, with their addresses: whoever needs one asks here."""

    fabric: str
    pool: str
    hosts: HostRange
    subnets: tuple[Subnet, ...]
    """One for each rail; where links are routed, one for each plane and side."""
    first: int
    """Number of the first node: in the fabric's wiring where links are routed, else in the subnets."""
    rails: RailAddresses | None
    """Where links are routed, else None."""

    @property
    def runs(self) -> tuple[AddressRun, ...]:
        """Addresses of the nodes in each subnet, in their order; none where links are routed."""
        return () if self.rails else tuple(AddressRun(item.block, self.first, len(self.hosts)) for item in self.subnets)

    def address(self, node: int, port: int = 0) -> str:
        """The address of a node's port; ports of routed links are counted plane by plane."""
        if self.rails is None:
            return self.runs[port][node]
        plane, nic = divmod(port, self.rails.node_links.nics)
        return self.rails.build_link(self.first + node, nic, plane).address

    def first_address(self, number: int) -> str:
        """The address that the first node has in the subnet with that number, from 0."""
        if self.rails is None:
            return self.address(0, number)
        plane, side = divmod(number, self.rails.node_links.leaves_per_block)
        return self.rails.build_link(self.first, side * self.rails.node_links.nics_per_leaf, plane).address


@dataclass(frozen=True, slots=True)
class ServerLinks:
    """The ports that equal machines which are no nodes have on a fabric, with their addresses."""

    fabric: str
    service: int
    """Position among the fabric's services."""
    name: str
    """Group of storage servers, or service."""
    hosts: HostRange
    ports: int
    """Of one machine."""
    capacity: int
    """Machines there are addresses for."""
    blocks: tuple[Block, ...]
    """One a plane, where links are routed; else one a rail: ports take turns."""
    is_routed: bool
    """Each link has two addresses, of which the lower is the switch's."""

    def format_host_name(self, server: int) -> str:
        """The name of one machine."""
        return f"{self.hosts.prefix}{self.hosts.first + server:0{self.hosts.width}d}"

    def get_address(self, server: int, port: int, plane: int = 0) -> str:
        """The address of a machine's port; of a routed one, where it is in that plane."""
        if not self.is_routed:
            turn, rail = divmod(port, len(self.blocks))
            return AddressRun(self.blocks[rail], turn * self.capacity, self.capacity)[server]
        return str(self.blocks[plane].network_address + 2 * (port * self.capacity + server) + 1)

    def get_gateway(self, server: int, port: int, plane: int = 0) -> str:
        """The switch's end of a routed link."""
        assert self.is_routed
        return str(self.blocks[plane].network_address + 2 * (port * self.capacity + server))


@dataclass(frozen=True, slots=True)
class EcnThresholds:
    """ECN thresholds of a port in bytes."""

    min: int
    max: int
    probability: int


@dataclass(frozen=True, slots=True)
class QosPolicy:
    """The contract every switch and host of a fabric follows."""

    dscp: int
    priority: int
    cnp_dscp: int
    cnp_priority: int
    udp_port: int
    mtu: int
    host_mtu: int
    weight: int
    ecn: Mapping[str, EcnThresholds]
    """Tier -> thresholds."""
    detection: Duration
    restoration: Duration
    poll: Duration
    cable: Length
    keepalive: Duration
    hold: Duration


@dataclass(frozen=True)
class Underlay:
    """A routed Ethernet fabric; its planes are independent of each other."""

    fabric: str
    role: str
    """Which adapters of the machines it joins."""
    speed: Rate
    block: Block
    """All addresses of its links to nodes and servers."""
    rails: RailAddresses
    servers: tuple[ServerLinks, ...]
    server_blocks: tuple[Block, ...]
    """Where the addresses of servers are: one a plane."""
    switches: tuple[SwitchRun, ...]
    loopbacks: Block
    as_numbers: tuple[int, int]
    """First and last AS number it may use."""
    qos_policy: QosPolicy
    has_bfd: bool
    adapter_tools: Mapping[str, AdapterQos]
    """Group of hosts (a key of ``adapter_qos.py``) -> what sets the contract on their adapters, where it is known."""
    wiring: Wiring = field(compare=False, repr=False)

    def get_switch_run(self, name: str) -> SwitchRun:
        """The switches of a tier."""
        return next(run for run in self.switches if run.tier.name == name)


@dataclass(frozen=True)
class NetworksPlan:
    """Addresses and names of everything that has one, on-prem."""

    subnets: tuple[Subnet, ...]
    bmcs: tuple[BmcRun, ...]
    switches: tuple[SwitchRun, ...]
    underlays: tuple[Underlay, ...]
    servers: tuple[ServerLinks, ...] = ()
    """Ports of storage servers and services on every fabric whose ports have addresses."""
    nodes: tuple[PoolLinks, ...] = ()
    """Ports of nodes on every fabric whose ports have addresses, fabric by fabric in the order of its pools."""
    machines: tuple[MachineRun, ...] = ()
    address_spaces: Mapping[str, Block] = field(default_factory=dict)
    """What the subnets are cut from: ``fabrics`` and ``management``, as declared or as chosen."""
    macs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(name, network) -> MAC, as the user gave them; network is in-band, bmc or switch."""

    def joined(self, fabric: str) -> tuple[PoolLinks, ...]:
        """The pools of a fabric."""
        return tuple(item for item in self.nodes if item.fabric == fabric)

    def list_servers(self, fabric: str) -> tuple[ServerLinks, ...]:
        """The servers of a fabric."""
        return tuple(item for item in self.servers if item.fabric == fabric)

    def find_underlay(self, fabric: str) -> Underlay | None:
        """The underlay of a fabric, where it is routed."""
        return next((item for item in self.underlays if item.fabric == fabric), None)

    def get_switch_run(self, fabric: str, tier: str) -> SwitchRun:
        """The switches of a tier of a fabric."""
        return next(run for run in self.switches if run.fabric == fabric and run.tier.name == tier)
