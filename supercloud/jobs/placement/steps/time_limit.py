"""The longest time for which a job may run."""

from __future__ import annotations

from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["check_time_limit"]


def check_time_limit(context: PlacementContext) -> StepRefusal | None:
    """Check the time limits of the tenant and the cluster; partitions have separate limits."""
    job, plan = context.job, context.plan
    if job.time_limit is None:
        return None
    shared = context.fleet.spec.tenants if context.fleet else ()
    maxima = [
        next(((item.limits.max_time, f"tenant {item.name}") for item in tenants if item.name == job.tenant), None)
        for tenants in (plan.tenants, shared)
    ]
    for most, owner in filter(None, [*maxima, (plan.max_time, f"cluster {plan.name}")]):
        if most is not None and job.time_limit > most:
            return StepRefusal(
                f"time_limit {job.time_limit} exceeds the maximum of {owner}, {most}",
                f"set time_limit to at most {most}, and save checkpoints",
                {"time_limit": str(most)},
            )
    return None
