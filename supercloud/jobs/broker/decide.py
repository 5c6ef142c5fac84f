"""The next actions of the broker: a pure decision over the current fleet and the waiting jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...spec import JobSpec
from ..fleet.state import UNRESPONSIVE_REASON, Cluster, Fleet
from ..placement.place import Placement, Refusal, place
from ..placement.spending import add_spending, compute_reserved_cost
from ..store.records import JobRecord
from .capacity import allocate, mark_pool_unavailable, select_clusters
from .limits import AllocationsByTenant, add_allocation, find_exceeded_limit

__all__ = ["RECENTLY_RECALLED", "Hold", "Move", "Start", "decide", "find_free_placement", "rebalance"]

_MAX_UNSCHEDULED_JOBS = 64  # consecutive jobs without a placement, after which the others wait for the next cycle


RECENTLY_RECALLED = "the job was recalled from it recently"


@dataclass(frozen=True)
class Start:
    """Submit a held job to the engine of a cluster."""

    record: JobRecord
    placement: Placement


@dataclass(frozen=True)
class Hold:
    """Keep the job held, with a reason."""

    record: JobRecord
    reason: str


@dataclass(frozen=True)
class Move:
    """Recall a waiting job, as another placement is free for it."""

    record: JobRecord
    placement: Placement


def decide(
    fleet: Fleet,
    waiting: Sequence[JobRecord],
    specs: Mapping[int, JobSpec],
    now: float,
    excluded_clusters: Mapping[int, Mapping[str, str]] | None = None,
    allocations: AllocationsByTenant | None = None,
    unresponsive: Sequence[Cluster] = (),
) -> list[Start | Hold]:
    """For each job, in fair-share order, its placement now, or why it has none.

    A job takes its best placement if that is free. Otherwise it waits for it up to ``max_wait`` of the fleet's policy
    (not at all if unset), then takes the best free one; this is how jobs burst into a cloud. The nodes that it waits
    for are reserved, or a large job would wait forever. ``allocations`` are the allocations of tenants: a job beyond
    its tenant's limits on one cluster uses another, or waits without a reservation. ``excluded_clusters`` are the
    clusters that a job temporarily avoids, with the reason. ``unresponsive`` are the clusters missing in ``fleet``,
    because they do not respond or because of their ``unavailable_reason``: it is reported for a job that fits only
    there.
    """
    actions: list[Start | Hold] = []
    allocations = allocations or {}
    patience = fleet.spec.policy.max_wait.to("s") if fleet.spec.policy.max_wait else 0.0
    unscheduled = 0
    for record in waiting:
        if unscheduled >= _MAX_UNSCHEDULED_JOBS:
            actions.append(Hold(record, "earlier jobs wait for the same nodes"))
            continue
        excluded = (excluded_clusters or {}).get(record.id, {})
        allowed = [cluster.plan.name for cluster in fleet.clusters if cluster.plan.name not in excluded]
        found = _select_placement(
            specs[record.id],
            record,
            select_clusters(fleet, allowed),
            now,
            allocations,
            now - record.recorded >= patience,
        )
        if isinstance(found, Placement):
            actions.append(Start(record, found))
            fleet = add_spending(
                allocate(fleet, found), record.tenant, compute_reserved_cost(specs[record.id], found) or 0.0
            )
            allocations = add_allocation(allocations, record.tenant, found, found.cluster)
            unscheduled = 0
            continue
        reason, reserved = found
        if not reason:
            unavailable = _list_unavailable_clusters(fleet, excluded, unresponsive)
            reason = _explain_no_placement(specs[record.id], select_clusters(fleet, allowed), unavailable, now)
        actions.append(Hold(record, reason))
        fleet = allocate(fleet, reserved) if reserved else fleet
        unscheduled += 1
    return actions


def _select_placement(
    job: JobSpec, record: JobRecord, fleet: Fleet, now: float, allocations: AllocationsByTenant, is_wait_over: bool
) -> Placement | tuple[str, Placement | None]:
    """The placement of a job; or why it has none, and which it waits for. No reason: no cluster fits now."""
    best: Placement | None = None
    reasons: list[str] = []
    for answer in _iter_placements(job, fleet, now):
        if not isinstance(answer, Placement):
            break
        if limit := find_exceeded_limit(fleet, allocations, record.tenant, answer):
            reasons.append(limit)
        elif answer.fits_now:
            return answer
        else:
            best = best or answer
            if not is_wait_over:
                break
    if best is not None:
        return f"no free capacity: it waits for {best} on {best.cluster}", best
    return (reasons[0] if reasons else ""), None


def _list_unavailable_clusters(
    fleet: Fleet, excluded: Mapping[str, str], unresponsive: Sequence[Cluster]
) -> list[Cluster]:
    """The clusters that a job cannot use now, each with the reason."""
    silent = [
        cluster if cluster.unavailable_reason else replace(cluster, unavailable_reason=UNRESPONSIVE_REASON)
        for cluster in unresponsive
    ]
    return silent + [
        replace(cluster, unavailable_reason=excluded[cluster.plan.name], excluded_until_fixed=False)
        for cluster in fleet.clusters
        if cluster.plan.name in excluded
    ]


def _explain_no_placement(job: JobSpec, fleet: Fleet, excluded_clusters: Sequence[Cluster], now: float) -> str:
    """Why no cluster fits a job now: first of all that a cluster where it fits is unavailable, then the refusals of
    clusters that it may use.
    """
    answer = place(job, replace(fleet, clusters=(*excluded_clusters, *fleet.clusters)), now=now, with_suggestions=False)
    refusals = () if isinstance(answer, Placement) else answer
    reasons = {cluster.unavailable_reason for cluster in excluded_clusters}
    wanted = job.place.clusters
    first = min(
        refusals,
        default=None,
        key=lambda refusal: (refusal.reason not in reasons, wanted != "any" and refusal.cluster not in wanted),
    )
    return str(first) if first else "every cluster that fits refuses it now"


def rebalance(
    fleet: Fleet,
    queued: Sequence[JobRecord],
    specs: Mapping[int, JobSpec],
    now: float,
    move_after: float,
    allocations: AllocationsByTenant | None = None,
) -> list[Move]:
    """Jobs that have waited on one cluster for some time while another placement is free for them.

    Each move doubles the waiting time before the next one, so that no job moves forever. For a job that was delayed for
    a lower carbon intensity, the wait counts from its start time. In ``fleet`` the nodes they wait for are in use
    already.
    """
    found: list[Move] = []
    allocations = allocations or {}
    for record in queued:
        here = Placement.from_json(record.placement)
        due = (record.submitted or now) + here.begin
        if record.recalled or now - due < move_after * 2**record.launch:
            continue
        own = add_allocation(allocations, record.tenant, here, here.cluster, -1)
        job, around = specs[record.id], add_spending(fleet, record.tenant, -(record.promised or 0.0))
        around = mark_pool_unavailable(around, here.cluster, here.pool)
        elsewhere = find_free_placement(job, record.tenant, around, now, own)
        if elsewhere is not None:
            found.append(Move(record, elsewhere))
            fleet, allocations = (
                allocate(fleet, elsewhere),
                add_allocation(own, record.tenant, elsewhere, elsewhere.cluster),
            )
    return found


def find_free_placement(
    job: JobSpec, tenant: str, fleet: Fleet, now: float, allocations: AllocationsByTenant
) -> Placement | None:
    """The best placement that is free now, within the limits of the job's tenant; None if there is none."""
    for one in _iter_placements(job, fleet, now):
        if isinstance(one, Placement) and one.fits_now and not find_exceeded_limit(fleet, allocations, tenant, one):
            return one
    return None


def _iter_placements(job: JobSpec, fleet: Fleet, now: float) -> Iterator[Placement | tuple[Refusal, ...]]:
    """Placements for a job, the best first, one per pool; at the end the refusals."""
    for _ in range(1 + sum(len(cluster.pools) for cluster in fleet.clusters)):
        answer = place(job, fleet, now=now, with_suggestions=False)  # many jobs, in every cycle
        yield answer
        if not isinstance(answer, Placement):
            return
        fleet = mark_pool_unavailable(fleet, answer.cluster, answer.pool)
