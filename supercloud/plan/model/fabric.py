"""Decisions about a fabric: its numbers of switches and cables, and the users of its reserved ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...catalog import Cable, Switch
from ...catalog.machine import Adapter
from ...primitives.nodes import HostRange
from ...primitives.quantity import Rate
from ...spec.fabric import Partition
from ...topology import Fabric as Wiring
from ...topology.links import NodeLinks

__all__ = ["FabricPlan", "Service", "SubnetManagerPlan", "SwitchTier"]


@dataclass(frozen=True)
class SwitchTier:
    """Equal switches of one tier."""

    name: Literal["leaf", "spine", "core"]
    switch: Switch
    count: int
    radix: int
    """Ports per switch at the fabric's speed."""


@dataclass(frozen=True)
class Service:
    """Equal machines on a fabric outside of the pools: subnet managers, storage, controllers, power distribution."""

    name: str
    count: int
    links: int
    """Links of all of its machines together."""
    speed: Rate | None
    """Speed of a link."""
    split: int = 1
    """Number of links that share one leaf port."""
    cage: str | None = None
    product: str | None = None
    part_number: str | None = None
    is_managed: bool = True
    """False: the supplier of the machines also provides their optics and manages them."""
    cable: Cable | None = None
    """The cable that the spec requests by name."""
    can_share_modules: bool = False
    """Splitters may share transceivers with each other."""
    peer_links: int = 0
    """Links between the two machines of a pair."""
    is_non_blocking: bool = False
    """Uplinks are provided for all of its bandwidth."""
    hosts: HostRange | None = None
    """Host names, where they differ from the service's name and a number."""
    port_names: tuple[str, ...] = ()
    """Port names of one machine, where known."""
    devices: tuple[str, ...] = ()
    """RDMA devices of these ports."""
    adapter: Adapter | None = None
    """The adapter of the links, if the catalog has the machine."""

    @property
    def ports_per_cable(self) -> int:
        """Leaf ports of one cage that one of its cables occupies, each with a separate link."""
        return self.cable.links if self.cable and self.cable.tails > 1 else 1

    @property
    def leaf_ports(self) -> int:
        """Number of leaf ports that its links occupy."""
        return (
            -(-self.links // self.ports_per_cable) * self.ports_per_cable
            if self.ports_per_cable > 1
            else -(-self.links // self.split)
        )

    def count_leaf_ports_per_plane(self, planes: int) -> int:
        """Number of leaf ports that its links occupy in each of a number of planes."""
        return -(-self.leaf_ports // (planes * self.ports_per_cable)) * self.ports_per_cable


@dataclass(frozen=True)
class SubnetManagerPlan:
    """The subnet manager of an InfiniBand fabric with planned switches, and what it configures."""

    kind: Literal["opensm", "nvidia", "switch"]
    engines: tuple[str, ...]
    """Routing engines, the best first."""
    standbys: int
    """Number of standby hosts."""
    m_key: str | None
    """File with the M_Key on its hosts; None without one."""
    has_sharp: bool
    """Whether it provides in-network reductions."""
    partitions: tuple[Partition, ...]
    """As declared; empty: all hosts are full members of the default partition."""


@dataclass(frozen=True)
class FabricPlan:
    """A network with its numbers of switches and cables; ``wiring`` enumerates the links, unless a provider owns
    them.
    """

    name: str
    kind: str
    shape: str
    """rail-optimized, fat-tree, clos, torus, or managed (a cloud provider owns the network)."""
    pools: tuple[str, ...]
    speed: Rate | None
    """Speed of the switches' ports, and of all links except those of ``pool_speeds``."""
    rails: int
    planes: int
    tiers: tuple[SwitchTier, ...]
    link_counts: dict[str, int]
    """node_leaf, leaf_spine, spine_core, manager: number of links of each kind, over all planes."""
    unit_nodes: int | None
    """Nodes of one scalable unit."""
    wiring: object | None = field(default=None, compare=False, repr=False)
    """The fabric object of the topology package (one plane)."""
    role: str = "compute"
    """Role of the machines' adapters that it connects."""
    services: tuple[Service, ...] = ()
    """Users of the reserved leaf ports, in the order of the ports; subnet managers come first."""
    cabling_parts: object | None = field(default=None, compare=False, repr=False)
    """Cables and transceivers of the catalog, loaded on first use."""
    pool_speeds: Mapping[str, Rate] = field(default_factory=dict)
    """Pool -> speed of its links, where they are slower than the switch ports."""
    pool_links: Mapping[str, int] = field(default_factory=dict)
    """Pool -> links of its nodes, where they have more than rails in all planes; in networks of a provider only."""
    guids: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """InfiniBand: device -> GUID (node GUID of a switch, port GUID of an adapter)."""
    position: int = 0
    """Index in the list of fabrics of the spec; route tables of hosts are numbered by it."""
    external_links: int = 0
    """Links from the topmost switches to the building's network."""
    peer_links: int = 0
    """Links between the two leaves of a pair."""
    upstream_fabric: str | None = None
    """The fabric whose topmost switches its leaves have links to; None if it has spines of its own, or none."""
    cable_spares: float = 0.0
    """Spare cables and transceivers as a fraction of those in use."""
    subnet_manager: SubnetManagerPlan | None = None
    """InfiniBand with planned switches only."""

    def get_link_speed(self, pool: str) -> Rate | None:
        """Return the speed of the links of a pool's nodes."""
        return self.pool_speeds.get(pool, self.speed)

    def count_node_links(self, pool: str) -> int:
        """Return the number of links of a node of a pool."""
        return self.pool_links.get(pool, self.rails * self.planes)

    def require_subnet_manager(self) -> SubnetManagerPlan:
        """Return the subnet manager. Raises LookupError for a network without one."""
        if self.subnet_manager is None:
            raise LookupError(f"{self.name} has no subnet manager in the plan")
        return self.subnet_manager

    def require_wiring(self) -> Wiring:
        """Return the wiring of a network with its own switches. Raises LookupError if a provider owns the network."""
        if not isinstance(self.wiring, Wiring):
            raise LookupError(f"the links of {self.name} are unknown: its provider owns them")
        return self.wiring

    @property
    def rails_per_leaf(self) -> int:
        """Rails of a node on one leaf; all rails where a leaf connects whole nodes."""
        hosts = self.wiring.link_groups[0] if isinstance(self.wiring, Wiring) and self.wiring.link_groups else None
        return hosts.nics_per_leaf if isinstance(hosts, NodeLinks) else 1

    def count_switches(self, tier: str) -> int:
        """Number of switches of a tier, 0 if the tier does not exist."""
        return sum(item.count for item in self.tiers if item.name == tier)
