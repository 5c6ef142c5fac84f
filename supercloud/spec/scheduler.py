"""The scheduler: Slurm or Kubernetes, and its configuration.

A scheduler is a model here with ``title``, ``kind``, ``version``, ``controllers`` and ``machine``, and a member of
``Scheduler``.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from ..primitives.quantity import Duration
from .base import (
    MAX_CHOICES,
    MAX_LISTED,
    MAX_TENANTS,
    PARTITION_PATTERN,
    Count,
    DuplicateNameError,
    Flag,
    IntegerRange,
    LocatedProblem,
    LocatedProblemsError,
    Model,
    Name,
    ReleaseText,
    StoredSize,
    Text,
    find_duplicates,
)
from .hints import register_pattern
from .storage import Mount

__all__ = [
    "STATE_FOLDER",
    "GitOps",
    "Host",
    "KubernetesScheduler",
    "ServiceHosts",
    "Partition",
    "Scheduler",
    "SlurmScheduler",
    "TopologyKind",
]

TopologyKind = Literal["tree", "block", "torus3d", "ring", "flat"]


def _suggest_slurm_name(text: str) -> str:
    return re.sub("[^A-Za-z0-9_-]+", "-", text).strip("-_")[:40]


register_pattern(
    PARTITION_PATTERN,
    "is not the name of a partition: letters, digits, and inner dashes and underscores, starting with a letter",
    lambda text: _suggest_slurm_name(text.lstrip("0123456789-_ ")),
)


STATE_FOLDER = "/var/spool/slurmctld"
"""Where boot scripts of clouds mount the state of slurmctld, and where it is elsewhere without a declaration."""
PartitionName = Annotated[
    str,
    Field(
        pattern=PARTITION_PATTERN,
        max_length=40,
        json_schema_extra={
            "typeName": "name of a partition",
            "form": "letters, digits, and inner dashes and underscores, starting with a letter",
        },
    ),
]
# slurm.conf(5), ClusterName: upper-case letters are mapped to lower case. A database's tables have the name as prefix.
ClusterName = Annotated[
    str,
    Field(
        pattern=register_pattern(
            r"^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$",
            "is not a ClusterName: lower-case letters, digits, and inner dashes and underscores (Slurm itself maps "
            "upper-case letters to lower case)",
            lambda text: _suggest_slurm_name(text.lower()),
        ),
        max_length=40,
        json_schema_extra={
            "typeName": "name",
            "form": "lower-case letters, digits, and inner dashes and underscores",
        },
    ),
]


class Host(Model):
    """A service host that exists or will exist: a name and, if fixed, its address."""

    name: Name
    """Host name, without the domain. Example: ``ctl1``."""
    address: Annotated[str, Field(pattern=r"^[0-9a-fA-F.:]{2,45}$")] | None = None
    """Fixed address; empty means one assigned by the plan. Example: ``10.0.0.10``."""


class Partition(Model):
    """A Slurm partition over one or more pools. Without any, every pool gets a partition with its name, for
    the tenants of its nodes in InfiniBand partitions.
    """

    name: PartitionName
    """Name of the partition. Example: ``batch``."""
    pools: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_LISTED)]
    """Pools whose nodes are in it. Example: ``[train]``."""
    default: Flag = False
    """Whether it is the default partition."""
    max_time: Duration | None = None
    """Maximum time limit of a job; empty means the cluster's. Example: ``2 d``."""
    default_time: Duration | None = None
    """Default time limit of jobs; empty means the cluster's. Example: ``1 h``."""
    max_nodes: Count | None = None
    """Maximum number of nodes of one job; empty means all. Example: ``32``."""
    priority: Annotated[int, IntegerRange(0, 65533)] = 1
    """Priority tier: partitions of a higher one are scheduled first. Example: ``10``."""
    topology: TopologyKind | None = None
    """Topology to use, of the rendered ones (Slurm 25.05 and later); empty means the cluster's. Example: ``block``."""
    accounts: Annotated[tuple[Name, ...], Field(max_length=MAX_TENANTS)] = ()
    """Tenants that may use it; empty means all. Example: ``[research]``."""
    exclusive: Flag = False
    """Whether jobs are allocated whole nodes."""


class ServiceHosts(Model):
    """Service machines of a cloud."""

    machine: Text | None = None
    """Machine of the catalog; empty means the provider's default. Example: ``m7g.xlarge``."""
    count: Annotated[int, IntegerRange(0, 4096)] = 1
    """Number of machines. Example: ``2``."""
    disk: StoredSize | None = None
    """Size of the root disk; empty means the provider's default. Example: ``200 GB``."""
    public: Flag = False
    """Whether they have a public address."""
    balancer: Flag = False
    """Slurm only: whether users reach several login machines by one address, through a load balancer that has the
    public address if ``public`` is set."""


class SlurmScheduler(Model):
    """Slurm, set up completely: controllers, accounting, partitions, programs."""

    title: ClassVar[str] = "Slurm"
    kind: Literal["slurm"]
    """Always ``slurm``."""
    version: ReleaseText
    """Release of Slurm, such as "25.11"; supported are those of the catalog. Example: ``"25.11"``."""
    cluster_name: ClusterName | None = None
    """ClusterName of slurm.conf, for a cluster that already has another one than the name of the spec; slurmctld does
    not start with the saved state of another ClusterName. Empty means the name of the spec. Example: ``hpc_prod``."""
    state_folder: Mount = STATE_FOLDER
    """On-prem only: StateSaveLocation of slurm.conf, the folder with the state of slurmctld, which several controllers
    share. Example: ``/shared/slurm/state``."""
    controllers: Annotated[tuple[Host, ...], Field(min_length=1, max_length=9)] = (Host(name="ctl1"),)
    """Controllers; the first is the primary, the others are backups in this order. Empty means one, ctl1. Example:
    ``[{name: ctl1}, {name: ctl2}]``."""
    database: Host | None = None
    """Host of slurmdbd; empty means the first controller. Example: ``{name: db1}``."""
    accounting: Flag = True
    """Whether jobs are recorded in an accounting database; required for tenants' limits and fair shares."""
    auth: Literal["munge", "slurm"] | None = None
    """Authentication of daemons; empty means munge, which every release has. Example: ``slurm``."""
    topology: TopologyKind | None = None
    """The cluster's default topology; empty means the one that fits the fabric and the release."""
    partitions: Annotated[tuple[Partition, ...], Field(max_length=MAX_LISTED)] = ()
    """Partitions of the cluster; empty means one for each pool. Example: ``[{name: batch, pools: [train], max_time: 2
    d}]``."""
    max_time: Duration = Duration("7 d")
    """Maximum time limit of a job. Example: ``3 d``."""
    default_time: Duration = Duration("4 h")
    """Default time limit of jobs. Example: ``1 h``."""
    preemption: Flag = True
    """Whether jobs of higher priority requeue jobs of lower priority."""
    health_check_interval: Duration = Duration("5 min")
    """Time between health checks of a node. Example: ``10 min``."""
    machine: Text | None = None
    """Machine of the controllers. On-prem, controllers and database host become service machines of this type with
    numbered names (ctl-01, ctl-02). Empty means one that is large enough for the nodes on a cloud, none on-prem unless
    ``facility.machines`` has their names. Example: ``management-server``."""
    disk: StoredSize | None = None
    """Clouds only: root disk of the controllers; empty means the provider's default. Example: ``200 GB``."""
    state: StoredSize | None = None
    """Clouds only: the persistent disk with the controller's state; empty means the provider's default size. Example:
    ``100 GB``."""
    public: Flag = False
    """Clouds only: whether controllers have a public address."""
    login: ServiceHosts | None = None
    """Clouds only: login machines; empty means one. Example: ``{machine: m7g.xlarge, count: 2}``."""
    managed_database: Flag = False
    """Clouds only: whether accounting uses a database managed by the cloud."""
    options: Annotated[
        dict[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9]*$", max_length=64)], Text],
        Field(max_length=MAX_LISTED),
    ] = {}
    """Additional keys of slurm.conf; they override rendered keys. Items of list-valued keys, such as
    SlurmctldParameters, SchedulerParameters, PrologFlags or PrivateData, are added to the rendered items; an item of
    the same name (``bf_window=…``) is replaced. A key that the release does not support, or that other rendered files
    depend on (SlurmctldPort, AuthType, StateSaveLocation …), is a finding. Empty means the rendered keys only. Example:
    ``{MaxJobCount: "50000"}``."""

    @model_validator(mode="after")
    def _check_names(self) -> SlurmScheduler:
        for twice in find_duplicates(self.partitions):
            raise DuplicateNameError(f"duplicate partition {twice!r}")
        for twice in find_duplicates(self.controllers):
            raise DuplicateNameError(f"duplicate controller {twice!r}")
        defaults = [index for index, partition in enumerate(self.partitions) if partition.default]
        if len(defaults) > 1:
            first = ("partitions", defaults[0], "default")
            raise LocatedProblemsError(
                [
                    LocatedProblem(
                        ("partitions", index, "default"),
                        first,
                        f"{self.partitions[index].name} is the default partition in addition to "
                        f"{self.partitions[defaults[0]].name}",
                        "keep default: true in one partition",
                    )
                    for index in defaults[1:]
                ]
            )
        return self


def _suggest_repository(text: str) -> str:
    """The address in the form of a URL; empty if it is in none of the usual forms."""
    if found := re.fullmatch(r"([A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):/?([A-Za-z0-9._~-][A-Za-z0-9._~/-]*)", text):
        return f"ssh://{found[1] or 'git@'}{found[2]}/{found[3]}"
    if found := re.fullmatch(r"(?:https?://|git://)?([A-Za-z0-9-]+\.[A-Za-z0-9.-]+(?::\d+)?/[A-Za-z0-9._~/-]+)", text):
        return f"https://{found[1]}"
    return ""


_REPOSITORY_PATTERN = register_pattern(
    r"^(https://[A-Za-z0-9.-]+(:\d+)?|ssh://([A-Za-z0-9._-]+@)?[A-Za-z0-9.-]+(:\d+)?)/[^\s@?#]+$",
    "is not an address of a repository that starts with https:// or ssh:// and contains no password or token",
    _suggest_repository,
)


class GitOps(Model):
    """A GitOps controller and the repository with the rendered Kubernetes tree."""

    kind: Literal["flux", "argocd"]
    """The controller: Flux or Argo CD."""
    url: Annotated[
        str,
        Field(pattern=_REPOSITORY_PATTERN),
    ]
    """Address of the repository, without a password or token: the controller reads them from a Secret. Example:
    ``https://git.example.com/clusters.git``."""
    branch: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$")] = "main"
    """Branch that the controller applies. Example: ``production``."""
    path: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$")] | None = None
    """Folder of the tree in the repository; empty means its top. Example: ``pod1/kubernetes``."""


class KubernetesScheduler(Model):
    """Kubernetes with a batch queue: Kueue, or Volcano."""

    title: ClassVar[str] = "Kubernetes"
    kind: Literal["kubernetes"]
    """Always ``kubernetes``."""
    version: ReleaseText
    """Release of Kubernetes, such as "1.35"; supported are those of the catalog. Example: ``"1.35"``."""
    queue: Literal["kueue", "volcano"] = "kueue"
    """Batch queue: Kueue, or Volcano."""
    queue_version: ReleaseText | None = None
    """Release of the queue; empty means the newest in the catalog. Example: ``"0.16"``."""
    machine: Text | None = None
    """On-prem only: machine of the controllers, which become service machines of this type with numbered names (cp-01);
    empty means that they have no rack, no power and no port in the plan, unless `facility.machines` has their names.
    Example: ``management-server``."""
    levels: Annotated[tuple[Text, ...], Field(max_length=MAX_CHOICES)] = ()
    """Levels of locality for the queue, in any order; empty means all. Example: ``[pod, leaf]``."""
    controllers: Annotated[tuple[Host, ...], Field(min_length=1, max_length=9)] = (
        Host(name="cp1"),
        Host(name="cp2"),
        Host(name="cp3"),
    )
    """Control-plane nodes; used on-prem only, a cloud manages its own. Empty means three, cp1 to cp3. Example:
    ``[{name: cp1}, {name: cp2}, {name: cp3}]``."""
    devices: Literal["plugin", "claims"] = "plugin"
    """Allocation of NVIDIA GPUs: by the device plugin, or by claims (dynamic resource allocation), for which each
    tenant gets templates; jobs that ask for ``nvidia.com/gpu`` work with either."""
    omit: Annotated[tuple[Text, ...], Field(max_length=MAX_LISTED)] = ()
    """Charts that the rendered files do not install, because the cluster already has them; names are those of
    `supercloud catalog charts`. Empty means that all are installed. Example: ``[gpu-operator,
    kube-prometheus-stack]``."""
    system: ServiceHosts | None = None
    """Clouds only: machines for system pods; empty means two of the provider's default. Example: ``{machine:
    m7g.xlarge, count: 3}``."""
    gitops: Literal["none", "flux", "argocd"] | GitOps = "none"
    """GitOps controller for which wrappers of the bundle are rendered, and its repository; without one, the address in
    the wrappers is a placeholder. Example: ``{kind: flux, url: https://git.example.com/clusters.git, path: pod1}``."""

    @model_validator(mode="after")
    def _check_names(self) -> KubernetesScheduler:
        for twice in find_duplicates(self.controllers):
            raise DuplicateNameError(f"duplicate controller {twice!r}")
        if repeated := [index for index, name in enumerate(self.levels) if name in self.levels[:index]]:
            raise LocatedProblemsError(
                [
                    LocatedProblem(
                        ("levels", index),
                        ("levels", self.levels.index(self.levels[index])),
                        f"duplicate level {self.levels[index]!r}",
                        "remove it",
                    )
                    for index in repeated
                ]
            )
        return self


Scheduler = Annotated[SlurmScheduler | KubernetesScheduler, Field(discriminator="kind")]
