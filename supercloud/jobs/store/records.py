"""Job records, as values that are read from the store."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import dataclass

from ...errors import StoreError
from ..runtime.epochs import build_engine_key
from .database import require_checksum
from .states import State

__all__ = ["Assignment", "JobEvent", "JobRecord", "NewJob", "build_unreadable_error"]


@dataclass(frozen=True)
class JobRecord:
    """The record of one job. Times are seconds since 1970.

    ``spec``, ``placement``, ``submission`` and ``connection`` are JSON: sufficient to continue without the files of the
    user. For a job that the broker has not placed yet the last three are empty.
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
    """Reference of the job in its engine."""
    state: State
    attempt: int
    """Number of its attempt on its engine, from 1."""
    exit_code: int | None
    reason: str
    owner: str
    """The process that is submitting it."""
    recorded: float
    submitted: float | None
    started: float | None
    ended: float | None
    fleet: str = ""
    """The fleet whose broker manages it; empty if none does."""
    tenant: str = ""
    priority: str = "normal"
    retries: int = 0
    """How often it is restarted after the loss of a machine, here or elsewhere."""
    launch: int = 0
    """How often it was moved from one engine to another launch."""
    earlier: int = 0
    """Attempts before its present launch."""
    recalled: bool = False
    """Whether a recall was requested from its engine."""
    watts: float | None = None
    """Power drawn at full load by the part of the machines that it occupies; None: unknown."""
    hourly: float | None = None
    """US dollars per hour; None: unknown."""
    joules: float | None = 0.0
    """Energy of attempts before the present one."""
    dollars: float | None = 0.0
    """Cost of attempts before the present one."""
    units: float | None = None
    """Units that count against its tenant's share: accelerators, or nodes if it has none. None: not submitted."""
    unit_seconds: float = 0.0
    """Unit-seconds of attempts before the present one."""
    promised: float | None = None
    """US dollars reserved for its present attempt until its time limit; None: no time limit, or price unknown."""
    lease: int = 0
    """Incremented by its owner during the submission: see :mod:`.leases`."""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> JobRecord:
        """Create it from a row of the table, whose columns have the same names.

        Args:
            row: The row.

        Raises:
            StoreError: If the row is damaged.
        """
        try:
            values = require_checksum(row)
            state = State(values["state"])
        except ValueError as error:
            raise StoreError(describe_damage(f"job {row['id']}", error)) from None
        return cls(**values | {"state": state, "recalled": bool(values["recalled"])})

    @property
    def engine_key(self) -> str:
        """The key that its engine carries, different for every launch."""
        return build_engine_key(self.key, self.launch)

    @property
    def total_attempts(self) -> int:
        """Number of attempts over all engines."""
        return self.earlier + self.attempt

    @property
    def location(self) -> str:
        """Its location in the format of :class:`Placement`, formatted without that class, as lists must be fast."""
        if not self.placement or self.state is State.HELD:
            return f"fleet {self.fleet}"
        try:
            at = json.loads(self.placement)
            nodes, each, pool = at["nodes"], at["accelerators_per_node"], at["pool"]
        except (ValueError, TypeError, LookupError):  # a newer version wrote it
            return f"{self.cluster}: its placement cannot be read"
        several = nodes > 1
        what = f", {each} × {at.get('accelerator', 'accelerators')}{' each' if several else ''}" if each else ""
        level = (at.get("locality") or at.get("near") or {}).get("level")  # an earlier version wrote near
        within = f", within one {level}" if level and several else ""
        return f"{self.cluster}: {nodes} node{'s' if several else ''} of pool {pool}{what}{within}"

    def compute_run_time(self, now: float | None = None) -> float:
        """Seconds of its present attempt.

        Args:
            now: The present in seconds since 1970; by default that of the clock.
        """
        if self.started is None:
            return 0.0
        return max(0.0, (self.ended or now or time.time()) - self.started)

    def compute_unit_seconds(self, now: float | None = None) -> float:
        """Accelerator-seconds (node-seconds for a job without accelerators) over all attempts.

        Args:
            now: The present in seconds since 1970; by default that of the clock.
        """
        return self.unit_seconds + (self.units or 0.0) * self.compute_run_time(now)

    def compute_energy(self, now: float | None = None) -> float | None:
        """Joules over all attempts, at full power; None if the power is unknown.

        Args:
            now: The present in seconds since 1970; by default that of the clock.
        """
        return _compute_total(self.joules, self.watts, self.compute_run_time(now))

    def compute_cost(self, now: float | None = None) -> float | None:
        """US dollars over all attempts; None if the price is unknown.

        Args:
            now: The present in seconds since 1970; by default that of the clock.
        """
        return _compute_total(self.dollars, self.hourly, self.compute_run_time(now) / 3600)


def describe_damage(label: str, error: Exception) -> str:
    """The message for a row that is damaged."""
    return (
        f"{label} of the store is damaged ({error}); keep a copy, then supercloud store restore FILE: engines keep "
        "their jobs"
    )


def build_unreadable_error(record: JobRecord, error: Exception) -> StoreError:
    """The error of a job whose undamaged documents this version cannot read."""
    text = " ".join(str(error).split())[:200]
    end = f", or cancel the job: supercloud cancel {record.id}" if record.state is State.HELD else ""
    return StoreError(
        f"job {record.id} ({record.name}) of the store cannot be read and remains {record.state}: {text}; "
        f"if a newer supercloud recorded it, update this one{end}"
    )


def _compute_total(earlier: float | None, rate: float | None, elapsed: float) -> float | None:
    if earlier is None or (rate is None and elapsed):
        return None
    return earlier + (rate or 0.0) * elapsed if rate is not None or earlier else None


@dataclass(frozen=True)
class Assignment:
    """Where a job is submitted, as its record has it: empty for a job that the broker has not placed yet.

    Fields have the names and meanings of those of :class:`JobRecord`.
    """

    cluster: str = ""
    connection: str = ""
    engine: str = ""
    placement: str = ""
    submission: str = ""
    watts: float | None = None
    hourly: float | None = None
    units: float | None = None
    promised: float | None = None


@dataclass(frozen=True)
class NewJob:
    """A job to be recorded. Fields have the names and meanings of those of :class:`JobRecord`."""

    key: str
    name: str
    spec: str
    tenant: str = ""
    priority: str = "normal"
    retries: int = 0
    fleet: str = ""
    is_held: bool = False
    """Whether it waits for the broker of its fleet, instead of being submitted by this process."""
    assignment: Assignment = Assignment()


@dataclass(frozen=True)
class JobEvent:
    """One state change of a job."""

    at: float
    state: State
    attempt: int
    note: str

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> JobEvent:
        """Create it from a row of the table.

        Raises :class:`StoreError` if the row is damaged.
        """
        try:
            values = require_checksum(row)
            return cls(values["at"], State(values["state"]), values["attempt"], values["note"])
        except ValueError as error:
            raise StoreError(describe_damage(f"event {row['id']}", error)) from None
