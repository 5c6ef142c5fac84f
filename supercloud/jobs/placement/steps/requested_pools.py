"""The clusters and pools to which a job is restricted."""

from __future__ import annotations

from ....errors import suggest_nearest
from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["check_requested_pools"]


def check_requested_pools(context: PlacementContext) -> StepRefusal | None:
    """Check that the job may run on the cluster and in the pool."""
    place, plan, pool = context.job.place, context.plan, context.pool
    if place.clusters != "any" and plan.name not in place.clusters:
        return StepRefusal(
            f"the job may only run on cluster {' or '.join(place.clusters)}, this is {plan.name}",
            f"add {plan.name} to place.clusters",
            {"place.clusters": [*place.clusters, plan.name]},
        )
    if not place.pools or pool.name in place.pools:
        return None
    known = {item.name for item in plan.pools}
    for name in place.pools:
        if name not in known:
            return StepRefusal(f"place.pools: unknown pool {name!r}", suggest_nearest(name, known))
    return StepRefusal(
        f"the job may only run in pool {' or '.join(place.pools)}",
        f"add {pool.name} to place.pools",
        {"place.pools": [*place.pools, pool.name]},
    )
