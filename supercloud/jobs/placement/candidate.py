"""How a job would be placed in one pool, in steps from the hardest to change to the easiest.

Each step is a function that refuses by raising :class:`RefusalError`; the first refusal is the reason reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...catalog import Catalog
from ...plan.model.plan import Plan, PoolPlan
from ...spec import JobSpec
from ...spec.job import Parallelism
from ..fleet.domains import DomainAllocation, allocate_domains
from ..fleet.state import Cluster, Fleet, PoolState
from .answer import Placement
from .checkpointing import compute_checkpoint_interval
from .memory import MemoryDemand, compute_memory_demand, suggest_fitting_change
from .objective import (
    ObjectiveTerms,
    compute_carbon,
    compute_energy,
    compute_fragmentation,
    compute_hourly_price,
    compute_topology_penalty,
)
from .parallelism import Span, compute_block_sizes, compute_spans
from .requests.slurm import SlurmRequest
from .steps.accelerators import match_accelerator
from .steps.cost import JobCost, check_cost_limits
from .steps.data import DataTransfer, compute_data_transfers
from .steps.feasibility import (
    RefusalError,
    compute_shape,
    expand_pinned_nodes,
    require_capacity_type,
    require_licenses,
    require_node_tenant,
    require_tenant,
    require_time_limit,
)
from .steps.locality import LocalityRequest, select_locality
from .steps.mounts import check_mounts
from .steps.partitions import select_partition
from .steps.pods import build_kubernetes_request
from .steps.shape import JobChange, ShrinkAdvisor
from .steps.slices import AcceleratorUnits, compute_units
from .steps.tenant_quota import check_allotment
from .torus import find_free_box, select_box

__all__ = ["Candidate", "iter_candidates"]

_HOUR = 3600.0
_WEEK = 168


@dataclass(frozen=True)
class Candidate:
    """A possible placement of a job, with the values that it is compared by."""

    placement: Placement
    terms: ObjectiveTerms
    preference: int
    """The index of the requested type that it matches: 0 is the first."""
    steps_above: int
    """How many steps its accelerator is above the requested type."""
    idle_accelerators: int
    """Idle accelerators on its nodes."""


def iter_candidates(
    job: JobSpec, cluster: Cluster, pool: PoolPlan, fleet: Fleet | None, catalog: Catalog, now: float
) -> Iterator[Candidate]:
    """The placements of a job in a pool: one, or one per hour at which it may start; raises :class:`RefusalError`."""
    plan, state = cluster.plan, cluster.pools[pool.name]
    wanted, distance = match_accelerator(job, plan, pool, catalog)
    require_capacity_type(job, plan, pool)
    require_node_tenant(job, plan, pool)
    check_mounts(job, plan, pool)
    units = compute_units(job, pool, plan.scheduler.kind == "kubernetes")
    fewer = ShrinkAdvisor(job, units.per_node, pool.nodes - pool.spares)
    nodes, per_node, group_nodes = compute_shape(job, pool, fewer)
    memory = _require_memory(job, pool)
    spec = fleet.spec if fleet else None
    require_tenant(job, plan, nodes, fewer, spec)
    check_allotment(job, plan, pool, units, nodes, per_node, fewer)
    require_time_limit(job, plan, spec)
    held = require_licenses(job, plan)
    partition = select_partition(job, plan, pool, nodes, fewer)
    near = select_locality(job, plan, pool, nodes, _compute_segment(job, pool, per_node, group_nodes), partition, fewer)
    hosts = expand_pinned_nodes(job, pool, nodes)
    move = compute_data_transfers(job, cluster, fleet)
    lies, wait = _select_domains(job, cluster, state, nodes, per_node, units, near, hosts, fewer, now)
    _require_available(job, cluster)
    accelerator = pool.accelerator if per_node else None
    accounting = plan.scheduler.database is not None
    leaves = state.domains.levels[0]
    found = Placement(
        cluster=plan.name,
        pool=pool.name,
        nodes=nodes,
        accelerators_per_node=per_node * units.shards_per_unit,
        node_accelerators=units.per_node * units.shards_per_unit if units.kind else pool.accelerators_per_node,
        accelerator=units.name if accelerator else "",
        visible_env=accelerator.visible_env or "" if accelerator else "",
        slice=units.kind,
        locality=_adjust_locality(near, cluster, state, lies, nodes, per_node, units),
        hosts=hosts,
        domains=tuple((leaves[leaf].name, count) for leaf, count in lies.parts) if len(lies.parts) > 1 else (),
        spans=_compute_spans(job, state, per_node, lies),
        shape=_select_torus_box(plan, pool, state, nodes),
        fits_now=wait == 0,
        wait=None if wait is None else max(wait, move.seconds),
        egress=move.price,
        moved=move.names,
        memory=str(memory) if memory else "",
        checkpoint_every=_compute_checkpoint_interval(job, plan, nodes, catalog, fleet),
        request=build_kubernetes_request(job, plan, pool, units, near, nodes, per_node)
        or SlurmRequest(
            gres=units.gres if accelerator else "",
            partition=partition.name if partition else "",
            account=job.tenant or "" if accounting else "",
            qos=job.priority if accounting else "",
            constraint=_select_constraint(plan, pool, partition.pools if partition else ()),
            licenses=held,
        ),
    )
    for begin in _iter_start_delays(job, plan, found.wait, now):
        terms, price, carbon = _estimate_cost(job, cluster, pool, nodes, found.wait, move, begin, now)
        terms = replace(
            terms,
            topology=compute_topology_penalty(state.domains, lies, nodes),
            fragmentation=compute_fragmentation(lies, nodes, per_node, units.per_node),
        )
        check_cost_limits(job, plan, fleet, JobCost(price, nodes, terms.cost, terms.run_time))
        yield Candidate(
            replace(found, begin=begin, price=price, carbon=carbon),
            terms,
            wanted,
            distance,
            nodes * (units.per_node - per_node),
        )


def _require_available(job: JobSpec, cluster: Cluster) -> None:
    """Check that the cluster currently accepts jobs; the last step, so this refusal implies that the job fits there."""
    if cluster.unavailable_reason:
        pinned = [
            f"place.{field}" for field in ("clusters", "pools", "nodes") if getattr(job.place, field) not in ("any", ())
        ]
        elsewhere = f", or omit {' and '.join(pinned)} so that it can run elsewhere" if pinned else ""
        fix = "correct this, waiting does not help" if cluster.barred_until_corrected else "wait"
        later = "then" if cluster.barred_until_corrected else "later"
        raise RefusalError(cluster.unavailable_reason, f"the job would fit there {later}: {fix}{elsewhere}")


def _require_memory(job: JobSpec, pool: PoolPlan) -> MemoryDemand | None:
    """Check that the model fits in memory, if the job specifies its model."""
    accelerator = pool.accelerator
    if job.model is None or accelerator is None or not job.accelerator_count:
        return None
    has = accelerator.memory_reported or accelerator.memory
    if has is None:
        return None
    how = job.parallelism or Parallelism(data=job.accelerator_count)
    found = compute_memory_demand(job.model, how, has)
    if not found.fits:
        domain = pool.accelerators_per_node * pool.machine.domain_nodes
        raise RefusalError(f"the model needs {found}", *suggest_fitting_change(job.model, how, has, domain))
    return found


def _compute_segment(job: JobSpec, pool: PoolPlan, per_node: int, group_nodes: int) -> int:
    """Nodes of the largest group with constant communication that fits in one scale-up domain."""
    often, _ = compute_block_sizes(job.parallelism, per_node)
    return max((nodes for nodes in often if nodes <= pool.machine.domain_nodes), default=group_nodes)


def _select_domains(
    job: JobSpec,
    cluster: Cluster,
    state: PoolState,
    nodes: int,
    per_node: int,
    units: AcceleratorUnits,
    locality: LocalityRequest,
    hosts: tuple[str, ...],
    advisor: ShrinkAdvisor,
    now: float,
) -> tuple[DomainAllocation, float | None]:
    """The domains it takes nodes from, and how long it waits for them."""
    pool, need = state.pool, _compute_needed_accelerators(per_node, units)
    healthy = state.count_available(need, False)
    if healthy < nodes:
        words, change = advisor(nodes=healthy)
        raise RefusalError(
            f"the job needs {nodes} nodes, only {healthy} of {pool.nodes} are healthy",
            *_either(words, change, "wait until nodes are repaired", {}),
        )
    often, replicas = compute_block_sizes(job.parallelism, per_node)
    firm = (
        0
        if locality.required
        else max((block for block in often if block <= state.domains.get_largest_size(0)), default=0)
    )
    blocks = [*often, *replicas]
    column = state.count_by_domain(need, False)
    once = allocate_domains(state.domains, column, nodes, blocks, firm)
    assert once is not None  # there are enough nodes, and the outermost level has one domain
    if locality.required and locality.level in state.domains.names:
        level = state.domains.names.index(locality.level)
        if once.level > level:
            holds = max(sum(column[slice(*domain.innermost)]) for domain in state.domains.levels[level])
            words, change = advisor(nodes=holds)
            raise RefusalError(
                f"the job must fit in one {locality.level}, the largest has {holds} healthy nodes, it needs {nodes}",
                *_either(words, change, "omit place.near", {"place.near": None}),
            )
    if hosts:
        return once, _estimate_pinned_wait(state, hosts, need, now)
    if state.count_available(need, True) >= nodes + state.queued_nodes:
        free = allocate_domains(state.domains, state.count_by_domain(need, True), nodes, blocks, firm)
        nearer = locality.required and locality.level in state.domains.names
        far = free is None or nearer and free.level > state.domains.names.index(locality.level)
        segments = locality.segment if _has_whole_segments(state, column, locality.segment, nodes) else 0
        if free and not far and _has_whole_segments(state, state.count_by_domain(need, True), segments, nodes):
            return free, 0.0
        return once, None  # enough nodes are free, but too far apart
    return once, state.estimate_wait(nodes, need, now)


def _either(
    words: str, change: JobChange, other: str, other_change: JobChange
) -> tuple[str, JobChange, tuple[str, JobChange] | None]:
    """A fix and its alternative; only the alternative if there is no first."""
    return (words, change, (other, other_change)) if change else (other, other_change, None)


def _estimate_pinned_wait(state: PoolState, hosts: tuple[str, ...], accelerators: int, now: float) -> float | None:
    """Seconds until exactly these nodes are free."""
    width = len(state.pool.hosts.prefix)
    numbers = [int(host[width:]) - state.pool.hosts.first for host in hosts]
    for host, index in zip(hosts, numbers, strict=True):
        if state.healthy[index] < accelerators:
            raise RefusalError(
                f"{host} is not schedulable", "pin another node, or omit place.nodes", {"place.nodes": None}
            )
    busy = [index for index in numbers if state.free[index] < accelerators]
    if any(index not in state.busy_until for index in busy):
        return None
    return max((max(0.0, state.busy_until[index] - now) for index in busy), default=0.0)


def _compute_needed_accelerators(per_node: int, units: AcceleratorUnits) -> int:
    """Whole accelerators of a node that the job's units on it take; 1 also for a node without accelerators."""
    return max(1, int(-(-per_node // units.per_accelerator)))


def _has_whole_segments(state: PoolState, node_counts: tuple[int, ...], segment: int, nodes: int) -> bool:
    """Whether scale-up domains with these numbers of nodes hold a job in unbroken segments."""
    if segment < 2 or state.domains.names[0] != "scale-up":
        return True
    return sum(count // segment for count in node_counts) * segment >= nodes


def _adjust_locality(
    locality: LocalityRequest,
    cluster: Cluster,
    state: PoolState,
    allocation: DomainAllocation,
    nodes: int,
    per_node: int,
    units: AcceleratorUnits,
) -> LocalityRequest:
    """The request to the scheduler, adjusted to the observed state: no more than the healthy nodes can satisfy."""
    if cluster.observed_at is None or locality.required:
        return locality
    if not _has_whole_segments(
        state, state.count_by_domain(_compute_needed_accelerators(per_node, units), False), locality.segment, nodes
    ):
        locality = replace(locality, segment=allocation.block_size if allocation.block_size > 1 else 0)
    if locality.level not in state.domains.names:
        return locality
    level = max(state.domains.names.index(locality.level), allocation.level)
    switches = max(locality.switches, len(allocation.parts)) if locality.switches else 0
    return replace(locality, level=state.domains.names[level], switches=switches)


def _compute_spans(job: JobSpec, state: PoolState, per_node: int, allocation: DomainAllocation) -> tuple[Span, ...]:
    if job.parallelism is None or not per_node:
        return ()
    domains = state.domains
    levels = [(name, domains.get_largest_size(level) * per_node) for level, name in enumerate(domains.names)]
    return tuple(compute_spans(job.parallelism, per_node, [count for _, count in allocation.parts], levels))


def _select_torus_box(plan: Plan, pool: PoolPlan, state: PoolState, nodes: int) -> tuple[int, ...]:
    """In a torus: the box it takes, a free one if available."""
    torus = next(
        (
            item
            for item in plan.localities
            if item.kind == "torus3d" and item.dims and str(item.hosts) == str(pool.hosts)
        ),
        None,
    )
    box = select_box(nodes, torus.dims) if torus and nodes > 1 else None
    if torus is None or box is None:
        return ()
    return box if find_free_box(box, torus.dims, state.free) else ()


def _compute_checkpoint_interval(job: JobSpec, plan: Plan, nodes: int, catalog: Catalog, fleet: Fleet | None) -> int:
    failures = fleet.spec.policy.failures if fleet else "meta-rsc-1"
    return round(compute_checkpoint_interval(job, plan, nodes, catalog, failures) or 0)


def _iter_start_delays(job: JobSpec, plan: Plan, wait: float | None, now: float) -> Iterator[float]:
    """When it may start: immediately, and at each full hour within its deadline if energy data differ by the hour."""
    first = wait or 0.0
    if job.deadline is None:
        yield 0.0
        return
    run = job.time_limit.to("s") if job.time_limit else 0.0
    slack = job.deadline.to("s") - run - first
    if slack < 0:
        ends = f"it could start in {first / _HOUR:.1f} h and would end after its deadline of {job.deadline}"
        enough = f"{int((first + run) / _HOUR) + 1} h"
        raise RefusalError(ends, f"set deadline to at least {enough}", {"deadline": enough})
    yield 0.0
    supply = plan.facility.energy_plan if plan.facility else None
    if supply and len(supply.carbon_by_hour) == 24 and job.time_limit:
        begin = first + (-(now + first) % _HOUR or _HOUR)
        while begin <= first + min(slack, _WEEK * _HOUR):
            yield begin
            begin += _HOUR


def _estimate_cost(
    job: JobSpec,
    cluster: Cluster,
    pool: PoolPlan,
    nodes: int,
    wait: float | None,
    transfer: DataTransfer,
    start_delay: float,
    now: float,
) -> tuple[ObjectiveTerms, float | None, float | None]:
    """Its cost and emissions, per hour and until its time limit."""
    run = job.time_limit.to("s") if job.time_limit else _HOUR
    each = compute_hourly_price(cluster.plan, pool, cluster.member.prices)
    price = None if each is None else each * nodes
    cost = None if price is None else price * run / _HOUR + transfer.price
    starts = now + max(start_delay, wait or 0.0)
    carbon = compute_carbon(cluster.plan, compute_energy(cluster.plan, pool, nodes, run), starts, run)
    waits = None if wait is None else max(wait, start_delay)
    return ObjectiveTerms(cost, carbon, waits, run, 0.0, 0.0), price, carbon


def _select_constraint(plan: Plan, pool: PoolPlan, pool_names: tuple[str, ...]) -> str:
    """A feature that no other pool of the partition has; empty if the partition has no other pool."""
    others = {
        feature for other in plan.pools if other.name in pool_names and other is not pool for feature in other.features
    }
    alone = [feature for feature in pool.features if feature not in others]
    if len(pool_names) < 2 or not alone:
        return ""
    return pool.name if pool.name in alone else alone[0]
