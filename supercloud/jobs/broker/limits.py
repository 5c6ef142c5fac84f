"""Limits of tenants on concurrent use: on each cluster, and over all clusters of the fleet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...spec.tenant import TenantLimits
from ..fleet.state import Fleet
from ..placement.answer import Placement
from ..store.records import JobRecord

__all__ = ["TenantAllocation", "AllocationsByTenant", "compute_allocations", "find_exceeded_limit", "add_allocation"]

ALL_CLUSTERS = ""
"""Key for all clusters together, in place of a cluster's name."""


@dataclass(frozen=True)
class TenantAllocation:
    """Resources of submitted jobs."""

    accelerators: int = 0
    nodes: int = 0
    jobs: int = 0


AllocationsByTenant = Mapping[tuple[str, str], TenantAllocation]
"""By tenant and cluster."""


def compute_allocations(records: Iterable[JobRecord]) -> AllocationsByTenant:
    """Allocations of each tenant by submitted jobs; waiting jobs count, as they may start at any time."""
    allocations: AllocationsByTenant = {}
    for record in records:
        if record.placement and record.tenant:
            allocations = add_allocation(
                allocations, record.tenant, Placement.from_json(record.placement), record.cluster
            )
    return allocations


def add_allocation(
    allocations: AllocationsByTenant, tenant: str, placement: Placement, cluster: str, sign: int = 1
) -> AllocationsByTenant:
    """The allocations with a job added, or with ``sign`` -1 removed."""
    changed = dict(allocations)
    for where in (cluster, ALL_CLUSTERS):
        before = changed.get((tenant, where), TenantAllocation())
        changed[tenant, where] = TenantAllocation(
            before.accelerators + sign * placement.nodes * placement.accelerators_per_node,
            before.nodes + sign * placement.nodes,
            before.jobs + sign,
        )
    return changed


def find_exceeded_limit(fleet: Fleet, allocations: AllocationsByTenant, tenant: str, placement: Placement) -> str:
    """The limit of a tenant that a job would exceed now; empty if none."""
    plan = next(cluster.plan for cluster in fleet.clusters if cluster.plan.name == placement.cluster)
    own = next((item.limits for item in plan.tenants if item.name == tenant), TenantLimits())
    shared = next((item.limits for item in fleet.spec.tenants if item.name == tenant), TenantLimits())
    for limits, where, name in (
        (own, placement.cluster, placement.cluster),
        (shared, ALL_CLUSTERS, f"all clusters of {fleet.spec.name}"),
    ):
        used = allocations.get((tenant, where), TenantAllocation())
        for most, now, more, what in (
            (limits.accelerators, used.accelerators, placement.nodes * placement.accelerators_per_node, "accelerators"),
            (limits.nodes, used.nodes, placement.nodes, "nodes"),
            (limits.jobs, used.jobs, 1, "jobs"),
        ):
            if most is not None and now + more > most:
                return f"tenant {tenant} uses {now} of its limit of {most} {what} in {name}"
    return ""
