"""Whether the queue of a Kubernetes tenant can ever admit a job: the tenant's quota of a pool."""

from __future__ import annotations

from collections.abc import Mapping

from ....plan.build.kubernetes.names import format_resource_name
from ....plan.build.kubernetes.quota import (
    CPU,
    TenantQuota,
    compute_max_resources,
    compute_pool_capacity,
    compute_tenant_quotas,
    list_covered_resources,
)
from ....plan.model.plan import Plan, PoolPlan
from ....spec import JobSpec
from .feasibility import RefusalError
from .pods import compute_pod_cpus
from .shape import JobChange, ShrinkAdvisor
from .slices import AcceleratorUnits

__all__ = ["check_tenant_quota"]

_KEPT = 8
_known: list[tuple[Plan, Mapping[str, list[TenantQuota]]]] = []
"""Cached quotas of the last plans; plans are compared by object identity."""


def check_tenant_quota(
    job: JobSpec, plan: Plan, pool: PoolPlan, units: AcceleratorUnits, nodes: int, per_node: int, advisor: ShrinkAdvisor
) -> None:
    """Check that a job of ``nodes`` nodes is within its tenant's quota: its own, and what it may borrow.

    A queue of Kueue counts each pool separately, one of Volcano all pools together.
    """
    facts = plan.scheduler.kubernetes
    shares = _get_tenant_quotas(plan).get(job.tenant or "") if facts else None
    need = _compute_counted_amount(job, pool, units, nodes, per_node)
    if facts is None or shares is None or need is None or (facts.kueue and need[0] not in list_covered_resources(plan)):
        return
    name, number = need
    one = bool(facts.kueue)
    parts = [shares[plan.pools.index(pool)]] if one else shares
    most = compute_max_resources(parts).get(name)
    if most is None or number <= most:
        return
    has = sum(compute_pool_capacity(each).get(name, 0) for each in ([pool] if one else plan.pools))
    words, change = _suggest_smaller_job(job, advisor, most, pool)
    declared = next(item for item in plan.tenants if item.name == job.tenant)
    limited = [f"limits.{field}" for field in ("accelerators", "nodes") if getattr(declared.limits, field) is not None]
    raised = " or ".join(limited + ([] if declared.can_borrow else ["share"]))
    more = f"use another pool, or raise {raised} of the tenant" if one else f"raise {raised} of the tenant"
    raise RefusalError(
        f"the job needs {number} {name}, the queue of tenant {declared.name} admits at most {most} of the "
        f"{has} {'of this pool' if one else 'of all pools together'}",
        f"{words}, or {more}" if words else more,
        change,
    )


def _get_tenant_quotas(plan: Plan) -> Mapping[str, list[TenantQuota]]:
    for known, shares in _known:
        if known is plan:
            return shares
    shares = compute_tenant_quotas(plan)
    _known[:] = [(plan, shares), *_known[: _KEPT - 1]]
    return shares


def _compute_counted_amount(
    job: JobSpec, pool: PoolPlan, units: AcceleratorUnits, nodes: int, per_node: int
) -> tuple[str, int] | None:
    """The resource of the job's pods that a queue counts, and its amount; None if the resource name is unknown."""
    if not job.accelerator_count:
        return (CPU, nodes * compute_pod_cpus(pool)) if compute_pod_cpus(pool) else None
    if not pool.accelerator or not pool.accelerator.kubernetes:
        return None
    return format_resource_name(
        pool.accelerator.kubernetes, units.kind, units.gres
    ), nodes * per_node * units.shards_per_unit


def _suggest_smaller_job(job: JobSpec, advisor: ShrinkAdvisor, most: int, pool: PoolPlan) -> tuple[str, JobChange]:
    return advisor(accelerators=most) if job.accelerator_count else advisor(nodes=most // compute_pod_cpus(pool))
