"""The cost reserved for a job when it is submitted, and the remaining budgets of its tenant."""

from __future__ import annotations

from dataclasses import replace

from ...spec import JobSpec
from ..fleet.state import Fleet
from .answer import Placement

__all__ = ["add_spending", "compute_reserved_cost"]


def compute_reserved_cost(job: JobSpec, placement: Placement) -> float | None:
    """Maximum USD of a placed job until its time limit; None without a time limit or known price."""
    if job.time_limit is None or placement.price is None:
        return None
    return placement.price * job.time_limit.to("h") + placement.egress


def add_spending(fleet: Fleet, tenant: str, amount: float) -> Fleet:
    """The fleet with an amount added to (or subtracted from) the spending of a tenant, in every period."""
    keys = {(budget.tenant, budget.per) for budget in fleet.spec.budgets if budget.tenant == tenant}
    return replace(fleet, spent={**fleet.spent, **{key: fleet.spent.get(key, 0.0) + amount for key in keys}})
