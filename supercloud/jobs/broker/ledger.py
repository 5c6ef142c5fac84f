"""The broker's own steps in the store. Each compares before it writes, so that of two brokers one takes the step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..engines.submission import Submission
from ..placement.answer import Placement
from ..store.processes import ProcessId
from ..store.records import JobRecord
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
    """A start that was given up while its engine did not answer, or a copy of a start whose job is started again: it is
    ended when the engine answers."""

    id: int
    job: int
    connection: str
    ref: str
    key: str
    """The key of that start; empty where an earlier version gave it up."""


def assign(
    store: Store,
    record: JobRecord,
    placement: Placement,
    submission: Submission,
    connection: str,
    engine: str,
    watts: float | None,
    promised: float | None,
) -> bool:
    """Write down that this process is about to give a held job to an engine; False when somebody else has moved it."""
    with store.transaction() as database:
        cursor = database.execute(
            "UPDATE jobs SET state = ?, owner = ?, lease = lease + 1, placement = ?, submission = ?, cluster = ?,"
            " connection = ?, engine = ?, watts = ?, hourly = ?, units = ?, promised = ?, reason = ''"
            " WHERE id = ? AND state = ? AND launch = ?",
            (
                State.SUBMITTING,
                str(ProcessId.get_current()),
                placement.to_json(),
                submission.to_json(),
                placement.cluster,
                connection,
                engine,
                watts,
                placement.price,
                placement.units,
                promised,
                record.id,
                State.HELD,
                record.launch,
            ),
        )
        if cursor.rowcount:
            store.add_note(record.id, f"{placement.cluster}: {placement}")
        return bool(cursor.rowcount)


def advance_launch(store: Store, record: JobRecord, launch: int) -> JobRecord:
    """Write down that a held job was started more often than the store knows; returns the job as it is then."""
    with store.transaction() as database:
        database.execute(
            "UPDATE jobs SET launch = ? WHERE id = ? AND state = ? AND launch = ?",
            (launch, record.id, State.HELD, record.launch),
        )
        return replace(record, launch=launch)


def request_recall(store: Store, record: JobRecord, reason: str) -> bool:
    """Write down that a waiting job's engine is about to be asked for it."""
    with store.transaction() as database:
        cursor = database.execute(
            "UPDATE jobs SET recalled = 1 WHERE id = ? AND state = ? AND launch = ? AND recalled = 0",
            (record.id, State.QUEUED, record.launch),
        )
        if cursor.rowcount:
            store.add_note(record.id, reason)
        return bool(cursor.rowcount)


def record_hold_reason(store: Store, record: JobRecord, reason: str) -> None:
    """Write down why a job is still held, where that is news."""
    if reason != record.reason:
        with store.transaction(relaxed=True) as database:
            sql = "UPDATE jobs SET reason = ? WHERE id = ? AND state = ? AND launch = ?"
            database.execute(sql, (reason, record.id, State.HELD, record.launch))


def abandon_launch(store: Store, record: JobRecord, reason: str) -> None:
    """Give up a start whose engine is silent: the job goes on elsewhere, under a later epoch, if it may."""
    with store.transaction():
        if store.get(record.id) != record:
            return
        if record.ref is not None:
            store.add_abandoned(record, [record.ref])
        store.record_statuses({record.id: Status(State.NODE_FAIL, record.attempt, reason)})


def list_abandoned(store: Store) -> list[AbandonedLaunch]:
    """Starts that were given up and may still run."""
    rows = store.read("SELECT id, job, connection, ref, key FROM abandoned ORDER BY id")
    return [AbandonedLaunch(row["id"], row["job"], row["connection"], row["ref"], row["key"]) for row in rows]


def delete_abandoned(store: Store, launch: AbandonedLaunch) -> None:
    """A start that was given up has been ended."""
    with store.transaction() as database:
        database.execute("DELETE FROM abandoned WHERE id = ?", (launch.id,))
