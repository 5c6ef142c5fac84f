"""Placement of a job: a pure decision over a plan, the state of a cluster, or a fleet, with a reason for every refusal.

``why_not`` tries every pool; ``place`` selects the best that fits. Placement within one pool is decided in
``candidate``, preferences in ``objective``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from ...catalog import Catalog
from ...catalog.reader import OVERLAY_VARIABLE
from ...plan.model.plan import Plan
from ...spec import JobSpec
from ...spec.fleet import FleetPolicy
from ..fleet.state import Cluster, Fleet
from .answer import Placement, Refusal
from .arguments import require_job_and_destination
from .candidate import Candidate, list_candidates
from .context import PlacementContext
from .objective import build_weights, compute_scores
from .refusal import StepRefusal
from .suggestions import suggest_changes

__all__ = ["Placement", "Refusal", "place", "why_not"]

_MAX_PLANNED_CLUSTERS = 8
_planned_clusters: list[Cluster] = []
"""The last plans that were placed on, with their domains; plans are compared by object identity."""


def place(
    job: JobSpec,
    destination: Plan | Cluster | Fleet,
    catalog: Catalog | None = None,
    now: float | None = None,
    *,
    with_suggestions: bool = True,
) -> Placement | tuple[Refusal, ...]:
    """The best placement, or the refusals of all pools.

    Candidates are compared in this order: a wait within the limit of the fleet's policy; the accelerator type listed
    first; the lowest weighted sum of price, carbon, wait, topology and fragmentation; the accelerator nearest to the
    requested one (so that better ones stay free); the fewest nodes; the fewest idle accelerators on them; the pool
    declared first.

    Args:
        job: The job.
        destination: A plan, a cluster as it is now, or a fleet.
        catalog: Facts, instead of those of the cluster.
        now: Time of submission in seconds since 1970; by default the time of the observation of the cluster, else the
            present. With it the result depends on nothing else.
        with_suggestions: Whether refusals have changes that are enough for the job to fit. Without, a refusal has the
            fix of its own reason only, and it is not checked whether that is enough.

    Raises:
        InputError: If an argument has a wrong type.
    """
    require_job_and_destination(
        job, destination, (Plan, Cluster, Fleet), "place takes a job and a plan, a cluster or a fleet"
    )
    refused: list[tuple[PlacementContext, StepRefusal]] = []
    candidates: list[tuple[int, Candidate]] = []
    fleet = destination if isinstance(destination, Fleet) else None
    for order, context in enumerate(_iter_contexts(job, destination, catalog, now)):
        found = list_candidates(context)
        if isinstance(found, StepRefusal):
            refused.append((context, found))
        else:
            candidates += [(order, candidate) for candidate in found]
    if candidates:
        return _select_best(job, fleet, candidates)[1]
    if not with_suggestions:
        return tuple(
            Refusal(context.pool.name, why.reason, why.advice, context.plan.name if fleet else "")
            for context, why in refused
        )
    return tuple(_build_refusal(why, context) for context, why in refused)


def why_not(
    job: JobSpec, destination: Plan | Cluster | Fleet, catalog: Catalog | None = None, now: float | None = None
) -> Mapping[str, Placement | Refusal]:
    """For every pool the placement of the job, or the refusal; in a fleet pools are named cluster/pool.

    Args:
        job: The job.
        destination: A plan, a cluster as it is now, or a fleet.
        catalog: As for :func:`place`.
        now: As for :func:`place`.

    Raises:
        InputError: If an argument has a wrong type.
    """
    require_job_and_destination(
        job, destination, (Plan, Cluster, Fleet), "why_not takes a job and a plan, a cluster or a fleet"
    )
    answers: dict[str, Placement | Refusal] = {}
    fleet = destination if isinstance(destination, Fleet) else None
    for context in _iter_contexts(job, destination, catalog, now):
        name = f"{context.plan.name}/{context.pool.name}" if fleet else context.pool.name
        found = list_candidates(context)
        if isinstance(found, StepRefusal):
            answers[name] = _build_refusal(found, context)
        else:
            answers[name] = _select_best(job, fleet, [(0, candidate) for candidate in found])[1]
    return answers


def _select_best(job: JobSpec, fleet: Fleet | None, candidates: list[tuple[int, Candidate]]) -> tuple[float, Placement]:
    """The best candidate, with the value it was selected by."""
    policy = fleet.spec.policy if fleet else FleetPolicy()
    limit = policy.max_wait.to("s") if policy.max_wait else None
    sums = compute_scores([candidate.terms for _, candidate in candidates], build_weights(job, policy))

    def compute_rank(index: int) -> tuple[float, ...]:
        order, candidate = candidates[index]
        at, terms = candidate.placement, candidate.terms
        late = limit is not None and (terms.wait is None or terms.wait > limit)
        return (
            late,
            candidate.preference,
            round(sums[index], 2),
            candidate.steps_above,
            at.nodes,
            candidate.idle_accelerators,
            terms.topology,
            order,
            at.begin,
        )

    first = min(range(len(candidates)), key=compute_rank)
    return sums[first], replace(candidates[first][1].placement, score=round(sums[first], 6))


def _iter_contexts(
    job: JobSpec, destination: Plan | Cluster | Fleet, catalog: Catalog | None, now: float | None
) -> Iterator[PlacementContext]:
    """The pools of a destination, in the order in which they are declared."""
    fleet = destination if isinstance(destination, Fleet) else None
    clusters = (
        destination.clusters
        if isinstance(destination, Fleet)
        else (destination if isinstance(destination, Cluster) else _get_planned_cluster(destination),)
    )
    for cluster in clusters:
        for pool in cluster.plan.pools:
            yield PlacementContext(
                job, cluster, pool, fleet, _select_catalog(cluster, catalog), _get_placement_time(cluster, now)
            )


def _get_planned_cluster(plan: Plan) -> Cluster:
    """The cluster of a plan: its domains are computed once."""
    for cluster in _planned_clusters:
        if cluster.plan is plan:
            return cluster
    cluster = Cluster.from_plan(plan)
    _planned_clusters[:] = [cluster, *_planned_clusters[: _MAX_PLANNED_CLUSTERS - 1]]
    return cluster


def _build_refusal(refusal: StepRefusal, context: PlacementContext) -> Refusal:
    """The refusal with the changes that are enough for the job to fit."""

    def try_placement(changed_job: JobSpec) -> StepRefusal | None:
        found = list_candidates(replace(context, job=changed_job))
        return found if isinstance(found, StepRefusal) else None

    suggestion, change = suggest_changes(context.job, refusal, try_placement)
    cluster = context.plan.name if context.fleet else ""
    return Refusal(context.pool.name, refusal.reason, suggestion, cluster, change)


def _get_placement_time(cluster: Cluster, now: float | None) -> float:
    return now if now is not None else cluster.observed_at or time.time()


def _select_catalog(cluster: Cluster, catalog: Catalog | None) -> Catalog:
    return catalog or cluster.catalog or _load_default_catalog(os.environ.get(OVERLAY_VARIABLE, ""))


@lru_cache(maxsize=4)
def _load_default_catalog(overlay: str) -> Catalog:  # reads each accelerator once for all jobs
    return Catalog.load_default()
