"""Cost limits of a job: its own limits, the budgets of its tenant, and the cost reserved on submission."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from ....spec.tenant import Budget
from ..context import PlacementContext
from ..refusal import JobChange, StepRefusal

__all__ = ["JobCost", "check_cost_limits"]


@dataclass(frozen=True)
class JobCost:
    """The cost of a job at a placement."""

    price: float | None
    """USD per hour for all of its nodes; None if unknown."""
    nodes: int
    total: float | None
    """USD until its time limit; None if its price is unknown."""
    run_time: float
    """Seconds until its time limit."""


def check_cost_limits(context: PlacementContext, cost: JobCost) -> StepRefusal | None:
    """Check that the job's limits and its tenant's remaining budget allow the cost."""
    return _check_max_price(context, cost) or _check_job_budget(context, cost) or _check_tenant_budgets(context, cost)


def _check_max_price(context: PlacementContext, cost: JobCost) -> StepRefusal | None:
    limit = context.job.place.max_price
    if limit is None:
        return None
    if cost.price is None:
        return StepRefusal(
            "price unknown, and the job has a max_price",
            f"add a price for the nodes of {context.plan.name} to the fleet, or omit place.max_price",
            {"place.max_price": None},
        )
    each = cost.price / cost.nodes
    if each > limit.to("USD/h"):
        return StepRefusal(
            f"a node costs {each:.2f} USD/h, the job's max_price is {limit}",
            f"set place.max_price to {_format_cents(each)} USD/h",
            {"place.max_price": f"{_format_cents(each)} USD/h"},
        )
    return None


def _check_job_budget(context: PlacementContext, cost: JobCost) -> StepRefusal | None:
    job = context.job
    if job.budget is None:
        return None
    if job.time_limit is None:
        return StepRefusal("a budget requires a time limit", "set time_limit")
    if cost.total is None:
        return StepRefusal(
            "price unknown, and the job has a budget",
            f"add a price for the nodes of {context.plan.name} to the fleet, or omit budget",
            {"budget": None},
        )
    if cost.total > job.budget.to("USD"):
        return StepRefusal(
            f"it would cost {cost.total:.2f} USD until its time limit, the budget is {job.budget}",
            f"set budget to {_format_cents(cost.total)} USD, or reduce time_limit",
            {"budget": f"{_format_cents(cost.total)} USD"},
        )
    return None


def _check_tenant_budgets(context: PlacementContext, cost: JobCost) -> StepRefusal | None:
    job, fleet = context.job, context.fleet
    if fleet is None or not job.tenant:
        return None
    total = cost.total if cost.total is not None and job.time_limit else 0.0
    for budget in fleet.spec.budgets:
        left = budget.limit.to("USD") - fleet.spent.get((budget.tenant, budget.per), 0.0)
        if budget.tenant == job.tenant and (left <= 0 or total > left):
            would = f"; the job would cost {total:.2f} USD" if total else ""
            return StepRefusal(
                f"tenant {budget.tenant} has {max(0.0, left):.2f} USD of its {budget.limit} left this "
                f"{budget.per}{would}",
                *_suggest_within_budget(budget, left, total, cost.run_time, cost.price),
            )
    return None


def _suggest_within_budget(
    budget: Budget, remaining: float, cost: float, run_time: float, price: float | None
) -> tuple[str, JobChange]:
    """The change that keeps a job within the remaining budget; waiting is suggested if the budget of a period
    suffices.
    """
    waits = f", or wait for the next {budget.per}" if cost <= budget.limit.to("USD") else ""
    minutes = int(run_time / 60 - (cost - remaining) / price * 60) if price and remaining > 0 else 0
    if minutes > 0:
        return f"set time_limit to at most {minutes} min, raise the budget{waits}", {"time_limit": f"{minutes} min"}
    return f"raise the budget{waits}", {}


def _format_cents(amount: float) -> str:
    """An amount rounded up to the next cent."""
    return f"{ceil(amount * 100) / 100:.2f}"
