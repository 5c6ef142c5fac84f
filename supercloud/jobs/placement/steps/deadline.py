"""When a job may start, so that it ends before its deadline."""

from __future__ import annotations

from collections.abc import Iterator

from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["list_start_delays"]

_HOUR = 3600.0
_WEEK = 168


def list_start_delays(context: PlacementContext, wait: float | None) -> list[float] | StepRefusal:
    """Seconds after submission at which it may start: immediately, and at each full hour within its deadline if energy
    data differ by the hour. ``wait`` is the time until its nodes are free, if known.
    """
    job, first = context.job, wait or 0.0
    if job.deadline is None:
        return [0.0]
    run = job.time_limit.to("s") if job.time_limit else 0.0
    slack = job.deadline.to("s") - run - first
    if slack < 0:
        ends = f"it could start in {first / _HOUR:.1f} h and would end after its deadline of {job.deadline}"
        enough = f"{int((first + run) / _HOUR) + 1} h"
        return StepRefusal(ends, f"set deadline to at least {enough}", {"deadline": enough})
    return [0.0, *_iter_full_hours(context, first, slack)]


def _iter_full_hours(context: PlacementContext, first: float, slack: float) -> Iterator[float]:
    facility = context.plan.facility
    supply = facility.energy_plan if facility else None
    if supply and len(supply.carbon_by_hour) == 24 and context.job.time_limit:
        begin = first + (-(context.now + first) % _HOUR or _HOUR)
        while begin <= first + min(slack, _WEEK * _HOUR):
            yield begin
            begin += _HOUR
