"""The spending of tenants in the current period of their budgets."""

from __future__ import annotations

import calendar
import time
from collections.abc import Iterable

from ...spec.tenant import Budget
from .store import Store

__all__ = ["compute_period_start", "compute_spending"]


def compute_spending(store: Store, budgets: Iterable[Budget], now: float | None = None) -> dict[tuple[str, str], float]:
    """US dollars by tenant and period. A job counts in the period in which it ended; a submitted job counts with its
    reserved cost until its time limit, or with its cost up to now if it has none.
    """
    moment = time.time() if now is None else now
    return {
        (budget.tenant, budget.per): store.compute_tenant_cost(
            budget.tenant, compute_period_start(budget.per, moment), moment
        )
        for budget in budgets
    }


def compute_period_start(period: str, now: float) -> float:
    """Start of the current day, week, month, quarter or year, in UTC."""
    day = time.gmtime(now)
    midnight = now - now % 86_400
    if period == "day":
        return midnight
    if period == "week":
        return midnight - day.tm_wday * 86_400
    month = {"month": day.tm_mon, "quarter": (day.tm_mon - 1) // 3 * 3 + 1, "year": 1}[period]
    return float(calendar.timegm((day.tm_year, month, 1, 0, 0, 0)))
