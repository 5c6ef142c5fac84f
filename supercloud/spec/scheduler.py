"""Who places work on nodes: Slurm or Kubernetes, and how it is set up."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..primitives.quantity import Duration
from .base import (
    Count,
    DuplicateNameError,
    Flag,
    IntegerRange,
    Model,
    Name,
    ReleaseText,
    StoredSize,
    Text,
    find_duplicates,
)

__all__ = ["Host", "KubernetesScheduler", "ServiceHosts", "Partition", "Scheduler", "SlurmScheduler", "TopologyKind"]

TopologyKind = Literal["tree", "block", "torus3d", "ring", "flat"]


class Host(Model):
    """A service host that exists or will exist: a name and, where it is fixed, its address."""

    name: Name
    """Host name, without the domain."""
    address: Annotated[str, Field(pattern=r"^[0-9a-fA-F.:]{2,45}$")] | None = None
    """Address, where it is fixed; empty means one of the plan."""


class Partition(Model):
    """A Slurm partition over one or more pools. Without any, every pool gets a partition of its own name, for
    the tenants that InfiniBand partitions give its nodes to."""

    name: Name
    """Name of the partition."""
    pools: tuple[Name, ...] = Field(min_length=1)
    """Pools whose nodes are in it."""
    default: Flag = False
    """Whether jobs that name no partition go here."""
    max_time: Duration | None = None
    """Longest time limit of a job; empty means the cluster's."""
    default_time: Duration | None = None
    """Time limit of jobs that name none; empty means the cluster's."""
    max_nodes: Count | None = None
    """Most nodes of one job; empty means all."""
    priority: Annotated[int, IntegerRange(0, 65533)] = 1
    """Priority tier: partitions of a higher one are scheduled first."""
    topology: TopologyKind | None = None
    """Which of the rendered topologies it uses (Slurm 25.05 and later)."""
    accounts: tuple[Name, ...] = ()
    """Tenants that may use it; empty means all."""
    exclusive: Flag = False
    """Whether a job gets whole nodes."""


class ServiceHosts(Model):
    """Service machines of a cloud."""

    machine: Text | None = None
    """Empty means a usual one."""
    count: Annotated[int, IntegerRange(0, 4096)] = 1
    """How many there are."""
    disk: StoredSize | None = None
    """Of the root."""
    public: Flag = False
    """Whether they have an address in the internet."""


class SlurmScheduler(Model):
    """Slurm, set up completely: controllers, accounting, partitions, programs."""

    kind: Literal["slurm"]
    """Always ``slurm``."""
    version: ReleaseText
    """Release of Slurm, such as "25.11"; supported are those of the catalog."""
    controllers: Annotated[tuple[Host, ...], Field(min_length=1, max_length=9)] = (Host(name="ctl1"),)
    """The first is the primary, the others take over in order."""
    database: Host | None = None
    """Where slurmdbd runs; empty means on the first controller."""
    accounting: Flag = True
    """Whether jobs are accounted for in a database; tenants' limits and fair shares need it."""
    auth: Literal["munge", "slurm"] | None = None
    """How daemons trust each other; empty means munge, which every version has."""
    topology: TopologyKind | None = None
    """The cluster's default topology; empty means what fits the fabric and the version."""
    partitions: tuple[Partition, ...] = ()
    """Partitions; empty means one for each pool."""
    max_time: Duration = Duration("7 d")
    """Longest time limit of a job."""
    default_time: Duration = Duration("4 h")
    """Time limit of jobs that name none."""
    preemption: Flag = True
    """Whether work of a higher priority requeues work of a lower one."""
    health_check_interval: Duration = Duration("5 min")
    """Time between health checks of a node."""
    machine: Text | None = None
    """Machine of the controllers. On clouds empty means one that is large enough for the nodes. On-prem controllers and
    database host become service machines of it, numbered as those are (ctl-01, ctl-02); empty means that they have
    none, or are called like one of ``facility.machines``."""
    disk: StoredSize | None = None
    """Clouds only: root disk of the controllers."""
    state: StoredSize | None = None
    """Clouds only: the protected disk with the controller's state."""
    public: Flag = False
    """Clouds only: controllers have an address in the internet."""
    login: ServiceHosts | None = None
    """Clouds only: machines for users; empty means one."""
    managed_database: Flag = False
    """Clouds only: accounting uses a database that the cloud runs."""
    options: dict[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9]*$", max_length=64)], Text] = {}
    """Further keys of slurm.conf, as they stand; they win over what is rendered. A key the version does not know is
    a finding."""

    @model_validator(mode="after")
    def _check_names(self) -> SlurmScheduler:
        for twice in find_duplicates(self.partitions):
            raise DuplicateNameError(f"two partitions are called {twice!r}")
        for twice in find_duplicates(self.controllers):
            raise DuplicateNameError(f"two controllers are called {twice!r}")
        if sum(partition.default for partition in self.partitions) > 1:
            raise ValueError("more than one partition is the default")
        return self


class KubernetesScheduler(Model):
    """Kubernetes with a batch queue: Kueue, or Volcano."""

    kind: Literal["kubernetes"]
    """Always ``kubernetes``."""
    version: ReleaseText
    """Release of Kubernetes, such as "1.35"; supported are those of the catalog."""
    queue: Literal["kueue", "volcano"] = "kueue"
    """Batch queue: Kueue, or Volcano."""
    queue_version: ReleaseText | None = None
    """Release of the queue; empty means the newest in the catalog."""
    machine: Text | None = None
    """On-prem only: machine of the controllers, which become service machines of it, numbered as those are (cp-01)."""
    levels: tuple[Text, ...] = ()
    """Levels of locality that the queue is told of, in any order; empty means all there are."""
    controllers: Annotated[tuple[Host, ...], Field(min_length=1, max_length=9)] = (
        Host(name="cp1"),
        Host(name="cp2"),
        Host(name="cp3"),
    )
    """Control-plane nodes; used on-prem only, a cloud brings its own."""
    devices: Literal["plugin", "claims"] = "plugin"
    """Who hands out NVIDIA GPUs: the device plugin, or claims (dynamic resource allocation), for which each tenant gets
    templates; jobs that ask for ``nvidia.com/gpu`` are served by either."""
    system: ServiceHosts | None = None
    """Clouds only: machines for what the cluster itself runs; empty means two usual ones."""
    gitops: Literal["none", "flux", "argocd"] = "none"
    """Wrappers for a GitOps controller around the bundle."""

    @model_validator(mode="after")
    def _check_names(self) -> KubernetesScheduler:
        for twice in find_duplicates(self.controllers):
            raise DuplicateNameError(f"two controllers are called {twice!r}")
        for twice in sorted({name for name in self.levels if self.levels.count(name) > 1}):
            raise ValueError(f"levels: {twice!r} is there twice")
        return self


Scheduler = Annotated[SlurmScheduler | KubernetesScheduler, Field(discriminator="kind")]
