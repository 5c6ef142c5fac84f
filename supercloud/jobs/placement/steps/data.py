"""The data of a job: whether a cluster has it, may receive it, and the cost and time of the transfer."""

from __future__ import annotations

from dataclasses import dataclass

from ....errors import suggest_nearest
from ....primitives.quantity import Size
from ....spec.fleet import FleetMember
from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["DataTransfer", "compute_data_transfers"]


@dataclass(frozen=True)
class DataTransfer:
    """Data that must be transferred to a cluster before a job starts there."""

    names: tuple[str, ...] = ()
    price: float = 0.0
    """USD."""
    seconds: float = 0.0
    """Counts known links only."""


def compute_data_transfers(context: PlacementContext) -> DataTransfer | StepRefusal:
    """The data transfers of a job, each data set from the cheapest source."""
    place, plan = context.job.place, context.plan
    if place.regions and plan.site.location_name not in place.regions:
        return StepRefusal(
            f"the job must stay in {' or '.join(place.regions)}, {plan.name} is in {plan.site.location_name}",
            f"add {plan.site.location_name} to place.regions",
            {"place.regions": [*place.regions, plan.site.location_name]},
        )
    storage = {item.name for item in plan.storage}
    total = DataTransfer()
    for name in place.data:
        if name in storage:
            continue
        transfer = _compute_transfer(context, name)
        if isinstance(transfer, StepRefusal):
            return transfer
        total = DataTransfer(
            total.names + transfer.names, total.price + transfer.price, total.seconds + transfer.seconds
        )
    return total


def _compute_transfer(context: PlacementContext, name: str) -> DataTransfer | StepRefusal:
    """The transfer of one data set of the fleet; none if the cluster holds it."""
    plan = context.plan
    sets = {item.name: item for item in context.fleet.spec.data} if context.fleet else {}
    if name not in sets:
        known = {*(item.name for item in plan.storage), *sets}
        return StepRefusal(
            f"{name!r} is not a storage of {plan.name}", suggest_nearest(name, known) or "omit place.data"
        )
    holders = [place.partition("/")[0] for place in sets[name].at]
    if plan.name in holders:
        return DataTransfer()
    if sets[name].stays:
        return StepRefusal(
            f"data {name!r} may not leave {' or '.join(holders)}",
            f"add a copy of it to {plan.name}, or place the job on {holders[0]}",
        )
    members = {other.plan.name: other.member for other in context.fleet.clusters} if context.fleet else {}
    price, seconds = min(_estimate_transfer(members[holder], sets[name].size) for holder in holders)
    return DataTransfer((name,), price, seconds)


def _estimate_transfer(source: FleetMember, size: Size) -> tuple[float, float]:
    """USD and seconds for a data set from a cluster; 0 if its price or its link is unknown."""
    return (
        source.egress.to("USD") * size.to("TB") if source.egress else 0.0,
        size.to("B") / source.uplink.to("B/s") if source.uplink else 0.0,
    )
