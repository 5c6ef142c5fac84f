"""Names of objects in a Kubernetes cluster: label keys, queues, flavors, topologies, claims.

The bundle that configures a cluster and the engine that submits jobs are independent of each other; both use the names
of this module, so that jobs match the rendered objects.
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
    "format_group_name",
    "format_level_label",
    "format_mount_label",
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
"""Node label: the catalog's name of its accelerator; nodes without accelerators do not have it."""
HOSTNAME_LABEL = "kubernetes.io/hostname"
"""Node label: the innermost level of every topology."""
IMEX_CHANNEL_RESOURCE = "nvidia.com/imex-channel"
"""Quota name of the device by which pods share memory over a scale-up domain; a node has one."""
_LEVEL_PREFIX = "topology.supercloud.dev/"
_MOUNT = "mounts.supercloud.dev/"

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGER_NAME = "supercloud"
"""Value of ``MANAGED_BY_LABEL`` on all objects of jobs and of the bundle."""
JOB_LABEL = "supercloud.dev/job"
"""Label of a job's objects and pods: the job's name in the cluster, shared by all tasks of an array."""
OBJECT_LABEL = "supercloud.dev/object"
"""Label of pods: the object that they belong to; in an array each task is an object."""
ARRAY_INDEX_LABEL = "supercloud.dev/array-index"
"""Label of the objects of an array's tasks: the task number."""
KEY_ANNOTATION = "supercloud.dev/key"
"""Annotation: the idempotency key of the submission."""
DIGEST_ANNOTATION = "supercloud.dev/digest"
"""Annotation: the submission that the object was created for, as a later job may have the same key."""
SPEC_DIGEST_ANNOTATION = "supercloud.dev/spec-digest"
"""Annotation: digest of the job spec, independent of user and time."""
RECORD_DIGEST_ANNOTATION = "supercloud.dev/record-digest"
"""Annotation: digest of the job's record in the store that submitted it."""
NAME_ANNOTATION = "supercloud.dev/name"
"""Annotation: the user's name of the job."""
TIME_LIMIT_ANNOTATION = "supercloud.dev/time-limit"
"""Annotation of pods: maximum run time of the job in seconds."""
STARTS_ANNOTATION = "supercloud.dev/starts"
"""Annotation of a job's object and of its pods: number of starts by its queue, as counted by the API server."""

SECRETS_NAME = "supercloud-secrets"
"""The Secret in a tenant's namespace with the secrets that jobs name, one key each."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True)
class Topology:
    """A tree of locations for the queue, from the outermost inwards."""

    name: str
    levels: tuple[Level, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Node label of every level; the last is the host name."""
        return (*(format_level_label(level.name) for level in self.levels), HOSTNAME_LABEL)


def format_level_label(level: str) -> str:
    """Node label with the group of a node at a level (scale-up, leaf-set, su, pod …)."""
    return f"{_LEVEL_PREFIX}{level}"


def format_mount_label(storage: str) -> str:
    """Node label, "true" or "false": whether a node of an on-prem site mounts a file system."""
    return f"{_MOUNT}{storage}"


def format_group_name(tenant: str) -> str:
    """Return the group of a tenant's members, to which its roles are bound."""
    return f"supercloud:{tenant}"


def format_namespace_name(tenant: str | None) -> str:
    """Namespace of a tenant's jobs; jobs without a tenant are in ``default``."""
    return tenant or _DEFAULT_NAMESPACE


def format_queue_name(tenant: str | None) -> str:
    """Name of the LocalQueue in a tenant's namespace."""
    return tenant or _DEFAULT_NAMESPACE


def format_cluster_queue_name(tenant: str | None) -> str:
    """Name of the ClusterQueue with a tenant's quota."""
    return tenant or _DEFAULT_NAMESPACE


def format_flavor_name(pool: str) -> str:
    """Name of the ResourceFlavor of a pool's nodes."""
    return pool


def format_claim_name(storage: str) -> str:
    """Name of the PersistentVolumeClaim of a file system in a tenant's namespace."""
    return storage


def format_resource_name(resource: str, slice: str = "", profile: str = "") -> str:
    """The resource that pods request: accelerators (``nvidia.com/gpu``), also with time-slicing, or MIG instances.

    The names of MIG instances are those of NVIDIA's device plugin with the strategy ``mixed``.
    """
    if slice == "mig":
        return f"{resource.partition('/')[0]}/mig-{profile.replace('+', '.')}"
    return resource


def format_priority_class_name(priority: str) -> str:
    """Name of the WorkloadPriorityClass of a job's or tenant's priority."""
    return priority


def format_scheduling_class_name(priority: str) -> str:
    """Name of the PriorityClass of a priority, if the pod scheduler is the queue (Volcano)."""
    return f"supercloud-{priority}"


def format_settings_name(pool: str) -> str:
    """Name of the ConfigMap with NCCL's settings for a pool, in every namespace that runs jobs."""
    return f"nccl-{pool}"


def format_attachment_name(namespace: str, network: str) -> str:
    """Name of the object by which pods of a namespace join a network of a fabric."""
    return f"{namespace}-{network}"


def format_compute_domain_name(pool: str) -> str:
    """Name of the ComputeDomain of a namespace and a pool whose nodes can share memory."""
    return f"{pool}-nvlink"


def format_channel_claim_name(pool: str) -> str:
    """Name of the ResourceClaimTemplate by which a pod joins that domain."""
    return f"{format_compute_domain_name(pool)}-channel"


def build_topology(plan: Plan, pool: PoolPlan) -> Topology:
    """The topology of a pool's flavor: the whole topology without the levels that the spec hides from the queue."""
    declared = plan.scheduler.settings
    wanted = declared.levels if isinstance(declared, KubernetesScheduler) else ()
    whole = build_full_topology(plan, pool)
    return Topology(whole.name, tuple(level for level in whole.levels if not wanted or level.name in wanted))


def build_full_topology(plan: Plan, pool: PoolPlan) -> Topology:
    """A pool's tree of switches with scale-up domains inside the innermost switches.

    A flavor has a single topology, so two views of Slurm (tree and blocks) become one tree with more levels, named
    after both views. Pools with neither have the first locality that covers them.
    """
    views = [locality for locality in plan.localities if _is_covering(locality, pool)]
    tree = next((view for view in views if view.kind == "tree"), None)
    blocks = next((view for view in views if view.kind == "block"), None)
    chosen = tuple(view for view in (tree, blocks) if view) or tuple(views[:1])
    levels: dict[str, Level] = {}
    for view in chosen:
        for level in reversed(view.levels):  # with fabrics of different depths, two levels may have the same name
            levels.setdefault(level.name, level)
    return Topology("-".join(view.name for view in chosen), tuple(levels.values()))


def _is_covering(locality: Locality, pool: PoolPlan) -> bool:
    return any(
        part.prefix == pool.hosts.prefix and part.first <= pool.hosts.last and pool.hosts.first <= part.last
        for group in locality.levels[0].groups
        for part in group.hosts.ranges
    )
