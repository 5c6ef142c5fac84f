"""The job store: every job with its history, durably. Every step is recorded before it is taken."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from ...errors import InputError, StoreError, UnknownNameError
from .database import Database, locate_state_folder
from .presence import StoreLock
from .private_files import require_own_folder
from .processes import ProcessId
from .records import JobEvent, JobRecord
from .schema import MIGRATIONS
from .states import LIVE_STATES, State, can_follow
from .status import Status

__all__ = [
    "JobEvent",
    "RECALLED_BEFORE_START",
    "JobRecord",
    "RestoreInfo",
    "Store",
    "open_default_store",
    "can_continue",
    "has_store",
    "parse_records",
]

_MAX_ID = 2**63 - 1  # largest integer of SQLite
_ID_PATTERN = re.compile(r"[0-9]{1,18}")  # a job ID: below _MAX_ID, ASCII digits only

RECALLED_BEFORE_START = "recalled before it started"
"""The reason of a job that is held because it was recalled from its engine."""


@dataclass(frozen=True)
class RestoreInfo:
    """The store was restored from a backup: it lacks submissions made after the backup."""

    since: float
    """Time of the last event in the backup, in seconds since 1970."""
    last_job_id: int
    """The highest job ID in it."""


class Store:
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

    # -- reading -----------------------------------------------------------------------------------------------------

    def get(self, job_id: int) -> JobRecord:
        """The job with this ID; raises :class:`UnknownNameError` if there is none."""
        known = 0 < job_id <= _MAX_ID  # other integers are not valid in SQLite
        rows = self._database.read("SELECT * FROM jobs WHERE id = ?", (job_id,)) if known else []
        if not rows:
            raise UnknownNameError("job", str(job_id), [])
        return JobRecord.from_row(rows[0])

    def find_by_key(self, key: str) -> JobRecord | None:
        """The job with this idempotency key."""
        rows = self._database.read("SELECT * FROM jobs WHERE key = ?", (key,))
        return JobRecord.from_row(rows[0]) if rows else None

    def select(
        self,
        states: Collection[State] = tuple(State),
        limit: int = -1,
        *,
        tenant: str | None = None,
        name: str | None = None,
        damaged: list[StoreError] | None = None,
    ) -> list[JobRecord]:
        """Jobs in one of these states, newest first; of one tenant, or with one name.

        Errors of unreadable rows are added to ``damaged``; without it, the first is raised.
        """
        # literals in the order of the index over live jobs: only then SQLite recognises that it can use the index
        among = ", ".join(f"'{state}'" for state in State if state in states)
        terms = [f"state IN ({among})"] if len(set(states)) < len(State) else []
        filters = [(column, value) for column, value in (("tenant", tenant), ("name", name)) if value is not None]
        terms += [f"{column} = ?" for column, _ in filters]
        where = f"WHERE {' AND '.join(terms)}" if terms else ""
        values = (*(value for _, value in filters), min(limit, _MAX_ID))
        rows = self._database.read(f"SELECT * FROM jobs {where} ORDER BY id DESC LIMIT ?", values)
        return parse_records(rows, damaged)

    def select_by_id(self, job_ids: Collection[int], damaged: list[StoreError] | None = None) -> list[JobRecord]:
        """Jobs with these IDs; ``damaged`` as in :meth:`select`."""
        sql = "SELECT * FROM jobs WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
        return parse_records(self._database.read(sql, (json.dumps(list(job_ids)),)), damaged)

    def find_by_name(self, name: str, before_id: int = _MAX_ID) -> JobRecord | None:
        """The job with this ID, with this key, or the last with this name, among jobs with a lower ID."""
        for where, value in (
            ("id = ?", int(name) if _ID_PATTERN.fullmatch(name) else -1),
            ("key = ?", name),
            ("name = ?", name),
        ):
            sql = f"SELECT * FROM jobs WHERE {where} AND id < ? ORDER BY id DESC LIMIT 1"
            if rows := self._database.read(sql, (value, before_id)):
                return JobRecord.from_row(rows[0])
        return None

    def list_names(self, limit: int = 1000) -> list[str]:
        """Names, keys and IDs of the latest jobs."""
        rows = self._database.read("SELECT id, name, key FROM jobs ORDER BY id DESC LIMIT ?", (limit,))
        return [name for row in rows for name in (row["name"], row["key"], str(row["id"]))]

    def list_dependencies(self, job_id: int) -> list[int]:
        """The jobs that must complete before a job starts, if resolved."""
        rows = self._database.read("SELECT other FROM awaited WHERE job = ? ORDER BY other", (job_id,))
        return [int(row["other"]) for row in rows]

    def select_resubmitted(self, job_ids: Collection[int]) -> set[int]:
        """Those of the jobs whose submission was started more than once since they were last held."""
        sql = (
            "SELECT job FROM events AS begun WHERE job IN (SELECT value FROM json_each(?)) AND state = ? AND id > "
            "coalesce((SELECT max(id) FROM events WHERE job = begun.job AND state = ?), 0) GROUP BY job "
            "HAVING count(*) > 1"
        )
        rows = self._database.read(sql, (json.dumps(list(job_ids)), State.SUBMITTING, State.HELD))
        return {int(row["job"]) for row in rows}

    def find_restore(self) -> RestoreInfo | None:
        """The restores of this store from backups; None if there were none."""
        row = self._database.read("SELECT min(since) AS since, max(last) AS last FROM restores")[0]
        return None if row["since"] is None else RestoreInfo(row["since"], row["last"])

    def has_any(self, states: Collection[State]) -> bool:
        """Whether a job is in one of these states."""
        among = ", ".join(f"'{state}'" for state in State if state in states)
        return bool(self._database.read(f"SELECT 1 FROM jobs WHERE state IN ({among}) LIMIT 1"))

    def list_live(self, damaged: list[StoreError] | None = None) -> list[JobRecord]:
        """Jobs that have not ended, oldest first; ``damaged`` as in :meth:`select`."""
        return self.select(LIVE_STATES, damaged=damaged)[::-1]

    def compute_tenant_cost(self, tenant: str, since: float, now: float) -> float:
        """The cost of a tenant's jobs, where prices are known: of jobs that ended since ``since``, and of jobs that
        have not ended, including their reserved cost.
        """
        rows = self._database.read(
            "SELECT total(dollars) + total(max(iif(ended IS NULL, coalesce(promised, 0), 0),"
            " coalesce(hourly, 0) * max(0, coalesce(ended, ?) - coalesce(started, ?)) / 3600))"
            " FROM jobs WHERE tenant = ? AND (ended >= ? OR ended IS NULL) AND (hourly IS NOT NULL OR dollars > 0)",
            (now, now, tenant, since),
        )
        return float(rows[0][0])

    def list_events(self, job_id: int) -> list[JobEvent]:
        """The history of a job, in order."""
        rows = self._database.read("SELECT * FROM events WHERE job = ? ORDER BY id", (job_id,))
        return [JobEvent.from_row(row) for row in rows]

    # -- writing -----------------------------------------------------------------------------------------------------

    def record(
        self,
        *,
        key: str,
        name: str,
        spec: str,
        placement: str = "",
        submission: str = "",
        cluster: str = "",
        connection: str = "",
        engine: str = "",
        tenant: str = "",
        priority: str = "normal",
        retries: int = 0,
        watts: float | None = None,
        hourly: float | None = None,
        units: float | None = None,
        promised: float | None = None,
        fleet: str = "",
        is_held: bool = False,
        dependency_ids: Collection[int] = (),
    ) -> tuple[JobRecord, bool]:
        """Record a job as PENDING, or as HELD for the broker of its fleet; True if it is new.

        If the key exists already, the job with that key is returned.
        """
        with self.transaction() as database:
            if known := self.find_by_key(key):
                if known.spec != spec:
                    raise InputError(
                        f"key {key!r} is already used by job {known.id} with a different spec; "
                        "use another key, or submit the same job"
                    )
                return known, False
            row = {
                "key": key,
                "name": name,
                "spec": spec,
                "placement": placement,
                "submission": submission,
                "cluster": cluster,
                "connection": connection,
                "engine": engine,
                "tenant": tenant,
                "priority": priority,
                "retries": retries,
                "watts": watts,
                "hourly": hourly,
                "units": units,
                "promised": promised,
                "fleet": fleet,
                "state": State.HELD if is_held else State.PENDING,
                "recorded": time.time(),
            }
            cursor = database.execute(
                f"INSERT INTO jobs ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
            )
            number = int(cursor.lastrowid or 0)
            self._insert_event(database, number, State.HELD if is_held else State.PENDING, 1, "recorded")
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
                self._insert_event(connection, job_id, State.SUBMITTING, 1, "after a crash" if owner else "")
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
                self._insert_event(connection, job_id, State.HELD, 1, reason)
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
                self._insert_event(connection, job_id, State.QUEUED, 1, f"reference in the engine: {ref}")

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
            if number not in known_records or _is_news(known_records[number], status)
        }
        if not news:
            return
        with self.transaction() as connection:
            for number, status in news.items():
                record = self.get(number)  # another process may have been faster
                if number in known_records and known_records[number].launch != record.launch:
                    continue  # the answer is of an engine that no longer has the job
                if _is_news(record, status):
                    self._apply_status(connection, record, status)

    def _apply_status(self, connection: sqlite3.Connection, record: JobRecord, status: Status) -> None:
        if can_continue(record, status):
            self._hold_again(connection, record, status)
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
            self._insert_event(connection, record.id, status.state, attempt, status.reason)

    def _hold_again(self, connection: sqlite3.Connection, record: JobRecord, status: Status) -> None:
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
        self._insert_event(connection, record.id, State.HELD, record.attempt, f"{record.cluster}: {reason}")

    def _insert_event(self, connection: sqlite3.Connection, job_id: int, state: State, attempt: int, note: str) -> None:
        connection.execute(
            "INSERT INTO events (job, at, state, attempt, note) VALUES (?, ?, ?, ?, ?)",
            (job_id, time.time(), state, attempt, note),
        )

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
                self._insert_event(connection, job_id, State.CANCELLED, 1, "cancelled before it started")
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
            self._insert_event(connection, job_id, record.state, record.attempt, note)


def parse_records(rows: Sequence[sqlite3.Row], damaged: list[StoreError] | None) -> list[JobRecord]:
    """Records of rows; errors of unreadable ones are added to ``damaged``, if it is passed."""
    records = []
    for row in rows:
        try:
            records.append(JobRecord.from_row(row))
        except StoreError as error:
            if damaged is None:
                raise
            damaged.append(error)
    return records


def has_store(folder: Path) -> bool:
    """Whether a folder has a store; opening one would create it."""
    return (folder / "jobs.db").exists()


def open_default_store() -> Store:
    """The store of this user, opened once."""
    return _open_cached(locate_state_folder(), os.getpid())


@lru_cache(maxsize=8)
def _open_cached(folder: Path, process_id: int) -> Store:
    return Store(folder)


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


def _is_news(record: JobRecord, status: Status) -> bool:
    attempt = status.attempt or record.attempt
    if status.state is record.state and attempt == record.attempt:
        return not record.state.is_final and status.reason != record.reason
    return can_follow(record.state, status.state, record.attempt, attempt)
