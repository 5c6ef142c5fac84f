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
    done = [task for task in tasks if task.state.is_final]
    started = min((task.started for task in tasks if task.started), default=None)
    if live:
        begun = [task for task in live if task.state is State.RUNNING] or done
        text = f"{len(done)} of {count} tasks have ended" if done else live[0].reason
        return Status(State.RUNNING if begun else State.QUEUED, 0, text, None, started if begun else None)
    if len(tasks) < count:
        return None
    state = next(state for state in _STATE_PRECEDENCE if any(task.state is state for task in tasks))
    like = [task for task in tasks if task.state is state]
    codes = [task.exit_code for task in tasks if task.exit_code]
    text = "" if state is State.COMPLETED else f"{len(like)} of {count} tasks: {like[0].reason or state.lower()}"
    ended = max((task.ended for task in tasks if task.ended), default=None)
    code = codes[0] if codes else like[0].exit_code
    return Status(state, 0, text, code, started, ended if state.is_final else None)
