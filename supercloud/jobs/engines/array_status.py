"""One status for an array, aggregated from its tasks."""

from __future__ import annotations

from collections.abc import Sequence

from ..store.states import State
from ..store.status import Status

__all__ = ["aggregate_array_status"]

# once no task runs or waits: the first of these states that any task has
_STATE_PRECEDENCE = (State.FAILED, State.NODE_FAIL, State.TIMEOUT, State.CANCELLED, State.UNKNOWN, State.COMPLETED)


def aggregate_array_status(tasks: Sequence[Status], count: int) -> Status | None:
    """The status of an array of ``count`` tasks from the known ones; None if these are not sufficient.

    It has started when one task has, and it has ended when all have.
    """
    if count <= 1 and len(tasks) <= 1:
        return tasks[0] if tasks else None
    live = [task for task in tasks if not task.state.is_final and task.state is not State.UNKNOWN]
    if live:
        return _aggregate_live_array(live, tasks, count)
    return _aggregate_ended_array(tasks, count) if len(tasks) >= count else None


def _aggregate_live_array(live: Sequence[Status], tasks: Sequence[Status], count: int) -> Status:
    """Running once a task has started: between two tasks no task may be running."""
    ended = sum(task.state.is_final for task in tasks)
    text = f"{ended} of {count} tasks have ended" if ended else live[0].reason
    if ended or any(task.state is State.RUNNING for task in live):
        return Status(State.RUNNING, 0, text, None, _find_start(tasks))
    return Status(State.QUEUED, 0, text)


def _aggregate_ended_array(tasks: Sequence[Status], count: int) -> Status:
    """The worst state of its tasks, with the first exit code that is not 0."""
    state = next(state for state in _STATE_PRECEDENCE if any(task.state is state for task in tasks))
    alike = [task for task in tasks if task.state is state]
    code = next((task.exit_code for task in tasks if task.exit_code), alike[0].exit_code)
    text = "" if state is State.COMPLETED else f"{len(alike)} of {count} tasks: {alike[0].reason or state.lower()}"
    ended = max((task.ended for task in tasks if task.ended), default=None) if state.is_final else None
    return Status(state, 0, text, code, _find_start(tasks), ended)


def _find_start(tasks: Sequence[Status]) -> float | None:
    return min((task.started for task in tasks if task.started), default=None)
