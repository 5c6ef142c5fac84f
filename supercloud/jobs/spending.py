"""What tenants have spent in the present period of their budgets."""

from __future__ import annotations

import calendar
import time
from collections.abc import Iterable

from ..spec.tenant import Budget
from .store import Store

__all__ = ["begin_of", "spent"]


def spent(store: Store, budgets: Iterable[Budget], now: float | None = None) -> dict[str, float]:
    """US dollars by tenant; what runs counts up to now, a job counts in the period in which it ended."""
    moment = time.time() if now is None else now
    return {budget.tenant: store.dollars(budget.tenant, begin_of(budget.per, moment), moment) for budget in budgets}


def begin_of(per: str, now: float) -> float:
    """When the present day, week, month, quarter or year began, in UTC."""
    day = time.gmtime(now)
    midnight = now - now % 86_400
    if per == "day":
        return midnight
    if per == "week":
        return midnight - day.tm_wday * 86_400
    month = {"month": day.tm_mon, "quarter": (day.tm_mon - 1) // 3 * 3 + 1, "year": 1}[per]
    return float(calendar.timegm((day.tm_year, month, 1, 0, 0, 0)))
