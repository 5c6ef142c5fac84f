"""What the broker does next: a pure decision over the fleet as it is now and the jobs that wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...spec import JobSpec
from ..fleet.state import SILENT, Cluster, Fleet
from ..placement.place import Placement, Refusal, place
from ..placement.steps.cost import promise, with_spent
from ..store.records import JobRecord
from .limits import Holdings, over, with_more
from .room import closed, only, taken

__all__ = ["GAVE_BACK", "Hold", "Move", "Start", "decide", "moves"]

_IN_VAIN = 64  # jobs in a row without a place, after which those behind them are left for the next look


GAVE_BACK = "it gave the job back a short while ago"


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
    fleet: Fleet, waiting: Sequence[JobRecord], specs: Mapping[int, JobSpec], now: float,
    avoid: Mapping[int, Mapping[str, str]] | None = None, held: Holdings | None = None,
    silent: Sequence[Cluster] = (),
) -> list[Start | Hold]:  # fmt: skip
    """For each job, in turn, where it goes now, or why it goes nowhere.

    A job takes the place that is best for it if that is free. If not, it waits for it as long as the fleet's policy
    says (``max_wait``; not at all where it says nothing), then takes the best that is free: that is how work bursts
    into a cloud. What it waits for it keeps from those behind it, or a large job would wait for ever. ``held`` is what
    tenants have: a job that is beyond its tenant's limits in one cluster goes to another, or waits, and keeps nothing.
    ``avoid`` are the clusters that a job does not go to for some time, and why.
    ``silent`` are the clusters that ``fleet`` lacks, as they do not answer or are ``barred`` by what they answered: a
    job that only they could have is told so.
    """
    actions: list[Start | Hold] = []
    held = held or {}
    patience = fleet.spec.policy.max_wait.to("s") if fleet.spec.policy.max_wait else 0.0
    in_vain = 0
    for record in waiting:
        if in_vain >= _IN_VAIN:
            actions.append(Hold(record, "jobs before it wait for the same nodes"))
            continue
        avoided = (avoid or {}).get(record.id, {})
        allowed = [cluster.plan.name for cluster in fleet.clusters if cluster.plan.name not in avoided]
        found = _choice(specs[record.id], record, only(fleet, allowed), now, held, now - record.recorded >= patience)
        if isinstance(found, Placement):
            actions.append(Start(record, found))
            fleet = with_spent(taken(fleet, found), record.tenant, promise(specs[record.id], found) or 0.0)
            held = with_more(held, record.tenant, found, found.cluster)
            in_vain = 0
            continue
        reason, kept = found
        if not reason:
            barred = [cluster if cluster.barred else replace(cluster, barred=SILENT) for cluster in silent]
            barred += [
                replace(cluster, barred=avoided[cluster.plan.name], barred_until_corrected=False)
                for cluster in fleet.clusters
                if cluster.plan.name in avoided
            ]
            reason = _why_nowhere(specs[record.id], only(fleet, allowed), barred, now)
        actions.append(Hold(record, reason))
        fleet = taken(fleet, kept) if kept else fleet
        in_vain += 1
    return actions


def _choice(
    job: JobSpec, record: JobRecord, fleet: Fleet, now: float, held: Holdings, hurried: bool
) -> Placement | tuple[str, Placement | None]:  # fmt: skip
    """The place a job takes; or why it takes none, and which it waits for. No reason: no cluster can have it now."""
    best: Placement | None = None
    reasons: list[str] = []
    for answer in _ways(job, fleet, now):
        if not isinstance(answer, Placement):
            break
        if barred := over(fleet, held, record.tenant, answer):
            reasons.append(barred)
        elif answer.fits_now:
            return answer
        else:
            best = best or answer
            if not hurried:
                break
    if best is not None:
        return f"no room yet: it waits for {best} on {best.cluster}", best
    return (reasons[0] if reasons else ""), None


def _why_nowhere(job: JobSpec, fleet: Fleet, barred: Sequence[Cluster], now: float) -> str:
    """Why no cluster can have a job now: first that one where it fits is barred, then what a cluster says that it may
    go to.
    """
    answer = place(job, replace(fleet, clusters=(*barred, *fleet.clusters)), now=now, advise=False)
    refusals = () if isinstance(answer, Placement) else answer
    reasons = {cluster.barred for cluster in barred}
    wanted = job.place.clusters
    first = min(refusals, default=None, key=lambda refusal: (
        refusal.reason not in reasons, wanted != "any" and refusal.cluster not in wanted))  # fmt: skip
    return str(first) if first else "every cluster that could have it refuses it now"


def moves(
    fleet: Fleet, queued: Sequence[JobRecord], specs: Mapping[int, JobSpec], now: float, patience: float,
    held: Holdings | None = None,
) -> list[Move]:  # fmt: skip
    """Jobs that have waited in one place for some time while another is free for them.

    Each move doubles the time the next one takes, so that no job wanders for ever. A job that was to begin later, for
    cleaner energy, waits only from then on. ``fleet`` has what they wait for in use already.
    """
    found: list[Move] = []
    held = held or {}
    for record in queued:
        here = Placement.of_json(record.placement)
        due = (record.submitted or now) + here.begin
        if record.recalled or now - due < patience * 2**record.launch:
            continue
        own = with_more(held, record.tenant, here, here.cluster, -1)
        job, around = specs[record.id], with_spent(fleet, record.tenant, -(record.promised or 0.0))
        ways = _ways(job, closed(around, here.cluster, here.pool), now)
        elsewhere = next((way for way in ways if isinstance(way, Placement) and way.fits_now
                          and not over(fleet, own, record.tenant, way)), None)  # fmt: skip
        if elsewhere is not None:
            found.append(Move(record, elsewhere))
            fleet, held = taken(fleet, elsewhere), with_more(own, record.tenant, elsewhere, elsewhere.cluster)
    return found


def _ways(job: JobSpec, fleet: Fleet, now: float) -> Iterator[Placement | tuple[Refusal, ...]]:
    """Places for a job, the best first, one in each pool; in the end why there is no other."""
    for _ in range(1 + sum(len(cluster.pools) for cluster in fleet.clusters)):
        answer = place(job, fleet, now=now, advise=False)  # many jobs, looked at again and again
        yield answer
        if not isinstance(answer, Placement):
            return
        fleet = closed(fleet, answer.cluster, answer.pool)
