"""Spot instances, which not every job tolerates."""

from __future__ import annotations

from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["check_capacity_type"]


def check_capacity_type(context: PlacementContext) -> StepRefusal | None:
    """Check that the job tolerates the capacity type of the machines."""
    declared = next((item for item in context.plan.spec.pools if item.name == context.pool.name), None)
    kinds = {way.kind for way in declared.capacity} if declared else set()
    if kinds == {"spot"} and not context.job.preemptible:
        return StepRefusal(
            "its machines are spot instances, which the cloud may reclaim",
            "omit preemptible: false, or add on-demand to the pool's capacity",
            {"preemptible": None},
        )
    return None
