"""Where a job goes: a pure decision over a plan, a cluster as it is now, or a fleet; with a reason for every refusal.

``why_not`` asks every pool; ``place`` takes the best that said yes. How a job lies in one pool is decided in
``candidate``, what is preferred in ``objective``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from ...catalog import Catalog
from ...catalog.reader import OVERLAY_VARIABLE
from ...plan.model.plan import Plan, PoolPlan
from ...spec import JobSpec
from ...spec.fleet import Policy
from ..arguments import check_job_and_place
from ..fleet.state import Cluster, Fleet
from .answer import Placement, Refusal
from .candidate import Candidate, fit
from .objective import scores, weights_of
from .steps.feasibility import Refused
from .suggestions import cured

__all__ = ["Placement", "Refusal", "place", "why_not"]

_KEPT = 8
_planned: list[Cluster] = []
"""The last plans that were placed on, with their domains; a plan is known by being the same object."""


def place(
    job: JobSpec, where: Plan | Cluster | Fleet, catalog: Catalog | None = None, now: float | None = None, *,
    advise: bool = True,
) -> Placement | tuple[Refusal, ...]:  # fmt: skip
    """The best placement, or the reason of every pool.

    Best is: no longer wait than the fleet's policy allows; the accelerator named first; the least weighted sum of
    price, carbon, wait, topology and fragmentation; then the one nearest to what was asked for (a job that is content
    with less leaves the better one free); the fewest nodes; the fewest accelerators left idle on them; the pool
    declared first. ``now`` (seconds since 1970) is when the job is submitted: when the cluster was looked at, else the
    present, unless it is said; with it said the answer depends on nothing else. Without ``advise`` a refusal says what
    cures its own reason, and nobody looks whether that is enough.
    """
    check_job_and_place(job, where, (Plan, Cluster, Fleet), "place takes a job and a plan, a cluster or a fleet")
    refused: list[tuple[Cluster, PoolPlan, Refused]] = []
    candidates: list[tuple[int, Candidate]] = []
    fleet = where if isinstance(where, Fleet) else None
    for order, (cluster, pool) in enumerate(_pools(where)):
        try:
            found = list(fit(job, cluster, pool, fleet, _catalog_of(cluster, catalog), _now(cluster, now)))
            candidates += [(order, candidate) for candidate in found]
        except Refused as why:
            refused.append((cluster, pool, why))
    if candidates:
        return _best(job, fleet, candidates)[1]
    if not advise:
        return tuple(Refusal(pool.name, why.reason, why.advice, cluster.plan.name if fleet else "")
                     for cluster, pool, why in refused)  # fmt: skip
    return tuple(_refusal(why, job, cluster, pool, fleet, catalog, now) for cluster, pool, why in refused)


def why_not(
    job: JobSpec, where: Plan | Cluster | Fleet, catalog: Catalog | None = None, now: float | None = None
) -> Mapping[str, Placement | Refusal]:
    """For every pool how the job would lie in it, or what forbids it; in a fleet pools are called cluster/pool."""
    check_job_and_place(job, where, (Plan, Cluster, Fleet), "why_not takes a job and a plan, a cluster or a fleet")
    answers: dict[str, Placement | Refusal] = {}
    fleet = where if isinstance(where, Fleet) else None
    for cluster, pool in _pools(where):
        name = f"{cluster.plan.name}/{pool.name}" if fleet else pool.name
        try:
            ways = list(fit(job, cluster, pool, fleet, _catalog_of(cluster, catalog), _now(cluster, now)))
            answers[name] = _best(job, fleet, [(0, way) for way in ways])[1]
        except Refused as why:
            answers[name] = _refusal(why, job, cluster, pool, fleet, catalog, now)
    return answers


def _best(job: JobSpec, fleet: Fleet | None, found: list[tuple[int, Candidate]]) -> tuple[float, Placement]:
    """The candidate that comes first, with what it was chosen by."""
    policy = fleet.spec.policy if fleet else Policy()
    limit = policy.max_wait.to("s") if policy.max_wait else None
    sums = scores([candidate.terms for _, candidate in found], weights_of(job, policy))

    def rank(index: int) -> tuple[float, ...]:
        order, candidate = found[index]
        at, terms = candidate.placement, candidate.terms
        late = limit is not None and (terms.wait is None or terms.wait > limit)
        return (late, candidate.wanted, round(sums[index], 2), candidate.distance, at.nodes, candidate.idle,
                terms.topology, order, at.begin)  # fmt: skip

    first = min(range(len(found)), key=rank)
    return sums[first], replace(found[first][1].placement, score=round(sums[first], 6))


def _pools(where: Plan | Cluster | Fleet) -> Iterator[tuple[Cluster, PoolPlan]]:
    clusters = where.clusters if isinstance(where, Fleet) else (where if isinstance(where, Cluster) else _known(where),)
    return ((cluster, pool) for cluster in clusters for pool in cluster.plan.pools)


def _known(plan: Plan) -> Cluster:
    """The cluster of a plan: its domains are worked out once."""
    for cluster in _planned:
        if cluster.plan is plan:
            return cluster
    cluster = Cluster.of_plan(plan)
    _planned[:] = [cluster, *_planned[: _KEPT - 1]]
    return cluster


def _refusal(refused: Refused, job: JobSpec, cluster: Cluster, pool: PoolPlan, fleet: Fleet | None,
             catalog: Catalog | None, now: float | None) -> Refusal:  # fmt: skip
    def look(other: JobSpec) -> None:
        for _ in fit(other, cluster, pool, fleet, _catalog_of(cluster, catalog), _now(cluster, now)):
            break

    remedy, change = cured(job, refused, look)
    return Refusal(pool.name, refused.reason, remedy, cluster.plan.name if fleet else "", change)


def _now(cluster: Cluster, now: float | None) -> float:
    return now if now is not None else cluster.taken_at or time.time()


def _catalog_of(cluster: Cluster, catalog: Catalog | None) -> Catalog:
    return catalog or cluster.catalog or _catalog(os.environ.get(OVERLAY_VARIABLE, ""))


@lru_cache(maxsize=4)
def _catalog(overlay: str) -> Catalog:  # reads each accelerator once, however many jobs are placed
    return Catalog.default()
