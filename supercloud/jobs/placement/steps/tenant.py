"""The tenant of a job: whether it exists, its priority, and its limits in the cluster and in the whole fleet."""

from __future__ import annotations

from ....errors import suggest_nearest
from ....spec import JobSpec
from ....spec.tenant import TenantLimits
from ..context import PlacementContext
from ..refusal import StepRefusal
from .demand import NodeDemand

__all__ = ["check_tenant", "check_tenant_limits"]

_PRIORITY_ORDER = ("low", "normal", "high")


def check_tenant(context: PlacementContext) -> StepRefusal | None:
    """Check that the tenant exists and may submit with the priority of the job."""
    job = context.job
    if job.tenant is None:
        return None
    known = {item.name: item for item in context.plan.tenants}
    if job.tenant not in known:
        change = {} if known else {"tenant": None}
        return StepRefusal(
            f"unknown tenant {job.tenant!r}", suggest_nearest(job.tenant, known) or "omit tenant", change
        )
    tenant = known[job.tenant]
    if _PRIORITY_ORDER.index(job.priority) > _PRIORITY_ORDER.index(tenant.priority):
        return StepRefusal(
            f"tenant {tenant.name} may not submit with priority {job.priority}",
            f"set priority to {tenant.priority}",
            {"priority": tenant.priority},
        )
    return None


def check_tenant_limits(context: PlacementContext, demand: NodeDemand) -> StepRefusal | None:
    """Check that the limits of the tenant allow the job: in this cluster, and over the whole fleet."""
    job, fleet = context.job, context.fleet
    tenant = next((item for item in context.plan.tenants if item.name == job.tenant), None)
    if tenant is None:
        return None
    refusal = _check_limits(job, demand, tenant.limits, "")
    if refusal is None and fleet is not None:
        shared = next((item.limits for item in fleet.spec.tenants if item.name == tenant.name), TenantLimits())
        refusal = _check_limits(job, demand, shared, f" in {fleet.spec.name}")
    return refusal


def _check_limits(job: JobSpec, demand: NodeDemand, limits: TenantLimits, where: str) -> StepRefusal | None:
    if limits.accelerators is not None and job.accelerator_count > limits.accelerators:
        return StepRefusal(
            f"the job needs {job.accelerator_count} accelerators, tenant {job.tenant} is limited to "
            f"{limits.accelerators} at one time{where}",
            *demand.advisor(accelerators=limits.accelerators),
        )
    if limits.nodes is not None and demand.nodes > limits.nodes:
        return StepRefusal(
            f"the job needs {demand.nodes} nodes, tenant {job.tenant} is limited to {limits.nodes} at one time{where}",
            *demand.advisor(nodes=limits.nodes),
        )
    return None
