"""What was asked for, durably: every job with its history. Every step is recorded before it is taken."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import InputError, UnknownName
from .database import Database, state_folder
from .processes import ProcessId
from .states import LIVE, State, may_follow
from .submission import Status

__all__ = ["Event", "JobRecord", "Store"]

# A new version of the schema is one more text; the ones before never change.
_MIGRATIONS = (
    """
    CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        spec TEXT NOT NULL,
        placement TEXT NOT NULL,
        submission TEXT NOT NULL,
        cluster TEXT NOT NULL,
        connection TEXT NOT NULL,
        engine TEXT NOT NULL,
        ref TEXT,
        state TEXT NOT NULL,
        attempt INTEGER NOT NULL DEFAULT 1,
        exit_code INTEGER,
        reason TEXT NOT NULL DEFAULT '',
        owner TEXT NOT NULL DEFAULT '',
        recorded REAL NOT NULL,
        submitted REAL,
        started REAL,
        ended REAL
    );
    CREATE INDEX live_jobs ON jobs (state) WHERE state IN
        ('PENDING', 'SUBMITTING', 'QUEUED', 'RUNNING', 'UNKNOWN');
    CREATE TABLE events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job INTEGER NOT NULL REFERENCES jobs (id),
        at REAL NOT NULL,
        state TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        note TEXT NOT NULL
    );
    CREATE INDEX events_of_job ON events (job)
    """,
)


@dataclass(frozen=True)
class JobRecord:
    """All that is known about one job. Times are seconds since 1970.

    ``spec``, ``placement``, ``submission`` and ``connection`` are JSON: enough to go on without the files of the user.
    """

    id: int
    key: str
    name: str
    spec: str
    placement: str
    submission: str
    cluster: str
    connection: str
    engine: str
    ref: str | None
    """What the engine calls it."""
    state: State
    attempt: int
    exit_code: int | None
    reason: str
    owner: str
    """The process that is submitting it."""
    recorded: float
    submitted: float | None
    started: float | None
    ended: float | None

    @classmethod
    def of_row(cls, row: sqlite3.Row) -> JobRecord:
        """From a row of the table, whose columns have the same names."""
        values = {name: row[name] for name in row.keys()}  # noqa: SIM118
        return cls(**values | {"state": State(values["state"])})


@dataclass(frozen=True)
class Event:
    """One step in the life of a job."""

    at: float
    state: State
    attempt: int
    note: str


class Store:
    """The jobs of one state folder. Opens on construction; close it, or use it in a ``with``."""

    def __init__(self, folder: Path | None = None):
        self.folder = (folder or state_folder()).absolute()
        self._database = Database(self.folder / "jobs.db", _MIGRATIONS)
        self.writing = self._database.writing

    def close(self) -> None:
        """Close the file; records that were read stay usable."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    # -- reading -----------------------------------------------------------------------------------------------------

    def get(self, number: int) -> JobRecord:
        """The job with this id."""
        rows = self._database.read("SELECT * FROM jobs WHERE id = ?", (number,))
        if not rows:
            raise UnknownName("job", str(number), [])
        return JobRecord.of_row(rows[0])

    def by_key(self, key: str) -> JobRecord | None:
        """The job with this idempotency key."""
        rows = self._database.read("SELECT * FROM jobs WHERE key = ?", (key,))
        return JobRecord.of_row(rows[0]) if rows else None

    def select(self, states: Collection[State] = tuple(State), limit: int = -1) -> list[JobRecord]:
        """Jobs in one of these states, the newest first."""
        # literally, and in the order of the index over live jobs: SQLite sees only then that it may use it
        among = ", ".join(f"'{state}'" for state in State if state in states)
        where = f"WHERE state IN ({among})" if len(set(states)) < len(State) else ""
        rows = self._database.read(f"SELECT * FROM jobs {where} ORDER BY id DESC LIMIT ?", (limit,))
        return [JobRecord.of_row(row) for row in rows]

    def live(self) -> list[JobRecord]:
        """Jobs that have not ended, the oldest first."""
        return self.select(LIVE)[::-1]

    def history(self, number: int) -> list[Event]:
        """What happened to a job, in order."""
        rows = self._database.read("SELECT at, state, attempt, note FROM events WHERE job = ? ORDER BY id", (number,))
        return [Event(row["at"], State(row["state"]), row["attempt"], row["note"]) for row in rows]

    # -- writing -----------------------------------------------------------------------------------------------------

    def record(
        self, *, key: str, name: str, spec: str, placement: str, submission: str, cluster: str, connection: str,
        engine: str,
    ) -> tuple[JobRecord, bool]:  # fmt: skip
        """Write a job down as PENDING; with a key that is there already, the job of that key. True if it is new."""
        with self.writing() as database:
            if known := self.by_key(key):
                if known.spec != spec:
                    raise InputError(f"the key {key!r} belongs to job {known.id}, which asks for something else; "
                                     "take another key, or submit the same job")  # fmt: skip
                return known, False
            cursor = database.execute(
                "INSERT INTO jobs (key, name, spec, placement, submission, cluster, connection, engine, state,"
                " recorded) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (key, name, spec, placement, submission, cluster, connection, engine, State.PENDING, time.time()),
            )
            number = int(cursor.lastrowid or 0)
            self._note(database, number, State.PENDING, 1, "recorded")
            return self.get(number), True

    def begin(self, number: int, owner: str = "") -> bool:
        """Write down that this process is about to submit a job; False when another one does or did.

        ``owner`` is the process known to have begun and died.
        """
        with self.writing() as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = ?, owner = ? WHERE id = ? AND owner = ? AND state IN (?, ?)",
                (State.SUBMITTING, str(ProcessId.own()), number, owner, State.PENDING, State.SUBMITTING),
            )
            if cursor.rowcount:
                self._note(connection, number, State.SUBMITTING, 1, "after a crash" if owner else "")
            return bool(cursor.rowcount)

    def leave(self, number: int) -> None:
        """Write down that this process no longer submits a job, whatever became of it: others may look after it."""
        with self.writing() as connection:
            connection.execute("UPDATE jobs SET owner = '' WHERE id = ?", (number,))

    def submitted(self, number: int, ref: str) -> None:
        """Write down what the engine calls a job. After a power cut the engine is asked for it again, by the key."""
        with self.writing(soon=True) as connection:
            cursor = connection.execute(
                "UPDATE jobs SET state = ?, ref = ?, owner = '', submitted = ? WHERE id = ? AND state IN (?, ?)",
                (State.QUEUED, ref, time.time(), number, State.SUBMITTING, State.UNKNOWN),
            )
            if cursor.rowcount:
                self._note(connection, number, State.QUEUED, 1, f"the engine calls it {ref}")

    def observe(self, answers: Mapping[int, Status], known: Mapping[int, JobRecord] | None = None) -> None:
        """Write down what engines say about jobs; answers that are stale or say nothing new change nothing.

        ``known`` are records read before: what is no news to them is not looked at again.
        """
        known = known or {}
        news = {number: status for number, status in answers.items()
                if number not in known or _is_news(known[number], status)}  # fmt: skip
        if not news:
            return
        with self.writing() as connection:
            for number, status in news.items():
                record = self.get(number)
                if _is_news(record, status):  # another process may have been faster
                    self._apply(connection, record, status)

    def _apply(self, connection: sqlite3.Connection, record: JobRecord, status: Status) -> None:
        attempt = status.attempt or record.attempt
        began_again = attempt > record.attempt
        started = status.started or (None if began_again else record.started)
        ended = (status.ended or time.time()) if status.state.is_final else None
        connection.execute(
            "UPDATE jobs SET state = ?, attempt = ?, exit_code = ?, reason = ?, owner = '', started = ?, ended = ?"
            " WHERE id = ?",
            (status.state, attempt, status.exit_code, status.reason, started, ended, record.id),
        )
        if status.state is not record.state or began_again:
            self._note(connection, record.id, status.state, attempt, status.reason)

    def _note(self, connection: sqlite3.Connection, number: int, state: State, attempt: int, note: str) -> None:
        connection.execute(
            "INSERT INTO events (job, at, state, attempt, note) VALUES (?, ?, ?, ?, ?)",
            (number, time.time(), state, attempt, note),
        )

    def note(self, number: int, text: str) -> None:
        """Add a line to a job's history."""
        record = self.get(number)
        with self.writing() as connection:
            self._note(connection, number, record.state, record.attempt, text)


def _is_news(record: JobRecord, status: Status) -> bool:
    attempt = status.attempt or record.attempt
    if status.state is record.state and attempt == record.attempt:
        return not record.state.is_final and status.reason != record.reason
    return may_follow(record.state, status.state, record.attempt, attempt)
