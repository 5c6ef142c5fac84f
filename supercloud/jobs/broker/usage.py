"""Decayed usage of tenants for fair shares: halved with every half-life, as in Slurm's multifactor priority.

A tenant's usage is the accelerators it held, weighted with 2^(-age / half-life) and scaled so that holding n of them
forever is a usage of n.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..store.records import JobRecord
from ..store.states import FINAL_STATES
from ..store.store import Store

__all__ = ["Usage"]

_MAX_HALF_LIVES = 20
"""Half-lives after which usage is dropped, as its weight is less than a millionth."""
_FINAL_STATES_SQL = ", ".join(f"'{state}'" for state in sorted(FINAL_STATES))
_COLUMNS = "j.tenant, j.units, j.unit_seconds, j.started, j.ended"


class Usage:
    """Sums over the jobs of a store; each job that has ended is read once."""

    def __init__(self, store: Store, half_life: float):
        self._store, self._half_life = store, half_life
        self._sums: dict[str, float] = {}
        self._updated = 0.0
        self._last_event: int | None = None

    def compute_usage(self, live_jobs: Iterable[JobRecord], now: float) -> dict[str, float]:
        """By tenant; ``live_jobs`` are the jobs that have not ended."""
        self._decay(now)
        if self._last_event is None:
            # both in one query, so that a job that ends meanwhile is counted once
            sql = (
                f"SELECT e.upto, {_COLUMNS} FROM (SELECT coalesce(max(id), 0) AS upto FROM events) e"
                " LEFT JOIN jobs j ON j.tenant != '' AND j.units IS NOT NULL AND j.ended IS NOT NULL"
                " AND j.ended >= ?"
            )
            rows = self._store.read(sql, (now - _MAX_HALF_LIVES * self._half_life,))
        else:
            sql = (
                f"SELECT e.id AS upto, {_COLUMNS} FROM events e JOIN jobs j ON j.id = e.job AND e.state = j.state"
                f" WHERE e.id > ? AND e.state IN ({_FINAL_STATES_SQL}) AND j.tenant != '' ORDER BY e.id"
            )
            rows = self._store.read(sql, (self._last_event,))
        for row in rows:
            self._last_event = max(self._last_event or 0, row["upto"])
            if row["tenant"]:
                self._add(
                    self._sums, row["tenant"], row["units"], row["unit_seconds"], row["started"], row["ended"], now
                )
        sums = dict(self._sums)
        for record in live_jobs:
            if record.tenant:
                self._add(sums, record.tenant, record.units, record.unit_seconds, record.started, now, now)
        return sums

    def _decay(self, now: float) -> None:
        left = self._compute_weight(now - self._updated)
        self._sums = {tenant: use * left for tenant, use in self._sums.items()}
        self._updated = now

    def _add(
        self,
        sums: dict[str, float],
        tenant: str,
        units: float | None,
        unit_seconds: float,
        started: float | None,
        ended: float,
        now: float,
    ) -> None:
        use = unit_seconds * math.log(2) / self._half_life * self._compute_weight(now - ended)
        if started is not None and started < ended:
            use += (units or 0.0) * (self._compute_weight(now - ended) - self._compute_weight(now - started))
        sums[tenant] = sums.get(tenant, 0.0) + use

    def _compute_weight(self, age: float) -> float:
        return math.exp2(-min(max(0.0, age) / self._half_life, 1000.0))
