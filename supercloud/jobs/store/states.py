"""The states of a job, their order, and which may follow which."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["FINAL_STATES", "LIVE_STATES", "State", "can_follow"]


class State(StrEnum):
    """Where a job is. Declared in the order a job passes through them; UNKNOWN can stand in for any live one."""

    HELD = "HELD"
    """Recorded here; the broker gives it to an engine when one has room, and again when its machine was lost."""
    PENDING = "PENDING"
    """Recorded here; no engine has heard of it."""
    SUBMITTING = "SUBMITTING"
    """About to be handed to its engine, or just handed over: whether it was is asked after a crash."""
    QUEUED = "QUEUED"
    """The engine has it; it waits for its turn."""
    RUNNING = "RUNNING"
    UNKNOWN = "UNKNOWN"
    """The engine should know it and says nothing; the next answer decides."""
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    """The machine was lost under it."""

    @property
    def is_final(self) -> bool:
        """Whether nothing can follow."""
        return self in FINAL_STATES


FINAL_STATES = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED, State.TIMEOUT, State.NODE_FAIL})
LIVE_STATES = frozenset(State) - FINAL_STATES

_TRANSITIONS: dict[State, frozenset[State]] = {
    State.HELD: frozenset({State.SUBMITTING, State.FAILED, State.CANCELLED}),
    State.PENDING: frozenset({State.SUBMITTING, State.CANCELLED}),
    State.SUBMITTING: frozenset({State.QUEUED, State.FAILED, State.UNKNOWN}),
    State.QUEUED: frozenset({State.RUNNING, State.UNKNOWN}) | FINAL_STATES,
    State.RUNNING: frozenset({State.UNKNOWN}) | FINAL_STATES,
    State.UNKNOWN: frozenset({State.QUEUED, State.RUNNING}) | FINAL_STATES,
}


def can_follow(old: State, new: State, old_attempt: int = 1, new_attempt: int = 1) -> bool:
    """Whether an answer ``new`` about a job that was last seen ``old`` moves it on; anything else is stale.

    Within one attempt a job only moves forward; a later attempt may start again from the queue. Back to HELD it comes
    by a decision of ours alone (``Store._hold_again``), never by an answer.
    """
    if old.is_final or new_attempt < old_attempt or new is State.HELD:
        return False
    if new_attempt > old_attempt:
        return new is not State.PENDING and new is not State.SUBMITTING
    return new in _TRANSITIONS[old]
