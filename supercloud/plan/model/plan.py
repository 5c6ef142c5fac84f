"""The neutral plan: what is there, where it is, how it is wired, and what is wrong with it.

All sets of nodes are ranges: a plan's size grows with groups (pools, scalable units, racks), never with nodes.
Everything is plain frozen data; ``document.py`` says how it is published.
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
from ...spec.pool import Slicing
from ...spec.scheduler import KubernetesScheduler, Partition, SlurmScheduler
from ...spec.tenant import Priority, TenantLimits
from .cloud import CloudPlan
from .fabric import FabricPlan, Service, SwitchTier
from .kubernetes import KubernetesPlan
from .network import NetworksPlan
from .racks import FacilityPlan, LayoutPlan, RackGroup, RackItem, RackPlan
from .storage import CheckpointRequirement, ServerGroup, StorageDesign

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
    kubernetes: KubernetesPlan | None = None
    """Kubernetes only: its releases, and what is installed beside them."""
    xids: XidTable | None = None
    """Errors of the driver, where there are NVIDIA GPUs: which of them take a node out of service."""
    packages: SlurmPackages | None = None
    """Slurm only: the packages with the release, else those of a distribution; None where the catalog has none."""
    slurm_user: int | None = None
    """Slurm only: number of the user and group ``slurm`` on every host; None where the catalog has none."""


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
    has_imex: bool
    """Whether memory is shared over scale-up domains of several nodes."""
    reserved_cores: int
    reserved_memory: Size
    tenants: tuple[str, ...] = ()
    """Whose nodes they are, where InfiniBand partitions keep tenants apart: only for jobs of these. Empty: of all."""

    @property
    def accelerators_per_node(self) -> int:
        """Accelerators of one node."""
        return self.machine.accelerators.count if self.machine.accelerators else 0

    @property
    def accelerators(self) -> int:
        """Accelerators of the pool."""
        return self.nodes * self.accelerators_per_node

    @property
    def threads(self) -> int | None:
        """Hardware threads of a node that jobs may have; None where nobody sourced how many it has.

        The vCPUs of an instance are its threads; where its cores are not known, a reserved one counts as one of them.
        """
        cpu, instance = self.machine.cpu, self.machine.instance
        if cpu is None:
            return max(instance.vcpus - self.reserved_cores, 0) if instance else None
        return max(cpu.threads - self.reserved_cores * cpu.threads_per_core, 0)


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
    design: StorageDesign | None = None
    """How it is laid out on them."""
    checkpoint: CheckpointRequirement | None = None
    """What was asked for checkpoints."""


@dataclass(frozen=True)
class TenantPlan:
    """A tenant with its part of the whole."""

    name: str
    share: int
    fraction: float
    """Of the cluster, 0 to 1."""
    priority: Priority
    users: tuple[str, ...]
    limits: TenantLimits
    can_borrow: bool


@dataclass(frozen=True)
class SuppressedFinding:
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
    cloud: CloudPlan | None = None
    """What a cloud site needs; None on-prem."""
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[SuppressedFinding, ...] = ()
    folder: Path = field(default=Path(), compare=False, repr=False)
    """Where the files are that the spec names."""

    @property
    def nodes(self) -> int:
        """Nodes of all pools."""
        return sum(pool.nodes for pool in self.pools)

    @property
    def accelerators(self) -> int:
        """Accelerators of all pools."""
        return sum(pool.accelerators for pool in self.pools)

    def get_pool(self, name: str) -> PoolPlan:
        """A pool by name."""
        return next(pool for pool in self.pools if pool.name == name)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that forbid rendering."""
        return tuple(finding for finding in self.findings if finding.level == "error")
