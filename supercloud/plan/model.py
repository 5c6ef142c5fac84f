"""The neutral plan: what is there, where it is, how it is wired, and what is wrong with it.

All sets of nodes are ranges: a plan's size grows with groups (pools, scalable units, racks), never with nodes.
Everything is plain frozen data; ``document.py`` says how it is published.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..catalog import Accelerator, Location, Machine, Rack, SlurmRelease, Switch
from ..errors import Finding
from ..primitives.addresses import AddressRun, Block
from ..primitives.nodes import HostRange, HostSet
from ..primitives.quantity import Carbon, Duration, Energy, Length, Money, Power, Rate, Size
from ..spec import ClusterSpec
from ..spec.pool import Slicing
from ..spec.scheduler import KubernetesScheduler, Partition, SlurmScheduler
from ..spec.tenant import Limits, Priority

__all__ = [
    "FabricPlan",
    "FacilityPlan",
    "Group",
    "HostPlan",
    "Item",
    "LayoutPlan",
    "Level",
    "Locality",
    "NetworkPlan",
    "Plan",
    "PoolPlan",
    "RackGroup",
    "RackPlan",
    "SchedulerPlan",
    "SitePlan",
    "StoragePlan",
    "Suppressed",
    "SwitchTier",
    "TenantPlan",
]


@dataclass(frozen=True)
class SitePlan:
    """Where the cluster stands."""

    kind: Literal["onprem", "aws", "gcp", "azure"]
    place: str
    """Location or region."""
    location: Location | None
    """The place as the catalog has it, for carbon."""


@dataclass(frozen=True)
class HostPlan:
    """A service host with its address."""

    name: str
    address: str


@dataclass(frozen=True)
class NetworkPlan:
    """Addresses and names of the ordinary network."""

    cidr: str
    domain: str
    management: Block
    """Block of controllers and other service hosts."""


@dataclass(frozen=True)
class SchedulerPlan:
    """The scheduler as decided: its release with keys and abilities, its hosts, its partitions."""

    kind: Literal["slurm", "kubernetes"]
    version: str
    spec: SlurmScheduler | KubernetesScheduler
    release: SlurmRelease | None
    """Slurm only; None where the catalog does not know the version."""
    controllers: tuple[HostPlan, ...]
    database: HostPlan | None
    """Slurm only: the host of slurmdbd; None without accounting."""
    partitions: tuple[Partition, ...]
    """Slurm only: as declared, or one per pool; exactly one is the default."""


@dataclass(frozen=True)
class PoolPlan:
    """Equal machines: how many, what they are called, where they are reached."""

    name: str
    machine: Machine
    accelerator: Accelerator | None
    nodes: int
    spares: int
    hosts: HostRange
    addresses: AddressRun
    fabrics: tuple[str, ...]
    features: tuple[str, ...]
    slicing: Slicing | None
    imex: bool
    """Whether memory is shared over scale-up domains of several nodes."""
    reserved_cores: int
    reserved_memory: Size

    @property
    def per_node(self) -> int:
        """Accelerators of one node."""
        return self.machine.accelerators.count if self.machine.accelerators else 0

    @property
    def accelerators(self) -> int:
        """Accelerators of the pool."""
        return self.nodes * self.per_node


@dataclass(frozen=True)
class SwitchTier:
    """Equal switches of one tier."""

    name: Literal["leaf", "spine", "core"]
    switch: Switch
    count: int
    radix: int
    """Ports at the fabric's speed."""


@dataclass(frozen=True)
class FabricPlan:
    """A network, counted: its switches and cables. ``wiring`` enumerates the links where we own them."""

    name: str
    kind: str
    shape: str
    """rail-optimized, fat-tree, clos, torus, or managed where a cloud owns the wires."""
    pools: tuple[str, ...]
    speed: Rate | None
    rails: int
    planes: int
    tiers: tuple[SwitchTier, ...]
    cables: dict[str, int]
    """node_leaf, leaf_spine, spine_core, manager: how many of each, over all planes."""
    su_nodes: int | None
    """Nodes of one scalable unit."""
    wiring: object | None = field(default=None, compare=False, repr=False)
    """The topology package's fabric (of one plane)."""

    def switches(self, tier: str) -> int:
        """Switches of a tier, 0 where it has none."""
        return sum(item.count for item in self.tiers if item.name == tier)


@dataclass(frozen=True)
class Group:
    """Nodes that share something: a scale-up domain, a leaf set, a pod."""

    name: str
    hosts: HostSet
    parent: int | None = None
    """Index of the group of the next level outwards that holds this one."""


@dataclass(frozen=True)
class Level:
    """Groups of one kind, covering the same nodes as every other level of its locality."""

    name: str
    """scale-up, leaf, su, pod, fabric …"""
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Locality:
    """How near nodes are to each other, seen one way. ``levels`` run from the innermost outwards.

    ``kind`` says how a scheduler should see it: ``tree`` (any number of levels, all nodes under one root), ``block``
    (one level of equal scale-up domains), ``torus3d`` (``dims``; hosts row-major: the last dimension runs fastest),
    ``flat``.
    """

    name: str
    kind: Literal["tree", "block", "torus3d", "flat"]
    levels: tuple[Level, ...]
    dims: tuple[int, ...] = ()
    block_nodes: int = 0
    """Nodes of a whole block."""

    @property
    def hosts(self) -> HostSet:
        """All nodes it covers."""
        return HostSet(tuple(part for group in self.levels[0].groups for part in group.hosts.ranges))


@dataclass(frozen=True)
class StoragePlan:
    """A file system or object store with what it must give."""

    name: str
    kind: str
    capacity: Size | None
    read: Rate | None
    write: Rate | None
    mount: str | None
    fabric: str | None
    basis: str
    """Where the throughput came from: declared, tier best of …, per TiB; empty where nothing was asked."""


@dataclass(frozen=True)
class RackGroup:
    """Equal racks."""

    pool: str
    """Pool whose nodes they hold; empty for switches and service machines."""
    rack: Rack | None
    count: int
    nodes_per_rack: int
    power: Power
    """Of one full rack."""
    units: int
    """Rack units used in a full rack."""
    limited_by: str
    """What ended the filling: units, power, weight, declared, product."""


@dataclass(frozen=True)
class FacilityPlan:
    """The hall in numbers."""

    racks: tuple[RackGroup, ...]
    it: Power
    """Power of all machines and switches at their highest."""
    nodes: Power
    switches: Power
    unknown: tuple[str, ...]
    """Things whose power nobody sourced: counted as 0, or by a lower bound."""
    budget: Power | None
    energy_year: Energy
    """IT energy of a year at full power."""
    cost_year: Money | None
    carbon_year: Carbon | None
    cooling: str

    @property
    def node_racks(self) -> int:
        """Racks that hold nodes of pools."""
        return sum(group.count for group in self.racks if group.pool)

    @property
    def network_racks(self) -> int:
        """Racks that hold switches."""
        return sum(group.count for group in self.racks if not group.pool)

    @property
    def densest(self) -> Power:
        """Power of the fullest rack."""
        return max((group.power for group in self.racks), default=Power(0, "W"))


@dataclass(frozen=True, slots=True)
class Item:
    """Equal things that stand one above the other in a rack."""

    what: Literal["node", "switch", "server", "manager", "power-shelf", "pdu", "cdu", "panel"]
    of: str
    """Pool of nodes, ``fabric/tier`` of switches, storage of servers, else the product."""
    first: int
    """Index of the lowest within its pool, tier or kind, from 0."""
    count: int
    unit: int
    """Lowest rack unit of the first, from 1 at the floor; 0 for what takes no unit (vertical PDUs)."""
    height: int
    """Rack units of each."""


@dataclass(frozen=True, slots=True)
class RackPlan:
    """One rack where it stands, with what is in it from the floor upwards."""

    name: str
    """``r<row>-<column>``, both from 1."""
    row: int
    column: int
    """From 0, along the row."""
    kind: Literal["compute", "network", "storage", "service"]
    rack: Rack | None
    """None where a rack product brings its own and the catalog does not know it."""
    units: int
    items: tuple[Item, ...]
    power: Power


@dataclass(frozen=True)
class LayoutPlan:
    """Where racks stand: rows of equal length, numbered from the door."""

    racks: tuple[RackPlan, ...]
    racks_per_row: int
    rack_width: Length
    row_pitch: Length
    """From the front of one row to the front of the next."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return max((rack.row for rack in self.racks), default=-1) + 1


@dataclass(frozen=True)
class TenantPlan:
    """A tenant with its part of the whole."""

    name: str
    share: int
    fraction: float
    """Of the cluster, 0 to 1."""
    priority: Priority
    users: tuple[str, ...]
    limits: Limits
    borrow: bool


@dataclass(frozen=True)
class Suppressed:
    """A finding that was accepted, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True)
class Plan:
    """Everything decided about one cluster."""

    spec: ClusterSpec
    name: str
    site: SitePlan
    scheduler: SchedulerPlan
    network: NetworkPlan
    pools: tuple[PoolPlan, ...]
    fabrics: tuple[FabricPlan, ...]
    localities: tuple[Locality, ...]
    """The first is the scheduler's default."""
    storage: tuple[StoragePlan, ...]
    facility: FacilityPlan | None
    layout: LayoutPlan | None
    """On-prem, where racks are known."""
    tenants: tuple[TenantPlan, ...]
    max_time: Duration | None
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()

    @property
    def nodes(self) -> int:
        """Nodes of all pools."""
        return sum(pool.nodes for pool in self.pools)

    @property
    def accelerators(self) -> int:
        """Accelerators of all pools."""
        return sum(pool.accelerators for pool in self.pools)

    def pool(self, name: str) -> PoolPlan:
        """A pool by name."""
        return next(pool for pool in self.pools if pool.name == name)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that forbid rendering."""
        return tuple(finding for finding in self.findings if finding.level == "error")
