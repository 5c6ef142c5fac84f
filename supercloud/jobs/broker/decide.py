"""What the broker does next: a pure decision over the fleet as it is now and the jobs that wait."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...spec import JobSpec
from ..fleet import Fleet
from ..placement import Placement, place
from ..records import JobRecord
from .room import closed, only, taken

__all__ = ["Hold", "Move", "Start", "decide", "moves"]

_IN_VAIN = 64  # jobs in a row without a place, after which those behind them are left for the next look


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
    avoid: Mapping[int, Collection[str]] | None = None,
) -> list[Start | Hold]:  # fmt: skip
    """For each job, in turn, where it goes now, or why it goes nowhere.

    A job takes the place that is best for it if that is free. If not, it waits for it as long as the fleet's policy
    says (``max_wait``; not at all where it says nothing), then takes the best that is free: that is how work bursts
    into a cloud. What it waits for it keeps from those behind it, or a large job would wait for ever.
    """
    actions: list[Start | Hold] = []
    patience = fleet.spec.policy.max_wait.to("s") if fleet.spec.policy.max_wait else 0.0
    in_vain = 0
    for record in waiting:
        if in_vain >= _IN_VAIN:
            actions.append(Hold(record, "jobs before it wait for the same nodes"))
            continue
        job = specs[record.id]
        allowed = [cluster.plan.name for cluster in fleet.clusters
                   if cluster.plan.name not in (avoid or {}).get(record.id, ())]  # fmt: skip
        best = place(job, only(fleet, allowed), now=now) if allowed else ()
        if not isinstance(best, Placement):
            actions.append(Hold(record, str(best[0]) if best else "every cluster that could have it refuses it now"))
            in_vain += 1
            continue
        free = best if best.fits_now else None
        if free is None and now - record.recorded >= patience:
            free = _free(job, only(fleet, allowed), best, now)
        if free is not None:
            actions.append(Start(record, free))
            fleet = taken(fleet, free)
            in_vain = 0
        else:
            actions.append(Hold(record, f"no room yet: it waits for {best} on {best.cluster}"))
            fleet = taken(fleet, best)
            in_vain += 1
    return actions


def moves(
    fleet: Fleet, queued: Sequence[JobRecord], specs: Mapping[int, JobSpec], now: float, patience: float
) -> list[Move]:
    """Jobs that have waited in one place for some time while another is free for them.

    Each move doubles the time the next one takes, so that no job wanders for ever. ``fleet`` has what they wait for in
    use already.
    """
    found: list[Move] = []
    for record in queued:
        if record.recalled or now - (record.submitted or now) < patience * 2**record.launch:
            continue
        here = Placement.of_json(record.placement)
        elsewhere = _free(specs[record.id], fleet, here, now)
        if elsewhere is not None:
            found.append(Move(record, elsewhere))
            fleet = taken(fleet, elsewhere)
    return found


def _free(job: JobSpec, fleet: Fleet, not_here: Placement, now: float) -> Placement | None:
    """The best place that is free now, other than one."""
    here: Placement = not_here
    for _ in range(sum(len(cluster.pools) for cluster in fleet.clusters)):
        fleet = closed(fleet, here.cluster, here.pool)
        answer = place(job, fleet, now=now)
        if not isinstance(answer, Placement):
            return None
        if answer.fits_now:
            return answer
        here = answer
    return None
