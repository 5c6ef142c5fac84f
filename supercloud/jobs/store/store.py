"""What was asked for, durably: every job with its history. Every step is recorded before it is taken."""

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

_MAX_ID = 2**63 - 1  # number that SQLite keeps
_ID_PATTERN = re.compile(r"[0-9]{1,18}")  # of a job: below _LARGEST, and no digit but those that int() means

RECALLED_BEFORE_START = "it was given back before it began"
"""Why a job is held that its engine was asked for."""


@dataclass(frozen=True)
class RestoreInfo:
    """A copy was put in the place of the store: what engines were told after it was made, the store does not know."""

    since: float
    """The last that the copy knew happened, in seconds since 1970."""
    last_job_id: int
    """The highest number of a job in it."""


class Store:
    """The jobs of one state folder. Opens on construction; close it, or use it in a ``with``."""

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
        """Close the file; records that were read stay usable."""
        self._database.close()
        self._presence.close()

    @property
    def write_error(self) -> StoreError | None:
        """Why nothing can be written (the disk is full); None where it can."""
        return self._database.write_error

    def reopen(self) -> None:
        """Open the file anew where it could not be written; raises :class:`StoreError` where it cannot be read."""
        self._database.reopen()

    def require_integrity(self) -> None:
        """Look through the whole file for damage; raises :class:`StoreError`."""
        self._database.require_integrity()

    def copy_to(self, path: Path) -> None:
        """Copy all of it into another file, as it is at one moment."""
        self._database.copy_to(path)

    def compact(self) -> None:
        """Give the space of what was deleted back to the disk."""
        self._database.compact()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    # -- reading -----------------------------------------------------------------------------------------------------

    def get(self, job_id: int) -> JobRecord:
        """The job with this id; raises :class:`UnknownNameError` where there is none."""
        known = 0 < job_id <= _MAX_ID  # SQLite takes no other number
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
        """Jobs in one of these states, the newest first; of one tenant, or of one name.

        Of rows that cannot be read ``damaged`` gets the errors; without it, the first is raised.
        """
        # literally, and in the order of the index over live jobs: SQLite sees only then that it may use it
        among = ", ".join(f"'{state}'" for state in State if state in states)
        terms = [f"state IN ({among})"] if len(set(states)) < len(State) else []
        given = [(column, value) for column, value in (("tenant", tenant), ("name", name)) if value is not None]
        terms += [f"{column} = ?" for column, _ in given]
        where = f"WHERE {' AND '.join(terms)}" if terms else ""
        values = (*(value for _, value in given), min(limit, _MAX_ID))
        rows = self._database.read(f"SELECT * FROM jobs {where} ORDER BY id DESC LIMIT ?", values)
        return parse_records(rows, damaged)

    def select_by_id(self, job_ids: Collection[int], damaged: list[StoreError] | None = None) -> list[JobRecord]:
        """Jobs with these ids; ``damaged`` as in :meth:`select`."""
        sql = "SELECT * FROM jobs WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
        return parse_records(self._database.read(sql, (json.dumps(list(job_ids)),)), damaged)

    def find_by_name(self, name: str, before_id: int = _MAX_ID) -> JobRecord | None:
        """The job a person means: by number, by key, or the last one of this name; of those with a number below."""
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
        """What the latest jobs are called: their names, keys and numbers."""
        rows = self._database.read("SELECT id, name, key FROM jobs ORDER BY id DESC LIMIT ?", (limit,))
        return [name for row in rows for name in (row["name"], row["key"], str(row["id"]))]

    def list_dependencies(self, job_id: int) -> list[int]:
        """The jobs that must have completed before a job begins, where that has been decided."""
        rows = self._database.read("SELECT other FROM awaited WHERE job = ? ORDER BY other", (job_id,))
        return [int(row["other"]) for row in rows]

    def select_resubmitted(self, job_ids: Collection[int]) -> set[int]:
        """Those of the jobs that were begun to be submitted more than once since they were last held."""
        sql = (
            "SELECT job FROM events AS begun WHERE job IN (SELECT value FROM json_each(?)) AND state = ? AND id > "
            "coalesce((SELECT max(id) FROM events WHERE job = begun.job AND state = ?), 0) GROUP BY job "
            "HAVING count(*) > 1"
        )
        rows = self._database.read(sql, (json.dumps(list(job_ids)), State.SUBMITTING, State.HELD))
        return {int(row["job"]) for row in rows}

    def find_restore(self) -> RestoreInfo | None:
        """What is known of copies that were put in the place of this store; None where none was."""
        row = self._database.read("SELECT min(since) AS since, max(last) AS last FROM restores")[0]
        return None if row["since"] is None else RestoreInfo(row["since"], row["last"])

    def has_any(self, states: Collection[State]) -> bool:
        """Whether a job is in one of these states."""
        among = ", ".join(f"'{state}'" for state in State if state in states)
        return bool(self._database.read(f"SELECT 1 FROM jobs WHERE state IN ({among}) LIMIT 1"))

    def list_live(self, damaged: list[StoreError] | None = None) -> list[JobRecord]:
        """Jobs that have not ended, the oldest first; ``damaged`` as in :meth:`select`."""
        return self.select(LIVE_STATES, damaged=damaged)[::-1]

    def compute_tenant_cost(self, tenant: str, since: float, now: float) -> float:
        """What the jobs of a tenant have cost, so far as prices are known: those that ended since, and what has not
        ended, with all that it is promised.
        """
        rows = self._database.read(
            "SELECT total(dollars) + total(max(iif(ended IS NULL, coalesce(promised, 0), 0),"
            " coalesce(hourly, 0) * max(0, coalesce(ended, ?) - coalesce(started, ?)) / 3600))"
            " FROM jobs WHERE tenant = ? AND (ended >= ? OR ended IS NULL) AND (hourly IS NOT NULL OR dollars > 0)",
            (now, now, tenant, since),
        )
        return float(rows[0][0])

    def list_events(self, job_id: int) -> list[JobEvent]:
        """What happened to a job, in order."""
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
        """Write a job down as PENDING, or as HELD for the broker of its fleet; True if it is new.

        With a key that is there already it is the job of that key.
        """
        with self.transaction() as database:
            if known := self.find_by_key(key):
                if known.spec != spec:
                    raise InputError(
                        f"the key {key!r} belongs to job {known.id}, which asks for something else; "
                        "take another key, or submit the same job"
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
        """Write down which jobs must have completed before a job begins."""
        with self.transaction() as database:
            database.executemany(
                "INSERT OR IGNORE INTO awaited (job, other) VALUES (?, ?)",
                [(job_id, other) for other in dependency_ids],
            )

    def begin_submission(self, job_id: int, owner: str = "", lease: int | None = None) -> bool:
        """Write down that this process is about to submit a job; False when another one does or did.

        ``owner`` is the process known to have begun and to have ended, ``lease`` what was last seen of its lease.
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
        """Write down that this process no longer submits a job, whatever became of it: others may look after it."""
        with self.transaction() as connection:
            connection.execute("UPDATE jobs SET owner = '' WHERE id = ?", (job_id,))

    def explain_submission(self, number: int, owner: str, reason: str) -> None:
        """Write down why a job is still being submitted, unless it no longer is, or by another process."""
        with self.transaction(relaxed=True) as connection:
            connection.execute(
                "UPDATE jobs SET reason = ? WHERE id = ? AND state = ? AND owner = ?",
                (reason, number, State.SUBMITTING, owner),
            )

    def requeue(self, job_id: int, reason: str) -> bool:
        """Give a job that its engine refused back to its broker; False where it has none."""
        with self.transaction() as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = ?, owner = '', reason = ? WHERE id = ? AND state = ? AND fleet != ''",
                (State.HELD, reason, job_id, State.SUBMITTING),
            )
            if cursor.rowcount:
                self._insert_event(connection, job_id, State.HELD, 1, reason)
            return bool(cursor.rowcount)

    def record_submitted(self, job_id: int, ref: str, launch: int | None = None) -> None:
        """Write down what the engine calls a job. After a power cut the engine is asked for it again, by the key.

        ``launch`` is the one that was asked about, where that was not just now.
        """
        with self.transaction(relaxed=True) as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = ?, ref = ?, owner = '', reason = '', submitted = ?"
                " WHERE id = ? AND state IN (?, ?) AND launch = coalesce(?, launch)",
                (State.QUEUED, ref, time.time(), job_id, State.SUBMITTING, State.UNKNOWN, launch),
            )
            if cursor.rowcount:
                self._insert_event(connection, job_id, State.QUEUED, 1, f"the engine calls it {ref}")

    def record_statuses(
        self, statuses: Mapping[int, Status], known_records: Mapping[int, JobRecord] | None = None
    ) -> None:
        """Write down what engines say about jobs; answers that are stale or say nothing new change nothing.

        ``known_records`` are records read before: what is no news to them is not looked at again.
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
                    continue  # the answer is about an engine that has the job no more
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
        """Back to the broker, to be started under a later epoch: what it was on its engine is over."""
        ended = replace(record, ended=status.ended or time.time())
        begun = record.started is not None
        reason = RECALLED_BEFORE_START if record.recalled else f"{status.reason}; it is started again"
        # given back while it waited: the start that never came does not count, those before it do
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
        """Write down what an engine calls jobs of a start that was given up and that may still run: whoever looks after
        the fleet ends them.
        """
        with self.transaction() as connection:
            connection.executemany(
                "INSERT INTO abandoned (job, connection, ref, key) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS"
                " (SELECT 1 FROM abandoned WHERE job = ?1 AND connection = ?2 AND ref = ?3 AND key = ?4)",
                [(record.id, record.connection, ref, record.engine_key) for ref in refs],
            )

    def cancel_held(self, job_id: int) -> bool:
        """End a job that no engine has; False when one has got it meanwhile."""
        with self.transaction() as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = ?, reason = 'cancelled before it began', ended = ? WHERE id = ? AND state = ?",
                (State.CANCELLED, time.time(), job_id, State.HELD),
            )
            if cursor.rowcount:
                self._insert_event(connection, job_id, State.CANCELLED, 1, "cancelled before it began")
            return bool(cursor.rowcount)

    def disable_requeue(self, job_id: int, note: str) -> None:
        """Write down that a job shall end where it is: it is given to no other engine."""
        with self.transaction() as connection:
            connection.execute("UPDATE jobs SET recalled = 0, retries = 0 WHERE id = ?", (job_id,))
            self.add_note(job_id, note)

    def add_note(self, job_id: int, note: str) -> None:
        """Add a line to a job's history."""
        record = self.get(job_id)
        with self.transaction() as connection:
            self._insert_event(connection, job_id, record.state, record.attempt, note)


def parse_records(rows: Sequence[sqlite3.Row], damaged: list[StoreError] | None) -> list[JobRecord]:
    """What the rows say; of those that cannot be read ``damaged`` gets the errors, where it is given."""
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
    """Whether a folder has a store; opening one makes it."""
    return (folder / "jobs.db").exists()


def open_default_store() -> Store:
    """The store of this user, opened once."""
    return _open_cached(locate_state_folder(), os.getpid())


@lru_cache(maxsize=8)
def _open_cached(folder: Path, process_id: int) -> Store:
    return Store(folder)


def can_continue(record: JobRecord, status: Status) -> bool:
    """Whether the end of a job on its engine is not its end: it was given back, or its machine was lost under it, and
    its broker starts it again.
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
