"""What tenants may have at one time: in each cluster, and over all clusters of the fleet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...spec.tenant import Limits
from ..fleet.state import Fleet
from ..placement.answer import Placement
from ..store.records import JobRecord

__all__ = ["Held", "Holdings", "held_by", "over", "with_more"]

FLEET = ""
"""Stands for all clusters together where a cluster's name would."""


@dataclass(frozen=True)
class Held:
    """What work that engines have been given takes."""

    accelerators: int = 0
    nodes: int = 0
    jobs: int = 0


Holdings = Mapping[tuple[str, str], Held]
"""By tenant and cluster."""


def held_by(records: Iterable[JobRecord]) -> Holdings:
    """What each tenant has, of jobs that engines have; what waits there counts, for it may begin at any time."""
    held: Holdings = {}
    for record in records:
        if record.placement and record.tenant:
            held = with_more(held, record.tenant, Placement.of_json(record.placement), record.cluster)
    return held


def with_more(held: Holdings, tenant: str, at: Placement, cluster: str, sign: int = 1) -> Holdings:
    """The same with a job more, or with ``sign`` -1 a job less."""
    changed = dict(held)
    for where in (cluster, FLEET):
        has = changed.get((tenant, where), Held())
        changed[tenant, where] = Held(has.accelerators + sign * at.nodes * at.accelerators_per_node,
                                      has.nodes + sign * at.nodes, has.jobs + sign)  # fmt: skip
    return changed


def over(fleet: Fleet, held: Holdings, tenant: str, at: Placement) -> str:
    """Why a tenant may not have a job there now; empty where it may."""
    plan = next(cluster.plan for cluster in fleet.clusters if cluster.plan.name == at.cluster)
    own = next((item.limits for item in plan.tenants if item.name == tenant), Limits())
    shared = next((item.limits for item in fleet.spec.tenants if item.name == tenant), Limits())
    for limits, where, name in ((own, at.cluster, at.cluster), (shared, FLEET, f"all clusters of {fleet.spec.name}")):
        has = held.get((tenant, where), Held())
        for most, now, more, what in (
            (limits.accelerators, has.accelerators, at.nodes * at.accelerators_per_node, "accelerators"),
            (limits.nodes, has.nodes, at.nodes, "nodes"),
            (limits.jobs, has.jobs, 1, "jobs"),
        ):
            if most is not None and now + more > most:
                return f"tenant {tenant} has {now} of the {most} {what} it may have at one time in {name}"
    return ""
