"""What is known about a job, as values that are read from the store."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import dataclass

from ...errors import StoreError
from ..runtime.epochs import build_engine_key
from .database import require_checksum
from .states import State

__all__ = ["JobEvent", "JobRecord", "build_unreadable_error"]


@dataclass(frozen=True)
class JobRecord:
    """All that is known about one job. Times are seconds since 1970.

    ``spec``, ``placement``, ``submission`` and ``connection`` are JSON: enough to go on without the files of the user.
    Of a job that the broker has not placed yet the last three are empty.
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
    """Which start of it on its engine, from 1."""
    exit_code: int | None
    reason: str
    owner: str
    """The process that is submitting it."""
    recorded: float
    submitted: float | None
    started: float | None
    ended: float | None
    fleet: str = ""
    """The fleet whose broker looks after it; empty where none does."""
    tenant: str = ""
    priority: str = "normal"
    retries: int = 0
    """How often work that its machine lost is started again, here or elsewhere."""
    launch: int = 0
    """How often it was taken from one engine to be given to one anew."""
    earlier: int = 0
    """Starts before it came to the engine that has it now."""
    recalled: bool = False
    """Whether its engine was asked to give it back before it begins."""
    watts: float | None = None
    """What the part of the machines that it occupies draws at full power; None: nobody knows."""
    hourly: float | None = None
    """US dollars for an hour of that; None: nobody knows."""
    joules: float | None = 0.0
    """Energy of starts before the present one."""
    dollars: float | None = 0.0
    """Cost of starts before the present one."""
    units: float | None = None
    """What it counts in its tenant's share: accelerators, or nodes where it has none. None: nobody has it."""
    unit_seconds: float = 0.0
    """Of starts before the present one."""
    promised: float | None = None
    """US dollars that its present start may cost until its time limit; None: it has none, or no known price."""
    lease: int = 0
    """Counted up by its owner while it hands the job over: see :mod:`.leases`."""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> JobRecord:
        """From a row of the table, whose columns have the same names."""
        try:
            values = require_checksum(row)
            state = State(values["state"])
        except ValueError as error:
            raise StoreError(describe_damage(f"job {row['id']}", error)) from None
        return cls(**values | {"state": state, "recalled": bool(values["recalled"])})

    @property
    def engine_key(self) -> str:
        """The key its engine carries: another one for every launch."""
        return build_engine_key(self.key, self.launch)

    @property
    def total_attempts(self) -> int:
        """How often it was started, over all engines."""
        return self.earlier + self.attempt

    @property
    def location(self) -> str:
        """Where it is or was, as :class:`Placement` would say; read without it, because a list must come quickly."""
        if not self.placement or self.state is State.HELD:
            return f"fleet {self.fleet}"
        try:
            at = json.loads(self.placement)
            nodes, each, pool = at["nodes"], at["accelerators_per_node"], at["pool"]
        except (ValueError, TypeError, LookupError):  # a newer version wrote it
            return f"{self.cluster}: its placement cannot be read"
        several = nodes > 1
        what = f", {each} × {at.get('accelerator', 'accelerators')}{' each' if several else ''}" if each else ""
        level = at.get("near", {}).get("level")
        within = f", within one {level}" if level and several else ""
        return f"{self.cluster}: {nodes} node{'s' if several else ''} of pool {pool}{what}{within}"

    def compute_run_time(self, now: float | None = None) -> float:
        """How long its present start has been running, or ran."""
        if self.started is None:
            return 0.0
        return max(0.0, (self.ended or now or time.time()) - self.started)

    def compute_unit_seconds(self, now: float | None = None) -> float:
        """Accelerator-seconds (of a job without any: node-seconds) over all starts."""
        return self.unit_seconds + (self.units or 0.0) * self.compute_run_time(now)

    def compute_energy(self, now: float | None = None) -> float | None:
        """Joules over all starts, at full power; None where the power is not known."""
        return _compute_total(self.joules, self.watts, self.compute_run_time(now))

    def compute_cost(self, now: float | None = None) -> float | None:
        """US dollars over all starts; None where the price is not known."""
        return _compute_total(self.dollars, self.hourly, self.compute_run_time(now) / 3600)


def describe_damage(label: str, error: Exception) -> str:
    """What is said of a row that is not what was written."""
    return (
        f"{label} of the store is damaged ({error}); keep a copy, then supercloud store restore FILE: engines keep "
        "their jobs"
    )


def build_unreadable_error(record: JobRecord, error: Exception) -> StoreError:
    """The error of a job whose texts this version cannot read, though they are what was written."""
    said = " ".join(str(error).split())[:200]
    end = f", or supercloud cancel {record.id} ends it" if record.state is State.HELD else ""
    return StoreError(
        f"job {record.id} ({record.name}) of the store cannot be read, and stays {record.state}: {said}; "
        f"if a newer supercloud recorded it, update this one{end}"
    )


def _compute_total(earlier: float | None, rate: float | None, elapsed: float) -> float | None:
    if earlier is None or (rate is None and elapsed):
        return None
    return earlier + (rate or 0.0) * elapsed if rate is not None or earlier else None


@dataclass(frozen=True)
class JobEvent:
    """One step in the life of a job."""

    at: float
    state: State
    attempt: int
    note: str

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> JobEvent:
        """From a row of the table."""
        try:
            values = require_checksum(row)
            return cls(values["at"], State(values["state"]), values["attempt"], values["note"])
        except ValueError as error:
            raise StoreError(describe_damage(f"event {row['id']}", error)) from None
