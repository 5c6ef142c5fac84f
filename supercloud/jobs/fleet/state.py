"""The state of the fleet: its clusters and the free capacity of each.

Before the first observation it comes from the plan: every node is free. If the engine is a :class:`ListsNodes`, it
comes from the engine's list of nodes, with a timestamp, and is cached. A pool is one byte per node, its free
accelerators, so that counting free accelerators in a domain is arithmetic on bytes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...catalog import Catalog
from ...plan.model.plan import Plan, PoolPlan
from ...spec.fleet import FleetMember, FleetSpec
from .domains import Domains, build_domains
from .observations import ListsNodes, ListsQueue, NodeState, WaitingJobs

__all__ = [
    "UNRESPONSIVE_REASON",
    "Cluster",
    "Fleet",
    "NodeState",
    "PoolState",
    "ListsNodes",
    "ListsQueue",
    "WaitingJobs",
    "ObservationCache",
    "exclude_cluster",
]

_HOST_PATTERN = re.compile(r"(.*\D|)(\d+)")
_MAX_ACCELERATORS = 255
"""Largest number of accelerators of a node that is distinguished."""
UNRESPONSIVE_REASON = "its scheduler does not respond"


class PoolState:
    """The free capacity of a pool: two bytes per node, and the counts by domain that placement needs."""

    def __init__(
        self,
        pool: PoolPlan,
        domains: Domains,
        healthy: bytes | None = None,
        free: bytes | None = None,
        until: Mapping[int, float] | None = None,
        queued: int = 0,
    ):
        full_node = bytes([min(max(pool.accelerators_per_node, 1), _MAX_ACCELERATORS)])
        self.pool, self.domains = pool, domains
        self.whole = full_node[0]
        self.healthy = full_node * pool.nodes if healthy is None else healthy
        """For each node its accelerators when idle; 0 if it is not schedulable."""
        self.free = self.healthy if free is None else free
        """For each node its free accelerators."""
        self.busy_until = until or {}
        self.queued_nodes = queued
        """Nodes that waiting jobs request."""
        self._counts: dict[tuple[bool, int], tuple[int, ...]] = {}
        self._end_times: dict[int, list[float]] = {}

    def count_by_domain(self, per_node: int, free_now: bool) -> tuple[int, ...]:
        """For each innermost domain its nodes with ``per_node`` accelerators: free now, or after running jobs have
        ended.
        """
        need = max(1, min(per_node, _MAX_ACCELERATORS))
        found = self._counts.get((free_now, need))
        if found is None:
            column = self.free if free_now else self.healthy
            marks = column.translate(bytes(need) + b"\x01" * (256 - need)) if need > 1 or self.whole > 1 else column
            found = tuple(
                sum(marks.count(1, start, stop) for start, stop in domain.runs) for domain in self.domains.levels[0]
            )
            self._counts[free_now, need] = found
        return found

    def count_available(self, per_node: int, free_now: bool) -> int:
        """Maximum number of nodes for a job: spares in reserve are not available."""
        healthy = sum(self.count_by_domain(per_node, False))
        most = min(self.pool.nodes - self.pool.spares, healthy)
        return most if not free_now else max(0, most - (healthy - sum(self.count_by_domain(per_node, True))))

    def estimate_wait(self, nodes: int, per_node: int, now: float) -> float | None:
        """Seconds until ``nodes`` nodes are free, by the time limits of running jobs; None if unknown."""
        free, most = self.count_available(per_node, True), self.count_available(per_node, False)
        missing = min(nodes + self.queued_nodes, max(nodes, most)) - free
        if missing <= 0:
            return 0.0
        need = max(1, per_node)
        if (times := self._end_times.get(need)) is None:
            times = self._end_times[need] = sorted(
                at for index, at in self.busy_until.items() if self.free[index] < need
            )
        return max(0.0, times[missing - 1] - now) if missing <= len(times) else None


@dataclass(frozen=True)
class Cluster:
    """One cluster: its plan, its free capacity, and its entry in the fleet."""

    plan: Plan
    pools: Mapping[str, PoolState]
    observed_at: float | None = None
    """When its engine was queried; None: never, and no jobs are assumed to run."""
    member: FleetMember = field(default_factory=lambda: FleetMember(spec="-"))
    catalog: Catalog | None = None
    unavailable_reason: str = ""
    """Why it currently accepts no job, independent of free capacity; for example, its scheduler does not respond."""
    excluded_until_fixed: bool = False
    """Whether ``unavailable_reason`` must be corrected by a person: waiting does not help."""

    @classmethod
    def from_plan(cls, plan: Plan, member: FleetMember | None = None, catalog: Catalog | None = None) -> Cluster:
        """The cluster with every node free."""
        pools = {pool.name: PoolState(pool, build_domains(plan, pool)) for pool in plan.pools}
        return cls(plan, pools, None, member or FleetMember(spec="-"), catalog)

    def with_observations(
        self, nodes: Sequence[NodeState], observed_at: float, waiting: Sequence[WaitingJobs] = ()
    ) -> Cluster:
        """The same cluster as reported by its engine; nodes of the plan that the engine does not list are down."""
        columns = {name: _NodeColumns(state) for name, state in self.pools.items()}
        by_hosts = {(state.pool.hosts.prefix, state.pool.hosts.width): name for name, state in self.pools.items()}
        for node in nodes:
            match = _HOST_PATTERN.fullmatch(node.host)
            if match and (name := by_hosts.get((match[1], len(match[2])))) is not None:
                columns[name].add(node, int(match[2]))
        pools = {name: found.build_state(self._count_queued_nodes(name, waiting)) for name, found in columns.items()}
        return replace(self, pools=pools, observed_at=observed_at)

    def _count_queued_nodes(self, pool_name: str, waiting: Sequence[WaitingJobs]) -> int:
        """Nodes requested in the partitions of a pool; without partitions, all."""
        own = {item.name for item in self.plan.scheduler.partitions if pool_name in item.pools}
        return sum(item.nodes for item in waiting if item.partition in own or not own)


class _NodeColumns:
    """The observed nodes of a pool; those that are not observed are down."""

    def __init__(self, state: PoolState):
        self.state = state
        self.healthy, self.free = bytearray(state.pool.nodes), bytearray(state.pool.nodes)
        self.busy_until: dict[int, float] = {}

    def add(self, node: NodeState, number: int) -> None:
        """Add a node by the number in its name; one that is not of the pool or not up has no effect."""
        index = number - self.state.pool.hosts.first
        if not 0 <= index < self.state.pool.nodes or node.state != "up":
            return
        self.healthy[index] = self.state.whole
        self.free[index] = max(0, self.state.whole - node.in_use)
        if node.in_use and node.busy_until is not None:
            self.busy_until[index] = node.busy_until

    def build_state(self, queued_nodes: int) -> PoolState:
        """The state of the pool."""
        state = self.state
        return PoolState(
            state.pool, state.domains, bytes(self.healthy), bytes(self.free), self.busy_until, queued_nodes
        )


@dataclass(frozen=True)
class Fleet:
    """Several clusters and the policy over them."""

    spec: FleetSpec
    clusters: tuple[Cluster, ...]
    spent: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """By tenant and period of a budget (``month`` …): USD spent in the current one, including reservations of running
    jobs."""


class ObservationCache:
    """The last observation of each engine; refreshed when older than ``max_age`` seconds or on request."""

    def __init__(self, max_age: float = 30.0, clock: Callable[[], float] = time.time):
        self.keep, self.clock = max_age, clock
        self._clusters: dict[str, Cluster] = {}

    def observe(self, cluster: Cluster, engine: object, refresh: bool = False) -> Cluster:
        """The cluster as reported by its engine; as planned if the engine does not list nodes."""
        if not isinstance(engine, ListsNodes):
            return cluster
        last = self._clusters.get(cluster.plan.name)
        now = self.clock()
        if last and last.plan is cluster.plan and not refresh and 0 <= now - (last.observed_at or 0.0) < self.keep:
            return last
        waiting = engine.list_waiting_jobs() if isinstance(engine, ListsQueue) else ()
        self._clusters[cluster.plan.name] = cluster.with_observations(engine.list_nodes(), now, waiting)
        return self._clusters[cluster.plan.name]


def exclude_cluster(cluster: Cluster, error: Exception) -> Cluster:
    """The cluster, marked unavailable because it could not be queried; an error that is not of this package counts as a
    defect of its engine.
    """
    from ...errors import EngineConfigurationError, InputError, SupercloudError
    from ..defects import build_defect_error

    what = "it cannot be queried now"
    problem = error if isinstance(error, SupercloudError) else build_defect_error(what, error)
    reason = f"{what}: {error}" if problem is error else str(problem)
    return replace(
        cluster,
        unavailable_reason=reason,
        excluded_until_fixed=isinstance(problem, InputError | EngineConfigurationError),
    )
