"""How long a job of this machine may go on, and whether its end is one."""

from __future__ import annotations

import math
import time

from ...store.processes import boot
from ...store.states import State
from .queue import Task

__all__ = ["again", "late", "time_left"]


def _elapsed(task: Task) -> float:
    """Seconds its present attempt has been running: by the clock that no change of the date moves, while it is the
    clock under which the attempt began.
    """
    if task.ticks is not None and task.boot == boot():
        return time.monotonic() - task.ticks
    return time.time() - task.started if task.started else 0.0


def time_left(task: Task) -> float:
    """Seconds until its time is up; infinity where it has no limit."""
    limit, deadline = task.number("time_limit"), task.number("deadline")
    left = [limit - _elapsed(task)] if limit and task.started else []
    left += [task.queued + deadline - time.time()] if deadline else []
    return min(left, default=math.inf)


def late(task: Task) -> str:
    """Why its time is up; empty while it is not."""
    limit, deadline = task.number("time_limit"), task.number("deadline")
    if limit and task.started and _elapsed(task) > limit:
        return f"ran longer than its time limit of {limit:g} s"
    if deadline and time.time() > task.queued + deadline:
        return f"its deadline of {deadline:g} s after its submission has passed"
    return ""


def again(task: Task, verdict: State, exit_code: int | None) -> bool:
    """Whether it is started once more: its machine was lost, or its exit code is one to try again."""
    if task.cancelled or task.attempt > task.number("retries"):
        return False
    codes = str(task.submission.settings.get("retry_codes") or "").split()
    return verdict is State.NODE_FAIL or (verdict is State.FAILED and str(exit_code) in codes)
