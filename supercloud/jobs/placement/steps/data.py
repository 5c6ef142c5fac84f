"""The data of a job: whether a cluster has it, may receive it, and the cost and time of the transfer."""

from __future__ import annotations

from dataclasses import dataclass

from ....errors import suggest_nearest
from ....spec import JobSpec
from ...fleet.state import Cluster, Fleet
from .feasibility import RefusalError

__all__ = ["DataTransfer", "compute_data_transfers"]


@dataclass(frozen=True)
class DataTransfer:
    """Data that must be transferred to a cluster before a job starts there."""

    names: tuple[str, ...] = ()
    price: float = 0.0
    """USD."""
    seconds: float = 0.0
    """Counts known links only."""


def compute_data_transfers(job: JobSpec, cluster: Cluster, fleet: Fleet | None) -> DataTransfer:
    """The data transfers of a job, each data set from the cheapest source; raises :class:`RefusalError`."""
    plan = cluster.plan
    if job.place.regions and plan.site.place not in job.place.regions:
        raise RefusalError(
            f"the job must stay in {' or '.join(job.place.regions)}, {plan.name} is in {plan.site.place}",
            f"add {plan.site.place} to place.regions",
            {"place.regions": [*job.place.regions, plan.site.place]},
        )
    storage = {item.name for item in plan.storage}
    sets = {item.name: item for item in fleet.spec.data} if fleet else {}
    members = {other.plan.name: other.member for other in fleet.clusters} if fleet else {}
    names, price, seconds = [], 0.0, 0.0
    for name in job.place.data:
        if name in storage:
            continue
        if name not in sets:
            known = {*storage, *sets}
            raise RefusalError(
                f"{name!r} is not a storage of {plan.name}", suggest_nearest(name, known) or "omit place.data"
            )
        holders = [place.partition("/")[0] for place in sets[name].at]
        if plan.name in holders:
            continue
        if sets[name].stays:
            raise RefusalError(
                f"data {name!r} may not leave {' or '.join(holders)}",
                f"add a copy of it to {plan.name}, or place the job on {holders[0]}",
            )
        size = sets[name].size
        costs = []
        for order, holder in enumerate(holders):
            of = members[holder]
            costs.append(
                (
                    of.egress.to("USD") * size.to("TB") if of.egress else 0.0,
                    size.to("B") / of.uplink.to("B/s") if of.uplink else 0.0,
                    order,
                )
            )
        least = min(costs)
        names.append(name)
        price, seconds = price + least[0], seconds + least[1]
    return DataTransfer(tuple(names), price, seconds)
