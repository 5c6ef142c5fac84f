"""The request of a job to Kubernetes, and why no pods of it could be created."""

from __future__ import annotations

from ....plan.build.kubernetes.labels import build_taints
from ....plan.build.kubernetes.levels import compute_label_tiers, find_level_label
from ....plan.build.kubernetes.names import format_claim_name, format_resource_name
from ....plan.model.plan import Plan, PoolPlan
from ....spec.scheduler import KubernetesScheduler
from ..context import PlacementContext
from ..refusal import StepRefusal
from ..requests.kubernetes import KubernetesRequest
from ..requests.pod_links import build_pod_links
from .demand import NodeDemand
from .image import check_image
from .locality import LocalityRequest
from .mounts import list_used_storage

__all__ = ["build_kubernetes_request", "compute_pod_cpus"]


def build_kubernetes_request(
    context: PlacementContext, demand: NodeDemand, locality: LocalityRequest
) -> KubernetesRequest | None | StepRefusal:
    """Build the request for the pods of a job; None if the cluster is not Kubernetes."""
    job, plan, pool = context.job, context.plan, context.pool
    scheduler = plan.scheduler.settings
    if not isinstance(scheduler, KubernetesScheduler):
        return None
    resource = _select_resource(context, demand)
    if isinstance(resource, StepRefusal):
        return resource
    links = build_pod_links(plan, pool, job.tenant, demand.nodes, _compute_node_fraction(demand, pool))
    if links.channel and (locality.required or locality.segment > 1) and not _supports_claims_in_levels(plan):
        return StepRefusal(
            f"its nodes must share a {'scale-up domain' if locality.segment > 1 else locality.level}, and its "
            "Volcano does not support that for pods with a channel (imex)",
            "set near: any, or set queue: kueue on the cluster or imex: false on the pool",
            {"place.near": "any"},
        )
    volumes = _select_volumes(context)
    if isinstance(volumes, StepRefusal):
        return volumes
    if refusal := check_image(context):
        return refusal
    tiers, level = compute_label_tiers(plan), find_level_label(plan, pool, locality.level)
    segment_level = find_level_label(plan, pool, "scale-up") if locality.segment else ""
    return KubernetesRequest(
        queue=scheduler.queue,
        resource=resource,
        cpus=0 if resource else compute_pod_cpus(pool),
        level=level,
        tier=tiers.get(level, 0),
        segment_level=segment_level,
        volumes=volumes,
        segment_tier=tiers.get(segment_level, 0),
        taints=tuple(item["key"] for item in build_taints(plan, pool)),
        links=links,
    )


def _select_resource(context: PlacementContext, demand: NodeDemand) -> str | StepRefusal:
    """The resource that counts the job's accelerators; empty for a job without them."""
    accelerator = context.pool.accelerator
    if not context.job.accelerator_count or accelerator is None:
        return ""
    if not accelerator.kubernetes:
        return StepRefusal(
            f"resource name of {accelerator.name} in Kubernetes is unknown",
            "add the resource name to its catalog entry, as 'kubernetes'",
        )
    return format_resource_name(accelerator.kubernetes, demand.units.kind, demand.units.gres)


def compute_pod_cpus(pool: PoolPlan) -> int:
    """CPUs that a pod without accelerators requests: so many that a second one does not fit on the node; 0 if the
    number of CPUs of a node is unknown.
    """
    return pool.threads // 2 + 1 if pool.threads else 0


def _supports_claims_in_levels(plan: Plan) -> bool:
    facts = plan.scheduler.kubernetes
    return not (facts and facts.volcano) or facts.volcano.abilities.claims_in_levels


def _compute_node_fraction(demand: NodeDemand, pool: PoolPlan) -> float:
    """The fraction of a node's accelerators that a pod takes; a pod without accelerators has the whole node."""
    if not demand.per_node:
        return 1.0
    return float(demand.per_node / (demand.units.per_accelerator * pool.accelerators_per_node))


def _select_volumes(context: PlacementContext) -> tuple[tuple[str, str], ...] | StepRefusal:
    """File systems of the cluster that the job names, or whose mount contains one of its paths."""
    job, plan = context.job, context.plan
    found = [
        (format_claim_name(item.name), item.mount)
        for item in map(plan.storage.__getitem__, list_used_storage(job, plan))
        if item.mount
    ]
    if job.checkpoint and not any(f"{job.checkpoint.path}/".startswith(mount.rstrip("/") + "/") for _, mount in found):
        return StepRefusal(
            f"checkpoint.path {job.checkpoint.path} is not on a file system of the cluster: files in pods are lost",
            _suggest_mounts(plan),
        )
    return tuple(found)


def _suggest_mounts(plan: Plan) -> str:
    mounts = [storage.mount for storage in plan.storage if storage.mount]
    return f"use a path under {' or '.join(mounts)}" if mounts else "add storage with a mount to the cluster"
