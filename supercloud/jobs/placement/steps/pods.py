"""The request of a job to Kubernetes, and why no pods of it could be created."""

from __future__ import annotations

from ....plan.build.kubernetes.labels import build_taints
from ....plan.build.kubernetes.levels import compute_label_tiers, find_level_label
from ....plan.build.kubernetes.names import format_claim_name, format_resource_name
from ....plan.model.plan import Plan, PoolPlan
from ....spec import JobSpec
from ....spec.scheduler import KubernetesScheduler
from ..requests.kubernetes import KubernetesRequest
from ..requests.pod_links import build_pod_links
from .feasibility import RefusalError
from .locality import LocalityRequest
from .mounts import list_used_storage
from .slices import AcceleratorUnits

__all__ = ["build_kubernetes_request", "compute_pod_cpus"]


def build_kubernetes_request(
    job: JobSpec,
    plan: Plan,
    pool: PoolPlan,
    units: AcceleratorUnits,
    locality: LocalityRequest,
    nodes: int,
    per_node: int,
) -> KubernetesRequest | None:
    """Build it for a job that takes ``nodes`` nodes of a pool with ``per_node`` units on each; None if the cluster is
    not Kubernetes. Raises :class:`RefusalError` if no pods can be created.
    """
    scheduler = plan.scheduler.spec
    if not isinstance(scheduler, KubernetesScheduler):
        return None
    tiers, level = compute_label_tiers(plan), find_level_label(plan, pool, locality.level)
    segment_level = find_level_label(plan, pool, "scale-up") if locality.segment else ""
    resource = ""
    if job.accelerator_count and pool.accelerator:
        if not pool.accelerator.kubernetes:
            raise RefusalError(
                f"resource name of {pool.accelerator.name} in Kubernetes is unknown",
                "add the resource name to its catalog entry, as 'kubernetes'",
            )
        resource = format_resource_name(pool.accelerator.kubernetes, units.kind, units.gres)
    links = build_pod_links(plan, pool, job.tenant, nodes, _compute_node_fraction(per_node, units, pool))
    if links.channel and (locality.required or locality.segment > 1) and not _supports_claims_in_levels(plan):
        raise RefusalError(
            f"its nodes must share a {'scale-up domain' if locality.segment > 1 else locality.level}, and its "
            "Volcano does not support that for pods with a channel (imex)",
            "set near: any, or set queue: kueue on the cluster or imex: false on the pool",
            {"place.near": "any"},
        )
    return KubernetesRequest(
        queue=scheduler.queue,
        resource=resource,
        cpus=0 if resource else compute_pod_cpus(pool),
        level=level,
        tier=tiers.get(level, 0),
        segment_level=segment_level,
        volumes=_select_volumes(job, plan),
        segment_tier=tiers.get(segment_level, 0),
        taints=tuple(item["key"] for item in build_taints(plan, pool)),
        links=links,
    )


def compute_pod_cpus(pool: PoolPlan) -> int:
    """CPUs that a pod without accelerators requests: so many that a second one does not fit on the node; 0 if the
    number of CPUs of a node is unknown.
    """
    return pool.threads // 2 + 1 if pool.threads else 0


def _supports_claims_in_levels(plan: Plan) -> bool:
    facts = plan.scheduler.kubernetes
    return not (facts and facts.volcano) or facts.volcano.abilities.claims_in_levels


def _compute_node_fraction(per_node: int, units: AcceleratorUnits, pool: PoolPlan) -> float:
    """The fraction of a node's accelerators that a pod takes; a pod without accelerators has the whole node."""
    return float(per_node / (units.per_accelerator * pool.accelerators_per_node)) if per_node else 1.0


def _select_volumes(job: JobSpec, plan: Plan) -> tuple[tuple[str, str], ...]:
    """File systems of the cluster that the job names, or whose mount contains one of its paths."""
    found = [
        (format_claim_name(item.name), item.mount)
        for item in map(plan.storage.__getitem__, list_used_storage(job, plan))
        if item.mount
    ]
    if job.checkpoint and not any(f"{job.checkpoint.path}/".startswith(mount.rstrip("/") + "/") for _, mount in found):
        raise RefusalError(
            f"checkpoint.path {job.checkpoint.path} is not on a file system of the cluster: files in pods are lost",
            _suggest_mounts(plan),
        )
    return tuple(found)


def _suggest_mounts(plan: Plan) -> str:
    mounts = [storage.mount for storage in plan.storage if storage.mount]
    return f"use a path under {' or '.join(mounts)}" if mounts else "add storage with a mount to the cluster"
