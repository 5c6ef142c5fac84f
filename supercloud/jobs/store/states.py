"""The states of a job, their order, and the allowed transitions."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["FINAL_STATES", "LIVE_STATES", "State", "can_follow"]


class State(StrEnum):
    """The state of a job. Declared in the order of a job's life; UNKNOWN may replace any live state."""

    HELD = "HELD"
    """Recorded; the broker submits it when an engine has free capacity, and again after the loss of its machine."""
    PENDING = "PENDING"
    """Recorded; not submitted to an engine."""
    SUBMITTING = "SUBMITTING"
    """Being submitted to its engine: after a crash the engine is queried for it."""
    QUEUED = "QUEUED"
    """The engine has accepted it; it waits to start."""
    RUNNING = "RUNNING"
    UNKNOWN = "UNKNOWN"
    """The engine should have it but does not report it; the next answer decides."""
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    """Its machine was lost."""

    @property
    def is_final(self) -> bool:
        """Whether no transition can follow."""
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
    """Whether a reported state ``new`` follows the last known state ``old``; any other answer is stale.

    Within one attempt a job only moves forward; a later attempt may start again from the queue. Back to HELD it moves
    only by a decision of this package (:mod:`.status_changes`), never by an answer of an engine.
    """
    if old.is_final or new_attempt < old_attempt or new is State.HELD:
        return False
    if new_attempt > old_attempt:
        return new is not State.PENDING and new is not State.SUBMITTING
    return new in _TRANSITIONS[old]
