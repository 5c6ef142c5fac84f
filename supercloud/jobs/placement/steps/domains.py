"""The nodes that a job takes: their domains, and how long it waits for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...fleet.domains import DomainAllocation, allocate_domains
from ...fleet.state import PoolState
from ..context import PlacementContext
from ..parallelism import compute_block_sizes
from ..refusal import JobChange, StepRefusal
from .demand import NodeDemand
from .locality import LocalityRequest

__all__ = ["DomainSelection", "adjust_locality", "select_domains"]


@dataclass(frozen=True)
class DomainSelection:
    """The nodes that a job takes."""

    allocation: DomainAllocation
    wait: float | None
    """Seconds until they are free, by the time limits of running jobs; None if unknown."""


def select_domains(
    context: PlacementContext, demand: NodeDemand, locality: LocalityRequest, hosts: tuple[str, ...]
) -> DomainSelection | StepRefusal:
    """The domains it takes nodes from, free ones if possible; ``hosts`` are the nodes that the job pins."""
    state, nodes, required = context.state, demand.nodes, demand.accelerators
    healthy = state.count_available(required, False)
    if healthy < nodes:
        return StepRefusal(
            f"the job needs {nodes} nodes, only {healthy} of {context.pool.nodes} are healthy",
            *_join_fixes(demand.advisor(nodes=healthy), ("wait until nodes are repaired", {})),
        )
    packing = _build_packing(context, demand, locality)
    planned = packing.allocate(free_now=False)
    assert planned is not None  # there are enough nodes, and the outermost level has one domain
    if not packing.is_near_enough(planned):
        largest = packing.count_largest_domain()
        return StepRefusal(
            f"the job must fit in one {locality.level}, the largest has {largest} healthy nodes, it needs {nodes}",
            *_join_fixes(demand.advisor(nodes=largest), ("omit place.near", {"place.near": None})),
        )
    if hosts:
        wait = _estimate_pinned_wait(state, hosts, required, context.now)
        return wait if isinstance(wait, StepRefusal) else DomainSelection(planned, wait)
    if state.count_available(required, True) < nodes + state.queued_nodes:
        return DomainSelection(planned, state.estimate_wait(nodes, required, context.now))
    free = packing.allocate(free_now=True)
    if free and packing.is_near_enough(free) and packing.has_free_segments(locality.segment):
        return DomainSelection(free, 0.0)
    return DomainSelection(planned, None)  # enough nodes are free, but too far apart


@dataclass(frozen=True)
class _Packing:
    """The nodes of a job, and which of them should be near each other."""

    state: PoolState
    nodes: int
    accelerators: int
    """On each node."""
    blocks: tuple[int, ...]
    """Numbers of nodes that should not be split between innermost domains."""
    firm_block: int
    """The largest that is more important than one near domain for the whole job."""
    level: int | None
    """The level of which one domain must hold all nodes."""

    def allocate(self, free_now: bool) -> DomainAllocation | None:
        """The best domains; None if they have too few nodes."""
        counts = self.state.count_by_domain(self.accelerators, free_now)
        return allocate_domains(self.state.domains, counts, self.nodes, self.blocks, self.firm_block)

    def is_near_enough(self, allocation: DomainAllocation) -> bool:
        """Whether one domain of the required level holds it."""
        return self.level is None or allocation.level <= self.level

    def count_largest_domain(self) -> int:
        """Healthy nodes of the largest domain of the required level."""
        healthy = self.state.count_by_domain(self.accelerators, False)
        return max(sum(healthy[slice(*domain.innermost)]) for domain in self.state.domains.levels[self.level or 0])

    def has_free_segments(self, segment: int) -> bool:
        """Whether the job can start in unbroken segments now; true if healthy nodes do not allow it either."""
        return _has_whole_segments(
            self.state, self.state.count_by_domain(self.accelerators, True), segment, self.nodes
        ) or not _has_whole_segments(
            self.state, self.state.count_by_domain(self.accelerators, False), segment, self.nodes
        )


def _build_packing(context: PlacementContext, demand: NodeDemand, locality: LocalityRequest) -> _Packing:
    domains = context.state.domains
    frequent, replicas = compute_block_sizes(context.job.parallelism, demand.per_node)
    firm_block, level = 0, None
    if not locality.required:
        firm_block = max((block for block in frequent if block <= domains.get_largest_size(0)), default=0)
    elif locality.level in domains.names:
        level = domains.names.index(locality.level)
    return _Packing(context.state, demand.nodes, demand.accelerators, (*frequent, *replicas), firm_block, level)


def _join_fixes(
    fix: tuple[str, JobChange], other: tuple[str, JobChange]
) -> tuple[str, JobChange, tuple[str, JobChange] | None]:
    """A fix and its alternative; only the alternative if the first changes nothing."""
    return (*fix, other) if fix[1] else (*other, None)


def _estimate_pinned_wait(
    state: PoolState, hosts: tuple[str, ...], accelerators: int, now: float
) -> float | None | StepRefusal:
    """Seconds until exactly these nodes are free."""
    found = (state.pool.hosts.find_index(host) for host in hosts)
    numbers = [number for number in found if number is not None]
    for host, index in zip(hosts, numbers, strict=True):
        if state.healthy[index] < accelerators:
            return StepRefusal(
                f"{host} is not schedulable", "pin another node, or omit place.nodes", {"place.nodes": None}
            )
    busy = [index for index in numbers if state.free[index] < accelerators]
    if any(index not in state.busy_until for index in busy):
        return None
    return max((max(0.0, state.busy_until[index] - now) for index in busy), default=0.0)


def _has_whole_segments(state: PoolState, node_counts: tuple[int, ...], segment: int, nodes: int) -> bool:
    """Whether scale-up domains with these numbers of nodes hold a job in unbroken segments."""
    if segment < 2 or state.domains.names[0] != "scale-up":
        return True
    return sum(count // segment for count in node_counts) * segment >= nodes


def adjust_locality(
    context: PlacementContext, demand: NodeDemand, locality: LocalityRequest, allocation: DomainAllocation
) -> LocalityRequest:
    """The request to the scheduler, adjusted to the observed state: no more than the healthy nodes can satisfy."""
    if context.cluster.observed_at is None or locality.required:
        return locality
    state = context.state
    healthy = state.count_by_domain(demand.accelerators, False)
    if not _has_whole_segments(state, healthy, locality.segment, demand.nodes):
        locality = replace(locality, segment=allocation.block_size if allocation.block_size > 1 else 0)
    if locality.level not in state.domains.names:
        return locality
    level = max(state.domains.names.index(locality.level), allocation.level)
    switches = max(locality.switches, len(allocation.parts)) if locality.switches else 0
    return replace(locality, level=state.domains.names[level], switches=switches)
