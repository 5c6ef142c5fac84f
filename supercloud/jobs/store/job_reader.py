"""Queries of the job store."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ...errors import StoreError, UnknownNameError
from .records import JobEvent, JobRecord
from .states import LIVE_STATES, State

__all__ = ["JobReader", "RestoreInfo", "parse_records"]

# The time of the first event of the present run of UNKNOWN events: requests to cancel the job add later ones.
_LOSS_SQL = (
    "SELECT min(at) FROM events WHERE job = jobs.id AND jobs.state = 'UNKNOWN' AND id >"
    " (SELECT coalesce(max(id), 0) FROM events WHERE job = jobs.id AND state != 'UNKNOWN')"
)
_MAX_ID = 2**63 - 1  # largest integer of SQLite
_ID_PATTERN = re.compile(r"[0-9]{1,18}")  # a job ID: below _MAX_ID, ASCII digits only


@dataclass(frozen=True)
class RestoreInfo:
    """The store was restored from a backup: it lacks submissions made after the backup."""

    since: float
    """Time of the last event in the backup, in seconds since 1970."""
    last_job_id: int
    """The highest job ID in it."""


class JobReader:
    """The part of a store that reads."""

    read: Callable[..., list[sqlite3.Row]]
    """:meth:`Database.read` of the file."""

    def get(self, job_id: int) -> JobRecord:
        """The job with this ID; raises :class:`UnknownNameError` if there is none."""
        known = 0 < job_id <= _MAX_ID  # other integers are not valid in SQLite
        rows = self.read("SELECT * FROM jobs WHERE id = ?", (job_id,)) if known else []
        if not rows:
            raise UnknownNameError("job", str(job_id), [], "supercloud jobs lists the jobs of this state folder")
        return JobRecord.from_row(rows[0])

    def find_by_key(self, key: str) -> JobRecord | None:
        """The job with this idempotency key."""
        rows = self.read("SELECT * FROM jobs WHERE key = ?", (key,))
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
        # literals in the order of the index over live jobs: only then SQLite recognizes that it can use the index
        among = ", ".join(f"'{state}'" for state in State if state in states)
        terms = [f"state IN ({among})"] if len(set(states)) < len(State) else []
        filters = [(column, value) for column, value in (("tenant", tenant), ("name", name)) if value is not None]
        terms += [f"{column} = ?" for column, _ in filters]
        where = f"WHERE {' AND '.join(terms)}" if terms else ""
        values = (*(value for _, value in filters), min(limit, _MAX_ID))
        rows = self.read(f"SELECT * FROM jobs {where} ORDER BY id DESC LIMIT ?", values)
        return parse_records(rows, damaged)

    def select_by_id(self, job_ids: Collection[int], damaged: list[StoreError] | None = None) -> list[JobRecord]:
        """Jobs with these IDs; ``damaged`` as in :meth:`select`."""
        sql = "SELECT * FROM jobs WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
        return parse_records(self.read(sql, (json.dumps(list(job_ids)),)), damaged)

    def find_by_name(self, name: str, before_id: int = _MAX_ID) -> JobRecord | None:
        """The job with this ID, with this key, or the last with this name, among jobs with a lower ID."""
        for where, value in (
            ("id = ?", int(name) if _ID_PATTERN.fullmatch(name) else -1),
            ("key = ?", name),
            ("name = ?", name),
        ):
            sql = f"SELECT * FROM jobs WHERE {where} AND id < ? ORDER BY id DESC LIMIT 1"
            if rows := self.read(sql, (value, before_id)):
                return JobRecord.from_row(rows[0])
        return None

    def list_names(self, limit: int = 1000) -> list[str]:
        """Names, keys and IDs of the latest jobs."""
        rows = self.read("SELECT id, name, key FROM jobs ORDER BY id DESC LIMIT ?", (limit,))
        return [name for row in rows for name in (row["name"], row["key"], str(row["id"]))]

    def list_dependencies(self, job_id: int) -> list[int]:
        """The jobs that must complete before a job starts, if resolved."""
        rows = self.read("SELECT other FROM awaited WHERE job = ? ORDER BY other", (job_id,))
        return [int(row["other"]) for row in rows]

    def select_resubmitted(self, job_ids: Collection[int]) -> set[int]:
        """Those of the jobs whose submission was started more than once since they were last held."""
        sql = (
            "SELECT job FROM events AS begun WHERE job IN (SELECT value FROM json_each(?)) AND state = ? AND id > "
            "coalesce((SELECT max(id) FROM events WHERE job = begun.job AND state = ?), 0) GROUP BY job "
            "HAVING count(*) > 1"
        )
        rows = self.read(sql, (json.dumps(list(job_ids)), State.SUBMITTING, State.HELD))
        return {int(row["job"]) for row in rows}

    def find_restore(self) -> RestoreInfo | None:
        """The restores of this store from backups; None if there were none."""
        row = self.read("SELECT min(since) AS since, max(last) AS last FROM restores")[0]
        return None if row["since"] is None else RestoreInfo(row["since"], row["last"])

    def has_any(self, states: Collection[State]) -> bool:
        """Whether a job is in one of these states."""
        among = ", ".join(f"'{state}'" for state in State if state in states)
        return bool(self.read(f"SELECT 1 FROM jobs WHERE state IN ({among}) LIMIT 1"))

    def list_live(self, damaged: list[StoreError] | None = None) -> list[JobRecord]:
        """Jobs that have not ended, oldest first; ``damaged`` as in :meth:`select`."""
        return self.select(LIVE_STATES, damaged=damaged)[::-1]

    def compute_tenant_cost(self, tenant: str, since: float, now: float) -> float:
        """The cost of a tenant's jobs, where prices are known: of jobs that ended since ``since``, and of jobs that
        have not ended, including their reserved cost. A job that its engine no longer has counts until the engine first
        did not have it; later events, such as a request to cancel it, do not prolong it.
        """
        rows = self.read(
            "WITH counted AS (SELECT *, CASE WHEN ended IS NULL AND state = 'UNKNOWN'"
            f" THEN ({_LOSS_SQL}) ELSE ended END AS until"
            " FROM jobs WHERE tenant = ? AND (ended >= ? OR ended IS NULL) AND (hourly IS NOT NULL OR dollars > 0))"
            " SELECT total(dollars) + total(max(iif(until IS NULL, coalesce(promised, 0), 0),"
            " coalesce(hourly, 0) * max(0, coalesce(until, ?) - coalesce(started, ?)) / 3600))"
            " FROM counted WHERE until >= ? OR until IS NULL",
            (tenant, since, now, now, since),
        )
        return float(rows[0][0])

    def find_loss(self, job_id: int) -> float | None:
        """When the engine first did not report a job whose state is UNKNOWN; None in other states."""
        rows = self.read(f"SELECT ({_LOSS_SQL}) FROM jobs WHERE id = ?", (job_id,))
        return float(rows[0][0]) if rows and rows[0][0] is not None else None

    def list_events(self, job_id: int) -> list[JobEvent]:
        """The history of a job, in order."""
        rows = self.read("SELECT * FROM events WHERE job = ? ORDER BY id", (job_id,))
        return [JobEvent.from_row(row) for row in rows]


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
