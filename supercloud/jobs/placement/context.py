"""What the placement of a job in one pool depends on."""

from __future__ import annotations

from dataclasses import dataclass

from ...catalog import Catalog
from ...plan.model.plan import Plan, PoolPlan
from ...spec import JobSpec
from ..fleet.state import Cluster, Fleet, PoolState

__all__ = ["PlacementContext"]


@dataclass(frozen=True)
class PlacementContext:
    """A job, and a pool in which it may be placed."""

    job: JobSpec
    cluster: Cluster
    pool: PoolPlan
    fleet: Fleet | None
    """The fleet of the cluster, with its policy, budgets and data; None for a single cluster."""
    catalog: Catalog
    now: float
    """Time of submission, in seconds since 1970."""

    @property
    def plan(self) -> Plan:
        """The plan of the cluster."""
        return self.cluster.plan

    @property
    def state(self) -> PoolState:
        """The nodes of the pool and what is free on them."""
        return self.cluster.pools[self.pool.name]
