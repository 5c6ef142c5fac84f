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
from ....plan.model.plan import Plan
from ..context import PlacementContext
from ..refusal import JobChange, StepRefusal
from .demand import NodeDemand
from .pods import compute_pod_cpus

__all__ = ["check_tenant_quota"]

_KEPT = 8
_known: list[tuple[Plan, Mapping[str, list[TenantQuota]]]] = []
"""Cached quotas of the last plans; plans are compared by object identity."""


def check_tenant_quota(context: PlacementContext, demand: NodeDemand) -> StepRefusal | None:
    """Check that a job is within its tenant's quota: its own, and what it may borrow.

    A queue of Kueue counts each pool separately, one of Volcano all pools together.
    """
    plan, facts = context.plan, context.plan.scheduler.kubernetes
    if facts is None:
        return None
    quotas = _get_tenant_quotas(plan).get(context.job.tenant or "")
    need = _compute_counted_amount(context, demand)
    if quotas is None or need is None or (facts.kueue and need[0] not in list_covered_resources(plan)):
        return None
    resource, amount = need
    counted = [context.pool] if facts.kueue else plan.pools
    parts = [quotas[plan.pools.index(context.pool)]] if facts.kueue else quotas
    most = compute_max_resources(parts).get(resource)
    if most is None or amount <= most:
        return None
    total = sum(compute_pool_capacity(pool).get(resource, 0) for pool in counted)
    words, change = _suggest_smaller_job(context, demand, most)
    more = _suggest_larger_quota(context)
    return StepRefusal(
        f"the job needs {amount} {resource}, the queue of tenant {context.job.tenant} admits at most {most} of the "
        f"{total} {'of this pool' if facts.kueue else 'of all pools together'}",
        f"{words}, or {more}" if words else more,
        change,
    )


def _suggest_larger_quota(context: PlacementContext) -> str:
    tenant = next(item for item in context.plan.tenants if item.name == context.job.tenant)
    raised = [f"limits.{field}" for field in ("accelerators", "nodes") if getattr(tenant.limits, field) is not None]
    if not tenant.can_borrow:
        raised.append("share")
    facts = context.plan.scheduler.kubernetes
    other = "use another pool, or " if facts and facts.kueue else ""
    return f"{other}raise {' or '.join(raised)} of the tenant"


def _get_tenant_quotas(plan: Plan) -> Mapping[str, list[TenantQuota]]:
    for known, shares in _known:
        if known is plan:
            return shares
    shares = compute_tenant_quotas(plan)
    _known[:] = [(plan, shares), *_known[: _KEPT - 1]]
    return shares


def _compute_counted_amount(context: PlacementContext, demand: NodeDemand) -> tuple[str, int] | None:
    """The resource of the job's pods that a queue counts, and its amount; None if the resource name is unknown."""
    pool, units = context.pool, demand.units
    if not context.job.accelerator_count:
        return (CPU, demand.nodes * compute_pod_cpus(pool)) if compute_pod_cpus(pool) else None
    if not pool.accelerator or not pool.accelerator.kubernetes:
        return None
    name = format_resource_name(pool.accelerator.kubernetes, units.kind, units.gres)
    return name, demand.nodes * demand.per_node * units.shards_per_unit


def _suggest_smaller_job(context: PlacementContext, demand: NodeDemand, most: int) -> tuple[str, JobChange]:
    if context.job.accelerator_count:
        return demand.advisor(accelerators=most)
    return demand.advisor(nodes=most // compute_pod_cpus(context.pool))
