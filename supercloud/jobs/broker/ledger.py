"""The broker's own steps in the store. Each is a compare-and-set, so that only one of two brokers takes the step."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from ..store.processes import ProcessId
from ..store.records import Assignment, JobRecord
from ..store.states import State
from ..store.status import Status
from ..store.store import Store

__all__ = [
    "AbandonedLaunch",
    "abandon_launch",
    "list_abandoned",
    "advance_launch",
    "request_recall",
    "assign",
    "record_hold_reason",
    "delete_abandoned",
]


@dataclass(frozen=True)
class AbandonedLaunch:
    """A launch that was abandoned because its engine did not respond, or a copy of a launch whose job is restarted; it
    is cancelled when the engine responds.
    """

    id: int
    job: int
    connection: str
    ref: str
    key: str
    """The key of that launch; empty if an earlier version abandoned it."""


def assign(store: Store, record: JobRecord, assignment: Assignment, note: str) -> bool:
    """Record that this process is about to submit a held job to an engine; False if another process has moved it.

    ``note`` is added to the job's history.
    """
    row = asdict(assignment)
    with store.transaction() as database:
        cursor = database.execute(
            f"UPDATE jobs SET state = ?, owner = ?, lease = lease + 1, reason = '',"
            f" {', '.join(f'{column} = ?' for column in row)} WHERE id = ? AND state = ? AND launch = ?",
            (
                State.SUBMITTING,
                str(ProcessId.get_current()),
                *row.values(),
                record.id,
                State.HELD,
                record.launch,
            ),
        )
        if cursor.rowcount:
            store.add_note(record.id, note)
        return bool(cursor.rowcount)


def advance_launch(store: Store, record: JobRecord, launch: int) -> JobRecord:
    """Record launches of a held job that the store does not have; returns the updated job."""
    with store.transaction() as database:
        database.execute(
            "UPDATE jobs SET launch = ? WHERE id = ? AND state = ? AND launch = ?",
            (launch, record.id, State.HELD, record.launch),
        )
        return replace(record, launch=launch)


def request_recall(store: Store, record: JobRecord, reason: str) -> bool:
    """Record that a waiting job is about to be recalled from its engine."""
    with store.transaction() as database:
        cursor = database.execute(
            "UPDATE jobs SET recalled = 1 WHERE id = ? AND state = ? AND launch = ? AND recalled = 0",
            (record.id, State.QUEUED, record.launch),
        )
        if cursor.rowcount:
            store.add_note(record.id, reason)
        return bool(cursor.rowcount)


def record_hold_reason(store: Store, record: JobRecord, reason: str) -> None:
    """Record why a job is still held, if the reason is new."""
    if reason != record.reason:
        with store.transaction(relaxed=True) as database:
            sql = "UPDATE jobs SET reason = ? WHERE id = ? AND state = ? AND launch = ?"
            database.execute(sql, (reason, record.id, State.HELD, record.launch))


def abandon_launch(store: Store, record: JobRecord, reason: str) -> None:
    """Abandon a launch whose engine does not respond: the job is restarted elsewhere, under a later epoch, if
    allowed.
    """
    with store.transaction():
        if store.get(record.id) != record:
            return
        if record.ref is not None:
            store.add_abandoned(record, [record.ref])
        store.record_statuses({record.id: Status(State.NODE_FAIL, record.attempt, reason)})


def list_abandoned(store: Store) -> list[AbandonedLaunch]:
    """Launches that were abandoned and may still run."""
    rows = store.read("SELECT id, job, connection, ref, key FROM abandoned ORDER BY id")
    return [AbandonedLaunch(row["id"], row["job"], row["connection"], row["ref"], row["key"]) for row in rows]


def delete_abandoned(store: Store, launch: AbandonedLaunch) -> None:
    """Delete an abandoned launch that has been cancelled."""
    with store.transaction() as database:
        database.execute("DELETE FROM abandoned WHERE id = ?", (launch.id,))
