"""How the statuses that engines report change the rows of jobs."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import replace

from .records import JobRecord
from .states import State, can_follow
from .status import Status

__all__ = ["RECALLED_BEFORE_START", "apply_status", "can_continue", "insert_event", "is_news"]

RECALLED_BEFORE_START = "recalled before it started"
"""The reason of a job that is held because it was recalled from its engine."""


def can_continue(record: JobRecord, status: Status) -> bool:
    """Whether the job continues although its engine reports an end: it was recalled, or its machine was lost, and its
    broker restarts it.
    """
    if not record.fleet:
        return False
    if status.state is State.CANCELLED:
        never_began = status.started is None or (status.ended is not None and status.started >= status.ended)
        return record.recalled and record.started is None and never_began
    return status.state is State.NODE_FAIL and record.total_attempts <= record.retries


def is_news(record: JobRecord, status: Status) -> bool:
    """Whether a status changes the record of a job: it is neither stale nor already recorded."""
    attempt = status.attempt or record.attempt
    if status.state is record.state and attempt == record.attempt:
        return not record.state.is_final and status.reason != record.reason
    return can_follow(record.state, status.state, record.attempt, attempt)


def apply_status(connection: sqlite3.Connection, record: JobRecord, status: Status) -> None:
    """Change the row of a job to a status that is news, within a transaction."""
    if can_continue(record, status):
        _hold_again(connection, record, status)
        return
    attempt = status.attempt or record.attempt
    began_again = attempt > record.attempt
    started = status.started or (None if began_again else record.started)
    ended = (status.ended or time.time()) if status.state.is_final else None
    used = (record.joules, record.dollars, record.unit_seconds)
    if began_again:
        used = (record.compute_energy(), record.compute_cost(), record.compute_unit_seconds())
    connection.execute(
        "UPDATE jobs SET state = ?, attempt = ?, exit_code = ?, reason = ?, owner = '', started = ?, ended = ?,"
        " joules = ?, dollars = ?, unit_seconds = ?, recalled = recalled AND ? WHERE id = ?",
        (
            status.state,
            attempt,
            status.exit_code,
            status.reason,
            started,
            ended,
            *used,
            status.state is not State.RUNNING,
            record.id,
        ),
    )
    if status.state is not record.state or began_again:
        insert_event(connection, record.id, status.state, attempt, status.reason)


def _hold_again(connection: sqlite3.Connection, record: JobRecord, status: Status) -> None:
    """Return a job to the broker, to be restarted under a later epoch; its launch has ended."""
    ended = replace(record, ended=status.ended or time.time())
    begun = record.started is not None
    reason = RECALLED_BEFORE_START if record.recalled else f"{status.reason}; it is restarted"
    # recalled while it waited: only the attempts before count
    starts = record.attempt if begun or not record.recalled else record.attempt - 1
    connection.execute(
        "UPDATE jobs SET state = ?, reason = ?, owner = '', ref = NULL, launch = launch + 1, recalled = 0,"
        " earlier = ?, attempt = 1, submitted = NULL, started = NULL, joules = ?, dollars = ?, unit_seconds = ?,"
        " watts = NULL, hourly = NULL, units = NULL, promised = NULL WHERE id = ?",
        (
            State.HELD,
            reason,
            record.earlier + starts,
            ended.compute_energy() if begun else record.joules,
            ended.compute_cost() if begun else record.dollars,
            ended.compute_unit_seconds(),
            record.id,
        ),
    )
    insert_event(connection, record.id, State.HELD, record.attempt, f"{record.cluster}: {reason}")


def insert_event(connection: sqlite3.Connection, job_id: int, state: State, attempt: int, note: str) -> None:
    """Add an event to the history of a job, within a transaction."""
    connection.execute(
        "INSERT INTO events (job, at, state, attempt, note) VALUES (?, ?, ?, ?, ?)",
        (job_id, time.time(), state, attempt, note),
    )
