"""What is recorded of a job that is about to be submitted."""

from __future__ import annotations

from ..plan.model.plan import Plan
from ..spec import JobSpec
from ..spec.fleet import Connection
from .engines.submission import Submission
from .placement.answer import Placement
from .placement.energy import compute_power_draw
from .placement.spending import compute_reserved_cost
from .store.records import Assignment

__all__ = ["build_assignment"]


def build_assignment(
    job: JobSpec, plan: Plan, connection: Connection, placement: Placement, submission: Submission
) -> Assignment:
    """The assignment of a job to the cluster of a plan, with the power and the cost that follow from its placement."""
    return Assignment(
        cluster=plan.name,
        connection=connection.model_dump_json(exclude_defaults=True),
        engine=connection.engine,
        placement=placement.to_json(),
        submission=submission.to_json(),
        watts=compute_power_draw(plan, placement),
        hourly=placement.price,
        units=placement.units,
        promised=compute_reserved_cost(job, placement),
    )
