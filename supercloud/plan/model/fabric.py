"""What was decided about a fabric: its switches and cables, counted, and who has the reserved ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...catalog import Cable, Switch
from ...catalog.machine import Adapter
from ...primitives.nodes import HostRange
from ...primitives.quantity import Rate
from ...topology import Fabric as Wiring
from ...topology.links import NodeLinks

__all__ = ["FabricPlan", "Service", "SwitchTier"]


@dataclass(frozen=True)
class SwitchTier:
    """Equal switches of one tier."""

    name: Literal["leaf", "spine", "core"]
    switch: Switch
    count: int
    radix: int
    """Ports at the fabric's speed."""


@dataclass(frozen=True)
class Service:
    """Equal machines on a fabric that are no nodes: managers, storage, controllers, power distribution."""

    name: str
    count: int
    links: int
    """Of all of them together."""
    speed: Rate | None
    """Of a link."""
    split: int = 1
    """Links that share one leaf port."""
    cage: str | None = None
    product: str | None = None
    part_number: str | None = None
    is_managed: bool = True
    """False: whoever brings the machines also brings their optics and manages them."""
    cable: Cable | None = None
    """The cable that was asked for by name."""
    can_share_modules: bool = False
    """Splitters share modules with each other."""
    peer_links: int = 0
    """Between the two machines of a pair."""
    is_non_blocking: bool = False
    """Uplinks are built for all of its bandwidth."""
    hosts: HostRange | None = None
    """Their names, where they have other names than the service's and a number."""
    port_names: tuple[str, ...] = ()
    """Names of the ports of one machine, where they are known."""
    devices: tuple[str, ...] = ()
    """RDMA devices behind them."""
    adapter: Adapter | None = None
    """What the links leave through, where the catalog knows the machine."""

    @property
    def ports_per_cable(self) -> int:
        """Leaf ports of one cage that one of its cables fills, each with a link of its own."""
        return self.cable.links if self.cable and self.cable.tails > 1 else 1

    @property
    def leaf_ports(self) -> int:
        """Leaf ports they take."""
        return (
            -(-self.links // self.ports_per_cable) * self.ports_per_cable
            if self.ports_per_cable > 1
            else -(-self.links // self.split)
        )

    def count_leaf_ports_per_plane(self, planes: int) -> int:
        """Leaf ports they take in each of so many planes."""
        return -(-self.leaf_ports // (planes * self.ports_per_cable)) * self.ports_per_cable


@dataclass(frozen=True)
class FabricPlan:
    """A network, counted: its switches and cables. ``wiring`` enumerates the links where we own them."""

    name: str
    kind: str
    shape: str
    """rail-optimized, fat-tree, clos, torus, or managed where a cloud owns the wires."""
    pools: tuple[str, ...]
    speed: Rate | None
    """Of the switches' ports, and of links but those of ``pool_speeds``."""
    rails: int
    planes: int
    tiers: tuple[SwitchTier, ...]
    link_counts: dict[str, int]
    """node_leaf, leaf_spine, spine_core, manager: how many of each, over all planes."""
    unit_nodes: int | None
    """Nodes of one scalable unit."""
    wiring: object | None = field(default=None, compare=False, repr=False)
    """The topology package's fabric (of one plane)."""
    role: str = "compute"
    """Which adapters of the machines it joins."""
    services: tuple[Service, ...] = ()
    """Who has the reserved leaf ports, in the order of the ports; the managers come first."""
    cabling_parts: object | None = field(default=None, compare=False, repr=False)
    """Cables and transceivers of the catalog, read when they are first asked for."""
    pool_speeds: Mapping[str, Rate] = field(default_factory=dict)
    """Pool -> the speed of its links, where they are slower than the ports they end at."""
    guids: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """InfiniBand: device -> GUID, of a switch its own, of an adapter that of its port."""

    def get_link_speed(self, pool: str) -> Rate | None:
        """Of the links of a pool's nodes."""
        return self.pool_speeds.get(pool, self.speed)

    @property
    def rails_per_leaf(self) -> int:
        """Rails of a node on one leaf; all of them where leaves have whole nodes."""
        hosts = self.wiring.link_groups[0] if isinstance(self.wiring, Wiring) and self.wiring.link_groups else None
        return hosts.nics_per_leaf if isinstance(hosts, NodeLinks) else 1

    def count_switches(self, tier: str) -> int:
        """Switches of a tier, 0 where it has none."""
        return sum(item.count for item in self.tiers if item.name == tier)
