"""What a Kubernetes cluster calls things: label keys, queues, flavors, topologies, claims.

The bundle that sets a cluster up and the engine that gives it jobs do not know each other; both take every name from
here, so a job finds what was rendered.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....spec.scheduler import KubernetesScheduler
from ...model.plan import Level, Locality, Plan, PoolPlan

__all__ = [
    "ACCELERATOR_LABEL",
    "IMEX_CHANNEL_RESOURCE",
    "DIGEST_ANNOTATION",
    "HOSTNAME_LABEL",
    "JOB_LABEL",
    "KEY_ANNOTATION",
    "MANAGED_BY_LABEL",
    "NAME_ANNOTATION",
    "OBJECT_LABEL",
    "POOL_LABEL",
    "MANAGER_NAME",
    "QUEUE_LABEL",
    "RECORD_DIGEST_ANNOTATION",
    "SECRETS_NAME",
    "SPEC_DIGEST_ANNOTATION",
    "STARTS_ANNOTATION",
    "ARRAY_INDEX_LABEL",
    "TIME_LIMIT_ANNOTATION",
    "Topology",
    "format_attachment_name",
    "format_channel_claim_name",
    "format_claim_name",
    "format_cluster_queue_name",
    "format_compute_domain_name",
    "format_flavor_name",
    "format_level_label",
    "mount_label",
    "format_namespace_name",
    "format_priority_class_name",
    "format_queue_name",
    "format_resource_name",
    "format_scheduling_class_name",
    "format_settings_name",
    "build_topology",
    "build_full_topology",
]

POOL_LABEL = "supercloud.dev/pool"
"""Node label: the name of its pool."""
ACCELERATOR_LABEL = "supercloud.dev/accelerator"
"""Node label: the catalog's name of its accelerator; nodes without any do not have it."""
HOSTNAME_LABEL = "kubernetes.io/hostname"
"""Node label: the innermost level of every topology."""
IMEX_CHANNEL_RESOURCE = "nvidia.com/imex-channel"
"""What quota calls the device by which pods share memory over a scale-up domain; a node has one."""
_LEVEL_PREFIX = "topology.supercloud.dev/"
_MOUNT = "mounts.supercloud.dev/"

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGER_NAME = "supercloud"
"""Value of ``MANAGED_BY_LABEL`` on everything made by jobs or rendered."""
JOB_LABEL = "supercloud.dev/job"
"""Label of a job's objects and pods: what the job is called in the cluster, also by all tasks of an array."""
OBJECT_LABEL = "supercloud.dev/object"
"""Label of pods: the object they belong to; of an array each task is one."""
ARRAY_INDEX_LABEL = "supercloud.dev/array-index"
"""Label of the objects of an array's tasks: their number."""
KEY_ANNOTATION = "supercloud.dev/key"
"""Annotation: the idempotency key the job was submitted with."""
DIGEST_ANNOTATION = "supercloud.dev/digest"
"""Annotation: which submission the object was made for, as another job may have the same key later."""
SPEC_DIGEST_ANNOTATION = "supercloud.dev/spec-digest"
"""Annotation: which job spec was asked for, whoever submitted it and when."""
RECORD_DIGEST_ANNOTATION = "supercloud.dev/record-digest"
"""Digest of the record of a job object, of the store that submitted it."""
NAME_ANNOTATION = "supercloud.dev/name"
"""Annotation: what its user calls the job."""
TIME_LIMIT_ANNOTATION = "supercloud.dev/time-limit"
"""Annotation of pods: the seconds a job may run."""
STARTS_ANNOTATION = "supercloud.dev/starts"
"""Annotation of a job's object and of its pods: how often its queue has let it begin, as the API server counts."""

SECRETS_NAME = "supercloud-secrets"
"""The Secret in a tenant's namespace that holds what jobs name as secrets, a key for each."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True)
class Topology:
    """A tree of places as the queue sees it, from the outermost inwards."""

    name: str
    levels: tuple[Level, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Node label of every level; the last is the host name."""
        return (*(format_level_label(level.name) for level in self.levels), HOSTNAME_LABEL)


def format_level_label(level: str) -> str:
    """Node label that says which group of a level (scale-up, leaf-set, su, pod …) a node lies in."""
    return f"{_LEVEL_PREFIX}{level}"


def mount_label(storage: str) -> str:
    """Node label that says, by "true" or "false", whether a node of a site of our own mounts a file system."""
    return f"{_MOUNT}{storage}"


def format_namespace_name(tenant: str | None) -> str:
    """Where a tenant's jobs live; jobs of nobody in particular live in ``default``."""
    return tenant or _DEFAULT_NAMESPACE


def format_queue_name(tenant: str | None) -> str:
    """The LocalQueue in a tenant's namespace."""
    return tenant or _DEFAULT_NAMESPACE


def format_cluster_queue_name(tenant: str | None) -> str:
    """The ClusterQueue that holds a tenant's quota."""
    return tenant or _DEFAULT_NAMESPACE


def format_flavor_name(pool: str) -> str:
    """The ResourceFlavor of a pool's nodes."""
    return pool


def format_claim_name(storage: str) -> str:
    """The PersistentVolumeClaim through which a tenant's namespace has a file system."""
    return storage


def format_resource_name(resource: str, slice: str = "", profile: str = "") -> str:
    """What pods count: accelerators (``nvidia.com/gpu``), also where several share one in time, or MIG instances.

    The names of instances are those of NVIDIA's device plugin with the strategy ``mixed``.
    """
    if slice == "mig":
        return f"{resource.partition('/')[0]}/mig-{profile.replace('+', '.')}"
    return resource


def format_priority_class_name(priority: str) -> str:
    """The WorkloadPriorityClass of a job's or tenant's priority."""
    return priority


def format_scheduling_class_name(priority: str) -> str:
    """The PriorityClass of a priority, where the scheduler of pods is the queue (Volcano)."""
    return f"supercloud-{priority}"


def format_settings_name(pool: str) -> str:
    """The ConfigMap with NCCL's settings for a pool, in every namespace that runs jobs."""
    return f"nccl-{pool}"


def format_attachment_name(namespace: str, network: str) -> str:
    """The object by which pods of a namespace join a network of a fabric."""
    return f"{namespace}-{network}"


def format_compute_domain_name(pool: str) -> str:
    """The ComputeDomain of a namespace and a pool whose nodes can share memory."""
    return f"{pool}-nvlink"


def format_channel_claim_name(pool: str) -> str:
    """The ResourceClaimTemplate by which a pod joins that domain."""
    return f"{format_compute_domain_name(pool)}-channel"


def build_topology(plan: Plan, pool: PoolPlan) -> Topology:
    """The one topology of a pool's flavor: the whole one without the levels that the spec keeps from the queue."""
    declared = plan.scheduler.spec
    wanted = declared.levels if isinstance(declared, KubernetesScheduler) else ()
    whole = build_full_topology(plan, pool)
    return Topology(whole.name, tuple(level for level in whole.levels if not wanted or level.name in wanted))


def build_full_topology(plan: Plan, pool: PoolPlan) -> Topology:
    """A pool's tree of switches with scale-up domains inside the innermost switches.

    A flavor has a single topology, so what Slurm would see as two views (tree and blocks) is one tree of more levels;
    its name is that of the views it is made of. Pools with neither have the first locality that covers them.
    """
    views = [locality for locality in plan.localities if _is_covering(locality, pool)]
    tree = next((view for view in views if view.kind == "tree"), None)
    blocks = next((view for view in views if view.kind == "block"), None)
    chosen = tuple(view for view in (tree, blocks) if view) or tuple(views[:1])
    levels: dict[str, Level] = {}
    for view in chosen:
        for level in reversed(view.levels):  # where fabrics of several depths meet, two levels may have one name
            levels.setdefault(level.name, level)
    return Topology("-".join(view.name for view in chosen), tuple(levels.values()))


def _is_covering(locality: Locality, pool: PoolPlan) -> bool:
    return any(
        part.prefix == pool.hosts.prefix and part.first <= pool.hosts.last and pool.hosts.first <= part.last
        for group in locality.levels[0].groups
        for part in group.hosts.ranges
    )
