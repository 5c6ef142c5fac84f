"""Decisions about every network: subnets, names, addresses and AS numbers, all as runs (first, step, count).

A switch is identified by its tier and its index in the fabric's wiring, which determines its name. Addresses and AS
numbers grow outwards (scalable units and pods come before rails, planes come last), so that adding nodes renumbers no
switch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...catalog import NetworkOs, Switch
from ...catalog.adapter_qos import AdapterQos
from ...primitives.addresses import AddressRun, Block
from ...primitives.nodes import HostRange
from ...primitives.quantity import Rate
from ...topology import Fabric as Wiring
from ...topology import Tier
from .addressed_links import PoolLinks, RailAddresses, ServerLinks
from .qos import QosPolicy
from .subnet import Subnet

__all__ = [
    "BmcRun",
    "MachineRun",
    "NetworksPlan",
    "SwitchRun",
    "Underlay",
]


@dataclass(frozen=True, slots=True)
class BmcRun:
    """The management ports of a pool's nodes, of storage servers, of service machines or of PDUs."""

    group: str
    """Pool or group; ``pdu`` for power distribution units."""
    owners: HostRange
    names: HostRange
    addresses: AddressRun


@dataclass(frozen=True, slots=True)
class MachineRun:
    """Equal machines outside of the pools that serve no storage: management servers, subnet managers."""

    name: str
    hosts: HostRange
    addresses: AddressRun | None
    """Addresses on the in-band network; None if they are not connected to it."""
    is_managed: bool
    """False: their supplier manages them."""


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
    """Subnet of the management ports of all switches of the fabric."""
    loopbacks: AddressRun | None
    as_numbers: tuple[int, int]
    """First AS number and step to the next; (0, 0) for a fabric that is not routed."""
    system_path: str
    """Field of the spec that selects the operating system: ``fabrics[0].os``."""

    @property
    def management_gateway(self) -> str:
        """The gateway of the management ports' subnet."""
        assert self.subnet.gateway is not None
        return self.subnet.gateway

    @property
    def planes(self) -> int:
        """Number of independent networks that the switches are divided among."""
        return self.tier.axes[0].size

    @property
    def switches_per_plane(self) -> int:
        """Number of switches per plane."""
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
        """Host names of all switches, in the order of the wiring: ``compute-leaf-[001-032]``."""
        return HostRange(f"{self.fabric}-{self.tier.name}-", 1, self.tier.count, max(3, len(str(self.tier.count))))

    def get_plane_hosts(self, plane: int) -> HostRange:
        """Host names of the switches of one plane."""
        return self.hosts.slice(plane * self.switches_per_plane, (plane + 1) * self.switches_per_plane)

    def format_name(self, index: int) -> str:
        """Host name of one switch."""
        hosts = self.hosts
        return f"{hosts.prefix}{index + 1:0{hosts.width}d}"

    def get_management_address(self, index: int) -> str:
        """Address of a switch's management port."""
        plane, number = self.find_position(index)
        return self.management[number * self.planes + plane]

    def get_loopback(self, index: int) -> str:
        """Loopback address of a switch, its router ID."""
        assert self.loopbacks is not None
        plane, number = self.find_position(index)
        return self.loopbacks[number * self.planes + plane]

    def get_as_number(self, index: int) -> int:
        """AS number: unique for a leaf, shared by the spines of a pod and by the core switches of a plane."""
        plane, number = self.find_position(index)
        if self.tier.name == "spine":
            number //= self.tier.axes[-1].size
        elif self.tier.name == "core":
            number = 0
        first, step = self.as_numbers
        return first + step * (number * self.planes + plane)

    def format_port_alias(self, index: int, split: int = 1, lane: int = 0) -> str:
        """Name of a port or of an end of a split port as neighbors see it by LLDP; empty where it is the same name."""
        if self.network_os is None:
            return ""
        if lane:
            return self.network_os.format_alias(self.switch, self.tier.radix * split, index * split + lane - 1)
        return self.network_os.format_alias(self.switch, self.tier.radix, index)

    @property
    def ports_per_cage(self) -> int:
        """Number of ports of the fabric's speed that one cage is split into."""
        return max(1, self.tier.radix // self.switch.cages) if self.switch.cages else 1

    def format_cage_name(self, index: int) -> str:
        """Name of a port's cage in the switch's operating system, before it is split."""
        assert self.network_os is not None and self.switch.cages is not None
        return self.network_os.format_port_name(self.switch, self.switch.cages, index // self.ports_per_cage)

    def format_port_name(self, index: int, split: int = 1, lane: int = 0) -> str:
        """Name of a port in the switch's operating system; with ``lane`` (from 1), of that end of a split port."""
        if self.network_os is None:
            return str(index + 1)
        if lane:
            return self.network_os.format_port_name(self.switch, self.tier.radix * split, index * split + lane - 1)
        return self.network_os.format_port_name(self.switch, self.tier.radix, index)


@dataclass(frozen=True)
class Underlay:
    """A routed Ethernet fabric; its planes are independent of each other."""

    fabric: str
    role: str
    """Role of the machines' adapters that it connects."""
    speed: Rate
    block: Block
    """All addresses of links to nodes and servers."""
    rails: RailAddresses
    servers: tuple[ServerLinks, ...]
    server_blocks: tuple[Block, ...]
    """Address blocks of servers: one per plane."""
    switches: tuple[SwitchRun, ...]
    loopbacks: Block
    as_numbers: tuple[int, int]
    """First and last AS number of its range."""
    qos_policy: QosPolicy
    has_bfd: bool
    adapter_tools: Mapping[str, AdapterQos]
    """Group of hosts (a key of ``adapter_qos.py``) -> tool that configures QoS on their adapters, where known."""
    wiring: Wiring = field(compare=False, repr=False)

    def get_switch_run(self, name: str) -> SwitchRun:
        """Return the switches of a tier."""
        return next(run for run in self.switches if run.tier.name == name)


@dataclass(frozen=True)
class NetworksPlan:
    """Addresses and names of all devices that have one, on-prem."""

    subnets: tuple[Subnet, ...]
    bmcs: tuple[BmcRun, ...]
    switches: tuple[SwitchRun, ...]
    underlays: tuple[Underlay, ...]
    servers: tuple[ServerLinks, ...] = ()
    """Ports of storage servers and services, on every fabric whose ports have addresses."""
    nodes: tuple[PoolLinks, ...] = ()
    """Ports of nodes, on every fabric whose ports have addresses: fabric by fabric, in the order of its pools."""
    machines: tuple[MachineRun, ...] = ()
    address_spaces: Mapping[str, Block] = field(default_factory=dict)
    """The blocks that subnets are allocated from: ``fabrics`` and ``management``, declared or chosen."""
    macs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(name, network) -> MAC as the user specified; network is in-band, bmc or switch."""

    def list_pool_links(self, fabric: str) -> tuple[PoolLinks, ...]:
        """Return the pools of a fabric."""
        return tuple(item for item in self.nodes if item.fabric == fabric)

    def list_servers(self, fabric: str) -> tuple[ServerLinks, ...]:
        """Return the servers of a fabric."""
        return tuple(item for item in self.servers if item.fabric == fabric)

    def find_underlay(self, fabric: str) -> Underlay | None:
        """Return the underlay of a fabric, None if it is not routed."""
        return next((item for item in self.underlays if item.fabric == fabric), None)

    def get_switch_run(self, fabric: str, tier: str) -> SwitchRun:
        """Return the switches of a tier of a fabric."""
        return next(run for run in self.switches if run.fabric == fabric and run.tier.name == tier)
