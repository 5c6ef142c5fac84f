"""How long a job of this machine may go on, and whether its end is one."""

from __future__ import annotations

import math

from ...states import State
from .queue import Task

__all__ = ["again", "ends_at", "late"]


def ends_at(task: Task) -> float:
    """When its time is up, in seconds since 1970; infinity where it has no limit."""
    limit, deadline = task.number("time_limit"), task.number("deadline")
    ends = [task.started + limit] if limit and task.started else []
    ends += [task.queued + deadline] if deadline else []
    return min(ends, default=math.inf)


def late(task: Task, now: float) -> str:
    """Why its time is up; empty while it is not."""
    limit, deadline = task.number("time_limit"), task.number("deadline")
    if limit and task.started and now > task.started + limit:
        return f"ran longer than its time limit of {limit:g} s"
    if deadline and now > task.queued + deadline:
        return f"its deadline of {deadline:g} s after its submission has passed"
    return ""


def again(task: Task, verdict: State, exit_code: int | None) -> bool:
    """Whether it is started once more: its machine was lost, or its exit code is one to try again."""
    if task.cancelled or task.attempt > task.number("retries"):
        return False
    codes = str(task.submission.settings.get("retry_codes") or "").split()
    return verdict is State.NODE_FAIL or (verdict is State.FAILED and str(exit_code) in codes)
