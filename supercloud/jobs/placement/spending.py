"""What a job is promised when an engine gets it, and what that leaves of the budgets of its tenant."""

from __future__ import annotations

from dataclasses import replace

from ...spec import JobSpec
from ..fleet.state import Fleet
from .answer import Placement

__all__ = ["add_spending", "compute_reserved_cost"]


def compute_reserved_cost(job: JobSpec, placement: Placement) -> float | None:
    """USD that a job may cost where it was placed, until its time limit; None where it has none, or no known price."""
    if job.time_limit is None or placement.price is None:
        return None
    return placement.price * job.time_limit.to("h") + placement.egress


def add_spending(fleet: Fleet, tenant: str, amount: float) -> Fleet:
    """The fleet with so much more (or less) spent by a tenant, in every period."""
    keys = {(budget.tenant, budget.per) for budget in fleet.spec.budgets if budget.tenant == tenant}
    return replace(fleet, spent={**fleet.spent, **{key: fleet.spent.get(key, 0.0) + amount for key in keys}})
