"""Fair-share order: by priority, then by the tenant that used the least of its share, then by submission. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..fleet.state import Fleet
from ..placement.answer import Placement
from ..store.records import JobRecord

__all__ = ["compute_fair_share_order", "compute_shares", "count_units_in_use"]

_PRIORITY_ORDER = {"high": 0, "normal": 1, "low": 2}


def compute_shares(fleet: Fleet) -> dict[str, float]:
    """The share of each tenant: from the fleet, else from its clusters, weighted by their sizes."""
    declared = {tenant.name: float(tenant.share) for tenant in fleet.spec.tenants if tenant.share is not None}
    if declared:
        return {name: share / (sum(declared.values()) or 1.0) for name, share in declared.items()}
    total = sum(max(1, cluster.plan.accelerators or cluster.plan.nodes) for cluster in fleet.clusters)
    shares: dict[str, float] = {}
    for cluster in fleet.clusters:
        size = max(1, cluster.plan.accelerators or cluster.plan.nodes)
        for tenant in cluster.plan.tenants:
            shares[tenant.name] = shares.get(tenant.name, 0.0) + tenant.fraction * size / total
    return shares


def count_units_in_use(records: Iterable[JobRecord]) -> dict[str, int]:
    """Accelerators (nodes for jobs without accelerators) in use by each tenant, over all clusters."""
    in_use: dict[str, int] = {}
    for record in records:
        if record.placement:
            in_use[record.tenant] = in_use.get(record.tenant, 0) + Placement.from_json(record.placement).units
    return in_use


def compute_fair_share_order(
    waiting: Sequence[JobRecord], usage: Mapping[str, float], shares: Mapping[str, float], units: Mapping[int, int]
) -> list[JobRecord]:
    """Held jobs in the order in which they are placed.

    Within a priority the next is the tenant with the least use of its share: its current and recent use, as if the jobs
    before had started.
    """
    use = dict(usage)
    order: list[JobRecord] = []
    for priority in sorted({record.priority for record in waiting}, key=lambda name: _PRIORITY_ORDER.get(name, 1)):
        queues: dict[str, list[JobRecord]] = {}
        for record in sorted(waiting, key=lambda record: -record.id):
            if record.priority == priority:
                queues.setdefault(record.tenant, []).append(record)
        while queues:
            tenant = min(queues, key=lambda name: (use.get(name, 0) / (shares.get(name) or 1e-3), queues[name][-1].id))
            record = queues[tenant].pop()
            order.append(record)
            use[tenant] = use.get(tenant, 0) + units.get(record.id, 1)
            if not queues[tenant]:
                del queues[tenant]
    return order
