"""End jobs in the store whose engine will never report an end: their cluster is gone, or the outcome of a submission
stays unknown.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ..errors import InputError, UnknownNameError
from .store.leases import has_expired
from .store.processes import ProcessId
from .store.records import JobRecord
from .store.states import State
from .store.status import Status
from .store.status_changes import apply_status
from .store.store import Store

__all__ = ["forget"]

_REPORTED_STATES = (State.QUEUED, State.RUNNING)


def forget(store: Store, job_ids: Sequence[int], force: bool = False) -> list[str]:
    """Record jobs as failed without a request to their engines, and delete their abandoned launches.

    ``force`` includes jobs that their engine last reported as queued or running. Returns a sentence for each job, which
    states what may still run. Raises :class:`InputError` with all reasons if one of them cannot be forgotten; then no
    job is changed.
    """
    records, refusals = list[JobRecord](), list[str]()
    for job_id in dict.fromkeys(job_ids):
        try:
            records.append(store.get(job_id))
        except UnknownNameError as error:
            refusals.append(str(error))
            continue
        # outside of the transaction: a refusal must not undo the watch of a lease that it starts
        if refusal := _find_refusal(store, records[-1], force):
            refusals.append(f"job {job_id} {refusal}")
    if refusals:
        raise InputError("; ".join(refusals))
    with store.transaction() as connection:
        for record in records:
            now = store.get(record.id)
            if (now.state, now.owner, now.lease, now.launch) != (
                record.state,
                record.owner,
                record.lease,
                record.launch,
            ):
                raise InputError(f"job {record.id} has changed meanwhile (now {now.state}); repeat the command")
        return [_end(store, connection, record) for record in records]


def _end(store: Store, connection: sqlite3.Connection, record: JobRecord) -> str:
    """Change one job, and describe what may still run."""
    launch_count = connection.execute("DELETE FROM abandoned WHERE job = ?", (record.id,)).rowcount
    if record.state.is_final:
        return f"job {record.id}: already ended; {_describe_launches(launch_count)}"
    remains = _describe_remains(record)
    reason = f"given up by supercloud store forget; {remains}"
    apply_status(connection, record, Status(State.FAILED, reason=reason, ended=store.find_loss(record.id)))
    return f"job {record.id}: {remains}" + (f"; {_describe_launches(launch_count)}" if launch_count else "")


def _find_refusal(store: Store, record: JobRecord, force: bool) -> str:
    """Why a job cannot be forgotten, or an empty text."""
    if record.state.is_final:
        launches = store.read("SELECT 1 FROM abandoned WHERE job = ?", (record.id,))
        return "" if launches else f"has ended ({record.state}); supercloud store prune deletes old jobs"
    if record.state in (State.HELD, State.PENDING):
        return f"was not submitted ({record.state}); use supercloud cancel {record.id}"
    if record.state is State.SUBMITTING and (owner := ProcessId.parse(record.owner)):
        alive = owner.is_alive
        if alive or (alive is None and not has_expired(store, record)):
            return "is being submitted by another process; wait until that has ended, then repeat"
    if record.state in _REPORTED_STATES and not force:
        return (
            f"was last reported as {record.state} by {record.engine}; use supercloud cancel {record.id}, or --force if "
            "its cluster is gone"
        )
    return ""


def _describe_launches(count: int) -> str:
    return f"{count} abandoned launch{'' if count == 1 else 'es'} of it may still run"


def _describe_remains(record: JobRecord) -> str:
    where = record.cluster or record.engine
    return f"it may still run on {where} as {record.ref}" if record.ref else f"it may have been submitted to {where}"
