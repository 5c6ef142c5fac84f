"""Time limits of a job of this machine, why it is terminated, and whether it is retried."""

from __future__ import annotations

import math
import time

from ...store.processes import read_boot_id
from ...store.states import State
from .queue import Task
from .runs import RunProgress

__all__ = ["can_retry", "compute_time_left", "find_exceeded_limit", "find_termination"]


def _compute_elapsed(task: Task) -> float:
    """Seconds its present attempt has been running."""
    return _compute_seconds_since(task.started_monotonic, task.boot_id, task.started) if task.started else 0.0


def _compute_age(task: Task) -> float:
    """Seconds since its submission."""
    return _compute_seconds_since(task.queued_monotonic, task.queued_boot_id, task.queued)


def _compute_seconds_since(monotonic: float | None, boot_id: str, date: float) -> float:
    """By the monotonic clock in the boot that it counts in, as the date may be set; across a restart by the date."""
    if monotonic is not None and boot_id == read_boot_id():
        return time.monotonic() - monotonic
    return time.time() - date


def compute_time_left(task: Task) -> float:
    """Seconds until its time limit; infinity if it has none."""
    limit, deadline = task.get_number("time_limit"), task.get_number("deadline")
    left = [limit - _compute_elapsed(task)] if limit and task.started else []
    left += [deadline - _compute_age(task)] if deadline else []
    return min(left, default=math.inf)


def find_exceeded_limit(task: Task) -> str:
    """The limit that it has exceeded; empty if none."""
    limit, deadline = task.get_number("time_limit"), task.get_number("deadline")
    if limit and task.started and _compute_elapsed(task) > limit:
        return f"ran longer than its time limit of {limit:g} s"
    if deadline and _compute_age(task) > deadline:
        return f"its deadline of {deadline:g} s after its submission has passed"
    return ""


def find_termination(task: Task, progress: RunProgress) -> tuple[State, str, int | None] | None:
    """State, reason and exit code of a job whose remaining tasks must be terminated; None if it may continue, or all
    its tasks have ended.
    """
    if progress.is_lost:
        return State.NODE_FAIL, f"its process disappeared in attempt {task.attempt}", None
    if not progress.alive:
        return None
    if (code := progress.failure_code) is not None:
        return State.FAILED, f"one of its {progress.count} tasks ended with exit code {code}", code
    if task.is_cancelled:
        return State.CANCELLED, "cancelled", None
    if reason := find_exceeded_limit(task):
        return State.TIMEOUT, reason, None
    return None


def can_retry(task: Task, state: State, exit_code: int | None) -> bool:
    """Whether it is restarted: its machine was lost, or its exit code is to be retried."""
    if task.is_cancelled or task.attempt > task.get_number("retries"):
        return False
    codes = str(task.submission.settings.get("retry_codes") or "").split()
    return state is State.NODE_FAIL or (state is State.FAILED and str(exit_code) in codes)
