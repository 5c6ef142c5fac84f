"""The neutral plan: what is there, where it is, how it is wired, and what is wrong with it.

All sets of nodes are ranges: a plan's size grows with groups (pools, scalable units, racks), never with nodes.
Everything is plain frozen data; ``document.py`` says how it is published.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from ..catalog import Accelerator, Location, Machine, Rack, SlurmRelease, Switch
from ..errors import Finding
from ..facility import Circuits, Heat
from ..primitives.addresses import AddressRun, Block
from ..primitives.nodes import HostRange, HostSet
from ..primitives.quantity import Carbon, Duration, Energy, Length, Mass, Money, Power, Rate, Size
from ..spec import ClusterSpec
from ..spec.pool import Slicing
from ..spec.scheduler import KubernetesScheduler, Partition, SlurmScheduler
from ..spec.tenant import Limits, Priority
from .hall import CoolingPlan, EnergyPlan, PowerPlan, ServiceGroup
from .network_model import NetworksPlan
from .storage_model import CheckpointNeed, Design, ServerGroup

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
    "Service",
    "ServerGroup",
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
    ours: bool = True
    """False: whoever brings the machines also brings their optics and manages them."""

    @property
    def ports(self) -> int:
        """Leaf ports they take."""
        return -(-self.links // self.split)


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
    role: str = "compute"
    """Which adapters of the machines it joins."""
    services: tuple[Service, ...] = ()
    """Who has the reserved leaf ports, in the order of the ports; the managers come first."""
    parts: object | None = field(default=None, compare=False, repr=False)
    """Cables and transceivers of the catalog, read when they are first asked for."""
    guids: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """InfiniBand: device -> GUID, of a switch its own, of an adapter that of its port."""

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
    servers: tuple[ServerGroup, ...] = ()
    """On-prem, where its machines are known; also in ``Plan.servers``."""
    design: Design | None = None
    """How it is laid out on them."""
    checkpoint: CheckpointNeed | None = None
    """What was asked for checkpoints."""


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
    kind: Literal["compute", "network", "storage"] = "compute"
    """``network`` racks also hold service machines."""
    weight: Mass | None = None
    """Of what is in a full rack; None where a part is not known."""
    limit: Power | None = None
    """What its distribution, or the spec, lets it draw."""
    heat: Heat = Heat()
    """Of one full rack, by the way it leaves."""
    circuits: Circuits | None = None
    """None where nobody declared them, and in rack products."""
    pdu: str = ""
    """Distribution unit, where one is named."""
    shelves: int = 0
    """Power shelves of one rack."""
    shelf_power: Power | None = None
    """Of each of them."""
    shelf_units: int = 0
    """Rack units of each, where they are not part of a rack product."""
    cdus: int = 0
    """Distribution units of coolant within the rack."""
    cdu_units: int = 0
    """Rack units of each of those."""
    top: tuple[str, ...] = ()
    """Fabrics whose leaves stand with the nodes, one a rack."""

    @property
    def headroom(self) -> Power | None:
        """What a full rack leaves of its limit; None where it has none."""
        return self.limit - self.power if self.limit else None


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
    servers: Power = Power(0, "W")
    """Of storage servers and service machines."""
    unsized: tuple[str, ...] = ()
    """Things whose rack units nobody sourced: counted as one unit each."""
    power: PowerPlan | None = None
    heat: CoolingPlan | None = None
    energy: EnergyPlan | None = None
    service: tuple[ServiceGroup, ...] = ()
    """Machines that are in no pool and not those of storage."""

    @property
    def node_racks(self) -> int:
        """Racks that hold nodes of pools."""
        return self._count("compute")

    @property
    def network_racks(self) -> int:
        """Racks that hold switches and service machines."""
        return self._count("network")

    @property
    def storage_racks(self) -> int:
        """Racks that hold storage servers."""
        return self._count("storage")

    def _count(self, kind: str) -> int:
        return sum(group.count for group in self.racks if group.kind == kind)

    @property
    def densest(self) -> Power:
        """Power of the fullest rack."""
        return max((group.power for group in self.racks), default=Power(0, "W"))


@dataclass(frozen=True, slots=True)
class Item:
    """Equal things that stand one above the other in a rack."""

    what: Literal["node", "switch", "server", "manager", "power-shelf", "pdu", "cdu", "panel", "nvlink-switch",
                  "management-switch"]  # fmt: skip
    of: str
    """Pool of nodes, ``fabric/tier`` of switches, group of servers (``scratch-oss``), else the product."""
    first: int
    """Index of the lowest within its pool, tier or kind, from 0."""
    count: int
    unit: int
    """Lowest rack unit of the first, from 1 at the floor; 0 for what takes none (upright PDUs, CDUs in the row)."""
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
    zone: int | None = None
    """Cooling zone, from 0: the racks whose liquid the same distribution units move. None where only air cools."""
    group: int = -1
    """Index of its group in the facility's ``racks``; -1 where it is of none."""


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

    def row_power(self) -> list[Power]:
        """Power of each row."""
        sums = [Fraction(0)] * self.rows
        for rack in self.racks:
            sums[rack.row] += rack.power.base
        return [Power.of_base(value) for value in sums]

    def run(self, one: RackPlan, other: RackPlan) -> Length:
        """Way from rack to rack along the row and across the rows; what cables take up and down is not in it."""
        along = abs(one.column - other.column) * self.rack_width.base
        return Length.of_base(along + abs(one.row - other.row) * self.row_pitch.base)


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
    networks: NetworksPlan | None = None
    """On-prem: every subnet, name, address and AS number."""
    servers: tuple[ServerGroup, ...] = ()
    """Machines that are no nodes of a pool: those of storage."""
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
