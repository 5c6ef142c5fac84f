"""The job store: every job with its history, durably. Every step is recorded before it is taken."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from ...errors import InputError, StoreError
from .database import Database, locate_state_folder
from .job_reader import JobReader
from .presence import StoreLock
from .private_files import require_own_folder
from .processes import ProcessId
from .records import JobRecord, NewJob
from .schema import MIGRATIONS
from .states import State
from .status import Status
from .status_changes import apply_status, insert_event, is_news

__all__ = ["Store", "has_store", "open_default_store"]


class Store(JobReader):
    """The jobs of one state folder. Opened on construction; close it, or use it in a ``with`` statement."""

    def __init__(self, folder: Path | None = None):
        self.folder = (folder or locate_state_folder()).absolute()
        require_own_folder(self.folder)
        self._presence = StoreLock(self.folder)
        try:
            self._database = Database(self.folder / "jobs.db", MIGRATIONS)
        except BaseException:
            self._presence.close()
            raise
        self.transaction = self._database.transaction
        self.read = self._database.read

    def close(self) -> None:
        """Close the file; records that were read remain usable."""
        self._database.close()
        self._presence.close()

    @property
    def write_error(self) -> StoreError | None:
        """Why the file cannot be written (disk full); None if it can."""
        return self._database.write_error

    def reopen(self) -> None:
        """Reopen the file if it could not be written; raises :class:`StoreError` if it cannot be read."""
        self._database.reopen()

    def require_integrity(self) -> None:
        """Check the whole file for damage; raises :class:`StoreError`."""
        self._database.require_integrity()

    def copy_to(self, path: Path) -> None:
        """Copy a consistent snapshot into another file."""
        self._database.copy_to(path)

    def compact(self) -> None:
        """Release the disk space of deleted rows."""
        self._database.compact()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def record(self, job: NewJob, dependency_ids: Collection[int] = ()) -> tuple[JobRecord, bool]:
        """Record a job as PENDING, or as HELD for the broker of its fleet; True if it is new.

        If the key exists already, the job with that key is returned.

        Raises :class:`InputError` if that has a different spec.
        """
        with self.transaction() as connection:
            if known := self.find_by_key(job.key):
                if known.spec != job.spec:
                    raise InputError(
                        f"key {job.key!r} is already used by job {known.id} with a different spec; "
                        "use another key, or submit the same job"
                    )
                return known, False
            state = State.HELD if job.is_held else State.PENDING
            row = asdict(job.assignment) | {
                "key": job.key,
                "name": job.name,
                "spec": job.spec,
                "tenant": job.tenant,
                "priority": job.priority,
                "retries": job.retries,
                "fleet": job.fleet,
                "state": state,
                "recorded": time.time(),
            }
            cursor = connection.execute(
                f"INSERT INTO jobs ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
            )
            number = int(cursor.lastrowid or 0)
            insert_event(connection, number, state, 1, "recorded")
            self.record_dependencies(number, dependency_ids)
            return self.get(number), True

    def record_dependencies(self, job_id: int, dependency_ids: Collection[int]) -> None:
        """Record which jobs must complete before a job starts."""
        with self.transaction() as database:
            database.executemany(
                "INSERT OR IGNORE INTO awaited (job, other) VALUES (?, ?)",
                [(job_id, other) for other in dependency_ids],
            )

    def begin_submission(self, job_id: int, owner: str = "", lease: int | None = None) -> bool:
        """Record that this process is about to submit a job; False if another process does or did.

        ``owner`` is the process known to have started the submission and to have ended, ``lease`` its last known lease
        counter.
        """
        with self.transaction() as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = ?, owner = ?, lease = lease + 1 WHERE id = ? AND owner = ?"
                " AND lease = coalesce(?, lease) AND state IN (?, ?)",
                (State.SUBMITTING, str(ProcessId.get_current()), job_id, owner, lease, State.PENDING, State.SUBMITTING),
            )
            if cursor.rowcount:
                connection.execute("DELETE FROM watches WHERE job = ?", (job_id,))
                insert_event(connection, job_id, State.SUBMITTING, 1, "after a crash" if owner else "")
            return bool(cursor.rowcount)

    def release_ownership(self, job_id: int) -> None:
        """Record that this process no longer submits a job, whatever the outcome: other processes may take over."""
        with self.transaction() as connection:
            connection.execute("UPDATE jobs SET owner = '' WHERE id = ?", (job_id,))

    def explain_submission(self, number: int, owner: str, reason: str) -> None:
        """Record why a job is still being submitted, unless it no longer is, or another process submits it."""
        with self.transaction(relaxed=True) as connection:
            connection.execute(
                "UPDATE jobs SET reason = ? WHERE id = ? AND state = ? AND owner = ?",
                (reason, number, State.SUBMITTING, owner),
            )

    def requeue(self, job_id: int, reason: str) -> bool:
        """Return a job that its engine refused to its broker; False if it has none."""
        with self.transaction() as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = ?, owner = '', reason = ? WHERE id = ? AND state = ? AND fleet != ''",
                (State.HELD, reason, job_id, State.SUBMITTING),
            )
            if cursor.rowcount:
                insert_event(connection, job_id, State.HELD, 1, reason)
            return bool(cursor.rowcount)

    def record_unsent(self, job_id: int, reason: str) -> bool:
        """Record that a job was certainly not sent to its engine: it is FAILED, and no longer has its key, under which
        it can be submitted again. False if this process does not submit it any more.

        ``~`` and its ID follow its key: such a key cannot be specified, so that no other job has it.
        """
        with self.transaction() as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = ?, key = key || '~' || id, owner = '', reason = ?, ended = ?"
                " WHERE id = ? AND state = ? AND owner = ? AND ref IS NULL",
                (State.FAILED, reason, time.time(), job_id, State.SUBMITTING, str(ProcessId.get_current())),
            )
            if cursor.rowcount:
                insert_event(connection, job_id, State.FAILED, 1, reason)
            return bool(cursor.rowcount)

    def record_submitted(self, job_id: int, ref: str, launch: int | None = None) -> None:
        """Record the engine's reference of a job. After a power failure the engine is queried for it again, by the key.

        ``launch`` is the launch that was queried, if not the present one.
        """
        with self.transaction(relaxed=True) as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = ?, ref = ?, owner = '', reason = '', submitted = ?"
                " WHERE id = ? AND state IN (?, ?) AND launch = coalesce(?, launch)",
                (State.QUEUED, ref, time.time(), job_id, State.SUBMITTING, State.UNKNOWN, launch),
            )
            if cursor.rowcount:
                insert_event(connection, job_id, State.QUEUED, 1, f"reference in the engine: {ref}")

    def record_statuses(
        self, statuses: Mapping[int, Status], known_records: Mapping[int, JobRecord] | None = None
    ) -> None:
        """Record the statuses reported by engines; stale or unchanged ones have no effect.

        ``known_records`` are records read before: statuses that do not change them are skipped.
        """
        known_records = known_records or {}
        news = {
            number: status
            for number, status in statuses.items()
            if number not in known_records or is_news(known_records[number], status)
        }
        if not news:
            return
        with self.transaction() as connection:
            for number, status in news.items():
                record = self.get(number)  # another process may have been faster
                if number in known_records and known_records[number].launch != record.launch:
                    continue  # the answer is of an engine that no longer has the job
                if is_news(record, status):
                    apply_status(connection, record, status)

    def add_abandoned(self, record: JobRecord, refs: Collection[str]) -> None:
        """Record references of jobs of an abandoned launch that may still run: the broker of the fleet cancels them."""
        with self.transaction() as connection:
            connection.executemany(
                "INSERT INTO abandoned (job, connection, ref, key) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS"
                " (SELECT 1 FROM abandoned WHERE job = ?1 AND connection = ?2 AND ref = ?3 AND key = ?4)",
                [(record.id, record.connection, ref, record.engine_key) for ref in refs],
            )

    def cancel_held(self, job_id: int) -> bool:
        """Cancel a job that was not submitted; False if it was submitted meanwhile."""
        with self.transaction() as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = ?, reason = 'cancelled before it started', ended = ?"
                " WHERE id = ? AND state = ?",
                (State.CANCELLED, time.time(), job_id, State.HELD),
            )
            if cursor.rowcount:
                insert_event(connection, job_id, State.CANCELLED, 1, "cancelled before it started")
            return bool(cursor.rowcount)

    def disable_requeue(self, job_id: int, note: str) -> None:
        """Record that a job ends on its present engine: it is not submitted to another one."""
        with self.transaction() as connection:
            connection.execute("UPDATE jobs SET recalled = 0, retries = 0 WHERE id = ?", (job_id,))
            self.add_note(job_id, note)

    def add_note(self, job_id: int, note: str) -> None:
        """Add a line to a job's history."""
        record = self.get(job_id)
        with self.transaction() as connection:
            insert_event(connection, job_id, record.state, record.attempt, note)


def has_store(folder: Path) -> bool:
    """Whether a folder has a store; opening one would create it."""
    return (folder / "jobs.db").exists()


def open_default_store() -> Store:
    """The store of this user, opened once."""
    return _open_cached(locate_state_folder(), os.getpid())


@lru_cache(maxsize=8)
def _open_cached(folder: Path, process_id: int) -> Store:
    return Store(folder)
