"""The neutral plan: the cluster's machines, their locations, the wiring, and all findings.

All sets of nodes are ranges: a plan's size grows with groups (pools, scalable units, racks), never with nodes.
All values are plain and frozen; ``publish/document.py`` defines the published form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ...catalog import Accelerator, Location, Machine, SlurmRelease
from ...catalog.kubernetes_parts import XidTable
from ...catalog.slurm_packages import SlurmPackages
from ...errors import Finding
from ...primitives.addresses import AddressRun, Block
from ...primitives.nodes import HostRange, HostSet
from ...primitives.quantity import Duration, Rate, Size
from ...spec import ClusterSpec
from ...spec.pool import Capacity, Slicing
from ...spec.scheduler import Partition, Scheduler
from ...spec.site import SiteKind
from ...spec.tenant import Priority, TenantLimits
from .cloud import CloudPlan
from .fabric import FabricPlan, Service, SwitchTier
from .kubernetes import KubernetesPlan
from .network import NetworksPlan
from .racks import FacilityPlan, LayoutPlan, RackGroup, RackItem, RackPlan
from .storage import CheckpointRequirement, ServerGroup, StorageDesign
from .users import UserPlan

__all__ = [
    "FabricPlan",
    "FacilityPlan",
    "Group",
    "HostPlan",
    "RackItem",
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
    "SuppressedFinding",
    "SwitchTier",
    "TenantPlan",
]


@dataclass(frozen=True)
class SitePlan:
    """Location of the cluster."""

    kind: SiteKind
    location_name: str
    """Name of the location or region."""
    location: Location | None
    """The location's facts in the catalog, for carbon intensity."""


@dataclass(frozen=True)
class HostPlan:
    """A service host with its address."""

    name: str
    address: str


@dataclass(frozen=True)
class NetworkPlan:
    """Addresses and names of the in-band network."""

    cidr: str
    domain: str
    management: Block
    """Address block of controllers and other service hosts."""


@dataclass(frozen=True)
class SchedulerPlan:
    """Decisions about the scheduler: its release with keys and capabilities, its hosts, its partitions."""

    kind: str
    """The kind of its spec, and the name of its target and of its engine."""
    version: str
    settings: Scheduler
    """Settings that rendered files adopt as they are declared."""
    release: SlurmRelease | None
    """Slurm only; None if the catalog does not have the version."""
    controllers: tuple[HostPlan, ...]
    database: HostPlan | None
    """Slurm only: the host of slurmdbd; None without accounting."""
    partitions: tuple[Partition, ...]
    """Slurm only: as declared, or one per pool; exactly one is the default."""
    kubernetes: KubernetesPlan | None = None
    """Kubernetes only: its releases and installed components."""
    xids: XidTable | None = None
    """With NVIDIA GPUs: errors of the driver (XIDs), and which of them take a node out of service."""
    packages: SlurmPackages | None = None
    """Slurm only: packages with the release, else packages of a distribution; None if the catalog has none."""
    archive_packages: SlurmPackages | None = None
    """Slurm only: names of the packages in archives of distributions; None if the catalog has none."""
    built_packages: SlurmPackages | None = None
    """Slurm only: packages that the source of the release builds; None if its source has no description of any."""
    slurm_user: int | None = None
    """Slurm only: UID and GID of ``slurm`` on every host; None if the catalog has none."""

    @property
    def title(self) -> str:
        """Name of the product."""
        return self.settings.title


@dataclass(frozen=True)
class PoolPlan:
    """Equal machines: their number, names and addresses."""

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
    has_imex: bool
    """Whether memory is shared over scale-up domains of several nodes (IMEX)."""
    reserved_cores: int
    reserved_memory: Size
    tenants: tuple[str, ...] = ()
    """Tenants whose jobs may use the nodes, where InfiniBand partitions isolate tenants. Empty: all tenants."""
    capacity: tuple[Capacity, ...] = ()
    """Cloud only: kinds of capacity in the order in which they are tried."""
    can_grow: bool = False
    """Cloud only: whether fewer nodes than declared may run, so that the others are started when jobs need them."""

    @property
    def accelerators_per_node(self) -> int:
        """Accelerators per node."""
        return self.machine.accelerators.count if self.machine.accelerators else 0

    @property
    def accelerators(self) -> int:
        """Accelerators of the pool."""
        return self.nodes * self.accelerators_per_node

    @property
    def threads(self) -> int | None:
        """Hardware threads per node that are available to jobs; None if the machine's number has no source.

        The vCPUs of an instance are its threads; if its cores are unknown, a reserved core counts as one vCPU.
        """
        cpu, instance = self.machine.cpu, self.machine.instance
        if cpu is None:
            return max(instance.vcpus - self.reserved_cores, 0) if instance else None
        return max(cpu.threads - self.reserved_cores * cpu.threads_per_core, 0)


@dataclass(frozen=True)
class Group:
    """Nodes that share a component: a scale-up domain, a set of leaves, a pod."""

    name: str
    hosts: HostSet
    parent: int | None = None
    """Index of the containing group in the next outer level."""


@dataclass(frozen=True)
class Level:
    """Groups of one kind. All levels of a locality cover the same nodes."""

    name: str
    """scale-up, leaf, su, pod, fabric …"""
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Locality:
    """The distance between nodes in one view. ``levels`` are ordered from the innermost outwards.

    ``kind`` selects the scheduler's model of it: ``tree`` (any number of levels, all nodes under one root), ``block``
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
        """All nodes of the locality."""
        return HostSet(tuple(part for group in self.levels[0].groups for part in group.hosts.ranges))


@dataclass(frozen=True)
class StoragePlan:
    """A file system or object store with its required capacity and throughput."""

    name: str
    kind: str
    capacity: Size | None
    read: Rate | None
    write: Rate | None
    mount: str | None
    fabric: str | None
    basis: str
    """Source of the throughput: declared, tier best of …, per TiB; empty if no throughput is required."""
    servers: tuple[ServerGroup, ...] = ()
    """On-prem, if its machines are known; also in ``Plan.servers``."""
    design: StorageDesign | None = None
    """Layout on these servers."""
    checkpoint: CheckpointRequirement | None = None
    """Requirements of checkpoints."""
    client_cores: int = 0
    """Processor cores of each client that the product uses all the time."""
    interface: str | None = None
    """Declared interfaces of servers and clients; None: those that the plan names."""


@dataclass(frozen=True)
class TenantPlan:
    """A tenant with its share of the cluster."""

    name: str
    share: int
    fraction: float
    """Share of the cluster, 0 to 1."""
    priority: Priority
    users: tuple[str, ...]
    limits: TenantLimits
    can_borrow: bool
    principals: tuple[str, ...] = ()
    """Identifiers of roles and users of the cloud that are members of the tenant."""


@dataclass(frozen=True)
class SuppressedFinding:
    """A suppressed finding, with the reason."""

    finding: Finding
    reason: str


@dataclass(frozen=True)
class Plan:
    """All decisions about one cluster."""

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
    """On-prem, if the racks are known."""
    tenants: tuple[TenantPlan, ...]
    max_time: Duration | None
    networks: NetworksPlan | None = None
    """All subnets, names, addresses and AS numbers of an on-prem cluster."""
    servers: tuple[ServerGroup, ...] = ()
    """Storage servers of an on-prem cluster."""
    cloud: CloudPlan | None = None
    """The cloud part of the plan; None on-prem."""
    users: tuple[UserPlan, ...] = ()
    """Accounts of people on the machines of a cloud."""
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[SuppressedFinding, ...] = ()
    folder: Path = field(default=Path(), compare=False, repr=False)
    """Folder of the files that the spec names."""

    @property
    def nodes(self) -> int:
        """Number of nodes of all pools."""
        return sum(pool.nodes for pool in self.pools)

    @property
    def accelerators(self) -> int:
        """Number of accelerators of all pools."""
        return sum(pool.accelerators for pool in self.pools)

    def get_pool(self, name: str) -> PoolPlan:
        """Return a pool by name.

        Args:
            name: Name of the pool.

        Raises:
            StopIteration: If the plan has no such pool.
        """
        return next(pool for pool in self.pools if pool.name == name)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that prevent rendering."""
        return tuple(finding for finding in self.findings if finding.level == "error")
