"""The durable job queue of the local engine, processed by its agent."""

from __future__ import annotations

import json
import shlex
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....errors import EngineError
from ...store.database import Database
from ...store.private_files import create_private_folder
from ...store.processes import read_boot_id
from ...store.states import State
from ...store.status import Status
from ..array_status import aggregate_array_status
from ..submission import JobIdentity, Submission
from .runs import RUNS

__all__ = ["QueuedJob", "Queue", "Task", "parse_ref"]

_MIGRATIONS = (
    """
    CREATE TABLE tasks (
        ref INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        submission TEXT NOT NULL,
        priority INTEGER NOT NULL,
        state TEXT NOT NULL,
        attempt INTEGER NOT NULL DEFAULT 1,
        slots TEXT NOT NULL DEFAULT '[]',
        simulated INTEGER NOT NULL DEFAULT 0,
        boot TEXT NOT NULL DEFAULT '',
        cancelled INTEGER NOT NULL DEFAULT 0,
        verdict TEXT NOT NULL DEFAULT '',
        exit_code INTEGER,
        reason TEXT NOT NULL DEFAULT '',
        queued REAL NOT NULL,
        started REAL,
        ended REAL
    );
    CREATE INDEX waiting ON tasks (priority DESC, ref) WHERE state = 'QUEUED';
    CREATE INDEX running ON tasks (ref) WHERE state = 'RUNNING'
    """,
    # dependencies of jobs: their refs, until all have completed
    """
    ALTER TABLE tasks ADD COLUMN after TEXT NOT NULL DEFAULT '[]';
    DROP INDEX waiting;
    CREATE INDEX waiting ON tasks (priority DESC, ref) WHERE state = 'QUEUED' AND after = '[]';
    CREATE INDEX blocked ON tasks (ref) WHERE state = 'QUEUED' AND after != '[]'
    """,
    # earliest start of jobs, in seconds since 1970
    "ALTER TABLE tasks ADD COLUMN begin REAL NOT NULL DEFAULT 0",
    # start of the present attempt by the monotonic clock of its boot: limits and usage do not depend on the date
    "ALTER TABLE tasks ADD COLUMN ticks REAL",
    # the same of the submission, for deadlines; jobs of an earlier release have the date only
    """
    ALTER TABLE tasks ADD COLUMN queued_ticks REAL;
    ALTER TABLE tasks ADD COLUMN queued_boot TEXT NOT NULL DEFAULT ''
    """,
)

_JOB_KEY_SQL = "substr(tasks.key, 1, instr(tasks.key || '[', '[') - 1)"  # the key of a job, also of a task of an array
_AWAITED_SQL = "SELECT a.value FROM tasks t, json_each(t.after) a WHERE t.state = 'QUEUED'"
_ENDED_SQL = (
    f"SELECT {_JOB_KEY_SQL} AS job FROM tasks GROUP BY job"
    f" HAVING count(*) = count(ended) AND max(ended) < ? AND max(ref IN ({_AWAITED_SQL})) = 0"
)
_REPLACE_HINT = (
    "move the file away: the local engine then has no jobs, and those of this file become UNKNOWN; their processes may "
    "still run, and supercloud store forget ends such jobs in the store"
)
_SIMULATED_REASON = "its accelerators are simulated: this machine has none"


@dataclass(frozen=True)
class Task:
    """One job of the local queue."""

    ref: int
    key: str
    submission: Submission
    state: State
    attempt: int
    slots: tuple[int, ...]
    """Accelerators leased to it."""
    is_simulated: bool
    """Whether they are simulated."""
    boot_id: str
    """The boot of the machine during which this attempt was started."""
    is_cancelled: bool
    termination_state: str
    """Its final state after the termination of its processes, if it was terminated."""
    exit_code: int | None
    reason: str
    started: float | None
    ended: float | None
    queued: float = 0.0
    started_monotonic: float | None = None
    """Start of this attempt, by the monotonic clock of its boot."""
    queued_monotonic: float | None = None
    """Its submission, by the monotonic clock of the boot ``queued_boot_id``."""
    queued_boot_id: str = ""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> Task:
        """Create it from a row of the table."""
        return cls(
            row["ref"],
            row["key"],
            Submission.from_json(row["submission"]),
            State(row["state"]),
            row["attempt"],
            tuple(json.loads(row["slots"])),
            bool(row["simulated"]),
            row["boot"],
            bool(row["cancelled"]),
            row["verdict"],
            row["exit_code"],
            row["reason"],
            row["started"],
            row["ended"],
            row["queued"],
            row["ticks"],
            row["queued_ticks"],
            row["queued_boot"],
        )

    @property
    def array_index(self) -> int | None:
        """Its index in its array; None if it is not part of one."""
        _, bracket, rest = self.key.partition("[")
        return int(rest[:-1]) if bracket else None

    def get_number(self, name: str) -> float:
        """A numeric setting of its submission; 0 if it is missing."""
        return float(self.submission.settings.get(name) or 0)


@dataclass(frozen=True)
class QueuedJob:
    """The entry of a key in the queue."""

    ref: str
    submission: Submission
    recorded: float
    """When its job was recorded, in seconds since 1970; 0 if it was not recorded."""


def parse_ref(ref: str) -> list[int]:
    """The IDs of the tasks of a ref: one, or all of an array."""
    first, _, count = ref.partition("/")
    return list(range(int(first), int(first) + int(count or 1))) if first.isdigit() and (count or "1").isdigit() else []


def _parse_status(row: sqlite3.Row) -> Status:
    """The status in a row; UNKNOWN if the row is damaged, as that is a problem of its job only."""
    try:
        return Status(
            State(row["state"]), row["attempt"], row["reason"], row["exit_code"], row["started"], row["ended"]
        )
    except (EngineError, ValueError, TypeError) as error:
        return Status(State.UNKNOWN, reason=f"its entry in the queue cannot be read: {error}")


def _format_command(submission: Submission) -> str:
    return repr(shlex.join(submission.argv)[:80])


class Queue:
    """The queue, in ``queue.db`` of the local engine's folder."""

    def __init__(self, folder: Path):
        create_private_folder(folder)
        create_private_folder(folder / RUNS)
        self._database = Database(folder / "queue.db", _MIGRATIONS, "the queue of the local engine", _REPLACE_HINT)
        self.transaction = self._database.transaction

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def require_integrity(self) -> None:
        """Check the whole file for damage; raises :class:`StoreError`."""
        self._database.require_integrity()

    # -- for submitters ----------------------------------------------------------------------------------------

    def add(self, submission: Submission) -> str:
        """Add a job, an array once per task; for an existing job the ref is returned.

        Raises :class:`EngineError` if another job has the key.
        """
        count = int(submission.settings.get("array") or 0)
        keys = [f"{submission.key}[{index}]" for index in range(count)] if count else [submission.key]
        text, priority = submission.to_json(), submission.settings.get("priority", 0)
        after = json.dumps(
            [number for ref in str(submission.settings.get("after") or "").split() for number in parse_ref(ref)]
        )
        now, later = time.time(), float(submission.settings.get("begin") or 0)
        begin, reason = (now + later, "its start time has not come") if later else (0.0, "")
        submitted = (time.monotonic(), read_boot_id())
        with self.transaction() as connection:
            self.require_same_submission(submission)
            connection.executemany(
                "INSERT OR IGNORE INTO tasks (key, submission, priority, state, queued, after, begin, reason,"
                " queued_ticks, queued_boot) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(key, text, priority, State.QUEUED, now, after, begin, reason, *submitted) for key in keys],
            )
            row = connection.execute("SELECT ref FROM tasks WHERE key = ?", (keys[0],)).fetchone()
            return f"{row['ref']}/{count}" if count else str(row["ref"])

    def find(self, key: str) -> QueuedJob | None:
        """The job of a key; None if there is none."""
        rows = self._database.read("SELECT ref, submission FROM tasks WHERE key IN (?, ?)", (key, f"{key}[0]"))
        if not rows:
            return None
        submission = Submission.from_json(rows[0]["submission"])
        count = submission.settings.get("array")
        return QueuedJob(f"{rows[0]['ref']}/{count}" if count else str(rows[0]["ref"]), submission, submission.recorded)

    def require_same_submission(self, submission: Submission) -> None:
        """Raise :class:`EngineError` if the key of a submission belongs to another job."""
        known = self.find(submission.key)
        if known and known.submission.digest != submission.digest:
            raise EngineError(
                f"key {submission.key!r} is already used by job {known.ref} of this machine, submitted for another "
                f"job or with other arguments ({_format_command(known.submission)}, not "
                f"{_format_command(submission)}); use another key"
            )

    def is_other_job(self, ref: str, identity: JobIdentity) -> bool:
        """Whether the numbers of a ref are of another job here: a store that was restored in another folder, or
        whose queue was moved away, has refs of another queue.
        """
        numbers = parse_ref(ref) or [0]
        rows = self._database.read(
            # of each job its first task: all tasks of an array have the same submission
            f"SELECT min(ref), submission FROM tasks WHERE ref BETWEEN ? AND ? GROUP BY {_JOB_KEY_SQL}",
            (numbers[0], numbers[-1]),
        )
        return any(identity.is_other_job(Submission.from_json(row["submission"]).identity) for row in rows)

    def find_digests(self, refs: Sequence[str]) -> dict[str, str]:
        """For each job the digest of its spec; jobs without one are omitted."""
        first = {numbers[0]: ref for ref in refs if (numbers := parse_ref(ref))}
        rows = self._database.read(
            "SELECT ref, submission FROM tasks WHERE ref IN (SELECT value FROM json_each(?))",
            (json.dumps(list(first)),),
        )
        found = {first[row["ref"]]: Submission.from_json(row["submission"]).spec for row in rows}
        return {ref: digest for ref, digest in found.items() if digest}

    def read_statuses(self, refs: Sequence[str]) -> dict[str, Status]:
        """The statuses of jobs. A queue that could not be written is reopened, as its agent may be waiting for it."""
        self._database.reopen()
        wanted = {ref: parse_ref(ref) for ref in refs}
        rows = self._database.read(
            "SELECT ref, state, attempt, reason, exit_code, started, ended FROM tasks"
            " WHERE ref IN (SELECT value FROM json_each(?))",
            (json.dumps([number for numbers in wanted.values() for number in numbers]),),
        )
        found = {row["ref"]: _parse_status(row) for row in rows}
        answers = {
            ref: aggregate_array_status([found[number] for number in numbers if number in found], len(numbers))
            for ref, numbers in wanted.items()
        }
        return {ref: status for ref, status in answers.items() if status is not None}

    def cancel(self, ref: str) -> None:
        """Request the cancellation of a job."""
        with self.transaction() as connection:
            connection.executemany(
                "UPDATE tasks SET cancelled = 1 WHERE ref = ? AND ended IS NULL", [(one,) for one in parse_ref(ref)]
            )

    def recall(self, ref: str) -> None:
        """Remove a job from the queue, unless any of its tasks has started."""
        numbers = json.dumps(parse_ref(ref))
        with self.transaction() as connection:
            connection.execute(
                "UPDATE tasks SET state = ?, reason = 'recalled before it started', ended = ?"
                " WHERE ref IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM tasks"
                " WHERE ref IN (SELECT value FROM json_each(?)) AND state != 'QUEUED')",
                (State.CANCELLED, time.time(), numbers, numbers),
            )

    def list_ended_keys(self, ended_before: float) -> list[str]:
        """The keys of jobs that ended before a date, arrays with all of their tasks, unless another job depends on
        them.
        """
        return [row["job"] for row in self._database.read(_ENDED_SQL, (ended_before,))]

    def delete_ended(self, keys: Sequence[str], ended_before: float) -> None:
        """Delete those of the jobs that :meth:`list_ended_keys` still lists."""
        with self.transaction() as connection:
            connection.execute(
                f"DELETE FROM tasks WHERE {_JOB_KEY_SQL} IN (SELECT job FROM ({_ENDED_SQL})) AND"
                f" {_JOB_KEY_SQL} IN (SELECT value FROM json_each(?))",
                (ended_before, json.dumps(list(keys))),
            )

    # -- for the agent -----------------------------------------------------------------------------------------------

    def list_running(self) -> list[Task]:
        """Jobs that were started and have not ended."""
        return self._select_tasks("state = 'RUNNING' ORDER BY ref")

    def list_waiting(self, limit: int) -> list[Task]:
        """The next jobs in starting order, including those to be cancelled."""
        due = f"state = 'QUEUED' AND after = '[]' AND begin <= {time.time():f}"
        return self._select_tasks(f"{due} ORDER BY priority DESC, ref LIMIT {limit:d}")

    def release_dependents(self) -> None:
        """Release jobs whose dependencies have completed; jobs with a failed dependency fail."""
        rows = self._database.read(
            "SELECT t.ref, sum(d.ended IS NULL) AS open, max(CASE WHEN d.ended IS NOT NULL AND d.state != 'COMPLETED'"
            " THEN d.ref END) AS bad FROM tasks t, json_each(t.after) a LEFT JOIN tasks d ON d.ref = a.value"
            " WHERE t.state = 'QUEUED' AND t.after != '[]' GROUP BY t.ref"
        )
        ready = [row for row in rows if row["bad"] is not None or not row["open"]]
        if not ready:
            return
        with self.transaction() as connection:
            for row in ready:
                if row["bad"] is not None:
                    self.record_end(row["ref"], State.FAILED, "a dependency did not complete", None)
                else:
                    connection.execute("UPDATE tasks SET after = '[]' WHERE ref = ?", (row["ref"],))

    def list_cancelled_waiting(self) -> list[Task]:
        """Jobs that were cancelled before they started."""
        return self._select_tasks("state = 'QUEUED' AND cancelled = 1")

    def is_empty(self) -> bool:
        """Whether no job waits or runs."""
        return not self._database.read("SELECT 1 FROM tasks WHERE state IN ('QUEUED', 'RUNNING') LIMIT 1")

    def _select_tasks(self, condition: str) -> list[Task]:
        tasks = []
        for row in self._database.read(f"SELECT * FROM tasks WHERE {condition}"):
            try:
                tasks.append(Task.from_row(row))
            except (ValueError, TypeError, LookupError) as error:  # damaged: other jobs continue
                if row["state"] == State.QUEUED:
                    self.record_end(
                        row["ref"],
                        State.FAILED,
                        f"its entry in the queue cannot be read ({error!r:.80}); submit it again with another key",
                        None,
                    )
        return tasks

    def record_start(self, ref: int, slots: Sequence[int], is_simulated: bool) -> None:
        """Record that a job is about to be started on these accelerators."""
        with self.transaction() as connection:
            reason = _SIMULATED_REASON if is_simulated else ""
            connection.execute(
                "UPDATE tasks SET state = ?, slots = ?, simulated = ?, boot = ?, reason = ?, started = ?, ticks = ?"
                " WHERE ref = ? AND state = 'QUEUED'",
                (
                    State.RUNNING,
                    json.dumps(slots),
                    is_simulated,
                    read_boot_id(),
                    reason,
                    time.time(),
                    time.monotonic(),
                    ref,
                ),
            )

    def record_termination(self, ref: int, state: State, reason: str, exit_code: int | None = None) -> None:
        """Record how a job will end, before its processes are terminated."""
        with self.transaction() as connection:
            connection.execute(
                "UPDATE tasks SET verdict = ?, reason = ?, exit_code = ? WHERE ref = ? AND verdict = ''",
                (state, reason, exit_code, ref),
            )

    def record_end(self, ref: int, state: State, reason: str, exit_code: int | None) -> None:
        """Record how a job ended."""
        with self.transaction() as connection:
            connection.execute(
                "UPDATE tasks SET state = ?, reason = ?, exit_code = ?, slots = '[]',"
                " ended = iif(boot = ? AND started IS NOT NULL, started + max(0, ? - ticks), ?) WHERE ref = ?",
                (state, reason, exit_code, read_boot_id(), time.monotonic(), time.time(), ref),
            )

    def requeue(self, ref: int, reason: str) -> None:
        """Requeue a job."""
        with self.transaction() as connection:
            connection.execute(
                "UPDATE tasks SET state = ?, attempt = attempt + 1, slots = '[]', verdict = '', exit_code = NULL,"
                " reason = ?, started = NULL, ticks = NULL WHERE ref = ?",
                (State.QUEUED, reason, ref),
            )
