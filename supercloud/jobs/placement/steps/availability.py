"""Whether a cluster currently accepts jobs."""

from __future__ import annotations

from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["check_availability"]


def check_availability(context: PlacementContext) -> StepRefusal | None:
    """Check that the cluster currently accepts jobs; the last step, so this refusal implies that the job fits there."""
    cluster, place = context.cluster, context.job.place
    if not cluster.unavailable_reason:
        return None
    pinned = [f"place.{field}" for field in ("clusters", "pools", "nodes") if getattr(place, field) not in ("any", ())]
    elsewhere = f", or omit {' and '.join(pinned)} so that it can run elsewhere" if pinned else ""
    fix = "correct this, waiting does not help" if cluster.excluded_until_fixed else "wait"
    later = "then" if cluster.excluded_until_fixed else "later"
    return StepRefusal(cluster.unavailable_reason, f"the job would fit there {later}: {fix}{elsewhere}")
