"""What the broker does next: a pure decision over the fleet as it is now and the jobs that wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...spec import JobSpec
from ..fleet.state import UNRESPONSIVE_REASON, Cluster, Fleet
from ..placement.place import Placement, Refusal, place
from ..placement.spending import add_spending, compute_reserved_cost
from ..store.records import JobRecord
from .limits import AllocationsByTenant, add_allocation, find_exceeded_limit
from .room import allocate, close_pool, select_clusters

__all__ = ["RECENTLY_RECALLED", "Hold", "Move", "Start", "decide", "rebalance"]

_MAX_UNSCHEDULED_JOBS = 64  # jobs in a row without a place, after which those behind them are left for the next look


RECENTLY_RECALLED = "it gave the job back a short while ago"


@dataclass(frozen=True)
class Start:
    """Give a held job to the engine of a cluster."""

    record: JobRecord
    placement: Placement


@dataclass(frozen=True)
class Hold:
    """Leave it where it is, and say why."""

    record: JobRecord
    reason: str


@dataclass(frozen=True)
class Move:
    """Ask a waiting job back: another place has become free for it."""

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
    """For each job, in turn, where it goes now, or why it goes nowhere.

    A job takes the place that is best for it if that is free. If not, it waits for it as long as the fleet's policy
    says (``max_wait``; not at all where it says nothing), then takes the best that is free: that is how work bursts
    into a cloud. What it waits for it keeps from those behind it, or a large job would wait for ever. ``allocations``
    is what tenants have: a job that is beyond its tenant's limits in one cluster goes to another, or waits, and keeps
    nothing. ``excluded_clusters`` are the clusters that a job does not go to for some time, and why. ``unresponsive``
    are the clusters that ``fleet`` lacks, as they do not answer or for the ``unavailable_reason`` in what they
    answered: a job that only they could have is told so.
    """
    actions: list[Start | Hold] = []
    allocations = allocations or {}
    patience = fleet.spec.policy.max_wait.to("s") if fleet.spec.policy.max_wait else 0.0
    in_vain = 0
    for record in waiting:
        if in_vain >= _MAX_UNSCHEDULED_JOBS:
            actions.append(Hold(record, "jobs before it wait for the same nodes"))
            continue
        avoided = (excluded_clusters or {}).get(record.id, {})
        allowed = [cluster.plan.name for cluster in fleet.clusters if cluster.plan.name not in avoided]
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
            in_vain = 0
            continue
        reason, kept = found
        if not reason:
            barred = [
                cluster if cluster.unavailable_reason else replace(cluster, unavailable_reason=UNRESPONSIVE_REASON)
                for cluster in unresponsive
            ]
            barred += [
                replace(cluster, unavailable_reason=avoided[cluster.plan.name], barred_until_corrected=False)
                for cluster in fleet.clusters
                if cluster.plan.name in avoided
            ]
            reason = _explain_no_placement(specs[record.id], select_clusters(fleet, allowed), barred, now)
        actions.append(Hold(record, reason))
        fleet = allocate(fleet, kept) if kept else fleet
        in_vain += 1
    return actions


def _select_placement(
    job: JobSpec, record: JobRecord, fleet: Fleet, now: float, allocations: AllocationsByTenant, is_wait_over: bool
) -> Placement | tuple[str, Placement | None]:
    """The place a job takes; or why it takes none, and which it waits for. No reason: no cluster can have it now."""
    best: Placement | None = None
    reasons: list[str] = []
    for answer in _iter_placements(job, fleet, now):
        if not isinstance(answer, Placement):
            break
        if barred := find_exceeded_limit(fleet, allocations, record.tenant, answer):
            reasons.append(barred)
        elif answer.fits_now:
            return answer
        else:
            best = best or answer
            if not is_wait_over:
                break
    if best is not None:
        return f"no room yet: it waits for {best} on {best.cluster}", best
    return (reasons[0] if reasons else ""), None


def _explain_no_placement(job: JobSpec, fleet: Fleet, excluded_clusters: Sequence[Cluster], now: float) -> str:
    """Why no cluster can have a job now: first that one where it fits is barred, then what a cluster says that it may
    go to.
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
    return str(first) if first else "every cluster that could have it refuses it now"


def rebalance(
    fleet: Fleet,
    queued: Sequence[JobRecord],
    specs: Mapping[int, JobSpec],
    now: float,
    move_after: float,
    allocations: AllocationsByTenant | None = None,
) -> list[Move]:
    """Jobs that have waited in one place for some time while another is free for them.

    Each move doubles the time the next one takes, so that no job wanders for ever. A job that was to begin later, for
    cleaner energy, waits only from then on. ``fleet`` has what they wait for in use already.
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
        ways = _iter_placements(job, close_pool(around, here.cluster, here.pool), now)
        elsewhere = next(
            (
                way
                for way in ways
                if isinstance(way, Placement)
                and way.fits_now
                and not find_exceeded_limit(fleet, own, record.tenant, way)
            ),
            None,
        )
        if elsewhere is not None:
            found.append(Move(record, elsewhere))
            fleet, allocations = (
                allocate(fleet, elsewhere),
                add_allocation(own, record.tenant, elsewhere, elsewhere.cluster),
            )
    return found


def _iter_placements(job: JobSpec, fleet: Fleet, now: float) -> Iterator[Placement | tuple[Refusal, ...]]:
    """Places for a job, the best first, one in each pool; in the end why there is no other."""
    for _ in range(1 + sum(len(cluster.pools) for cluster in fleet.clusters)):
        answer = place(job, fleet, now=now, with_suggestions=False)  # many jobs, looked at again and again
        yield answer
        if not isinstance(answer, Placement):
            return
        fleet = close_pool(fleet, answer.cluster, answer.pool)
