"""What the placement of a job in one pool depends on, and the nodes that it needs there."""

from __future__ import annotations

from dataclasses import dataclass

from ...catalog import Catalog
from ...plan.model.plan import Plan, PoolPlan
from ...spec import JobSpec
from ..fleet.state import Cluster, Fleet, PoolState
from .steps.shape import ShrinkAdvisor
from .steps.slices import AcceleratorUnits

__all__ = ["NodeDemand", "PlacementContext"]


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


@dataclass(frozen=True)
class NodeDemand:
    """The nodes that a job needs in a pool, and its units on each of them."""

    nodes: int
    per_node: int
    """Units on each node; 0 for a job without accelerators."""
    group_nodes: int
    """Nodes that one tensor-parallel group spans; 1: it stays inside a node."""
    units: AcceleratorUnits
    advisor: ShrinkAdvisor
    """Suggests what makes the job smaller."""

    @property
    def accelerators(self) -> int:
        """Whole accelerators of a node that the units on it take; 1 also for a node without accelerators."""
        return max(1, int(-(-self.per_node // self.units.per_accelerator)))
