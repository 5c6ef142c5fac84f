"""How a job would be placed in one pool, in steps from the hardest to change to the easiest.

Each step is a function that returns its value, or refuses by raising :class:`RefusalError`: the first refusal is the
reason that is reported, and :mod:`.place` makes it a :class:`.answer.Refusal`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...plan.model.plan import Plan, PoolPlan
from ...spec import JobSpec
from ...spec.job import Parallelism
from ...spec.scheduler import Partition
from ..fleet.domains import DomainAllocation, allocate_domains
from ..fleet.state import Cluster, PoolState
from .answer import Placement
from .checkpointing import compute_checkpoint_interval
from .context import NodeDemand, PlacementContext
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
from .steps.slices import compute_units
from .steps.tenant_quota import check_tenant_quota
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


def iter_candidates(context: PlacementContext) -> Iterator[Candidate]:
    """The placements of a job in a pool: one, or one per hour at which it may start; raises :class:`RefusalError`."""
    job, plan, pool, fleet = context.job, context.plan, context.pool, context.fleet
    preference, steps_above = match_accelerator(job, plan, pool, context.catalog)
    require_capacity_type(job, plan, pool)
    require_node_tenant(job, plan, pool)
    check_mounts(job, plan, pool)
    need = _compute_demand(context)
    nodes, per_node, units = need.nodes, need.per_node, need.units
    memory = _require_memory(job, pool)
    spec = fleet.spec if fleet else None
    require_tenant(job, plan, nodes, need.advisor, spec)
    check_tenant_quota(job, plan, pool, units, nodes, per_node, need.advisor)
    require_time_limit(job, plan, spec)
    licenses = require_licenses(job, plan)
    partition = select_partition(job, plan, pool, nodes, need.advisor)
    segment = _compute_segment(job, pool, per_node, need.group_nodes)
    locality = select_locality(job, plan, pool, nodes, segment, partition, need.advisor)
    hosts = expand_pinned_nodes(job, pool, nodes)
    transfer = compute_data_transfers(job, context.cluster, fleet)
    allocation, wait = _select_domains(context, need, locality, hosts)
    _require_available(job, context.cluster)
    accelerator = pool.accelerator if per_node else None
    leaves = context.state.domains.levels[0]
    found = Placement(
        cluster=plan.name,
        pool=pool.name,
        nodes=nodes,
        accelerators_per_node=per_node * units.shards_per_unit,
        node_accelerators=units.per_node * units.shards_per_unit if units.kind else pool.accelerators_per_node,
        accelerator=units.name if accelerator else "",
        visible_env=accelerator.visible_env or "" if accelerator else "",
        slice=units.kind,
        locality=_adjust_locality(context, need, locality, allocation),
        hosts=hosts,
        domains=tuple((leaves[leaf].name, count) for leaf, count in allocation.parts)
        if len(allocation.parts) > 1
        else (),
        spans=_compute_spans(context, per_node, allocation),
        shape=_select_torus_box(context, nodes),
        fits_now=wait == 0,
        wait=None if wait is None else max(wait, transfer.seconds),
        egress=transfer.price,
        moved=transfer.names,
        memory=str(memory) if memory else "",
        checkpoint_every=_compute_checkpoint_interval(context, nodes),
        request=build_kubernetes_request(job, plan, pool, units, locality, nodes, per_node)
        or _build_slurm_request(context, units.gres if accelerator else "", partition, licenses),
    )
    for begin in _iter_start_delays(context, found.wait):
        terms, price, carbon = _estimate_cost(context, nodes, found.wait, transfer, begin)
        terms = replace(
            terms,
            topology=compute_topology_penalty(context.state.domains, allocation, nodes),
            fragmentation=compute_fragmentation(allocation, nodes, per_node, units.per_node),
        )
        check_cost_limits(job, plan, fleet, JobCost(price, nodes, terms.cost, terms.run_time))
        placement = replace(found, begin=begin, price=price, carbon=carbon)
        yield Candidate(placement, terms, preference, steps_above, nodes * (units.per_node - per_node))


def _compute_demand(context: PlacementContext) -> NodeDemand:
    """The units of the job in the pool, and the nodes that it needs for them."""
    job, pool = context.job, context.pool
    units = compute_units(job, pool, context.plan.scheduler.kind == "kubernetes")
    advisor = ShrinkAdvisor(job, units.per_node, pool.nodes - pool.spares)
    nodes, per_node, group_nodes = compute_shape(job, pool, advisor)
    return NodeDemand(nodes, per_node, group_nodes, units, advisor)


def _build_slurm_request(
    context: PlacementContext, gres: str, partition: Partition | None, licenses: str
) -> SlurmRequest:
    """Account and QOS only where Slurm has a database of them."""
    has_accounts = context.plan.scheduler.database is not None
    return SlurmRequest(
        gres=gres,
        partition=partition.name if partition else "",
        account=context.job.tenant or "" if has_accounts else "",
        qos=context.job.priority if has_accounts else "",
        constraint=_select_constraint(context.plan, context.pool, partition.pools if partition else ()),
        licenses=licenses,
    )


def _require_available(job: JobSpec, cluster: Cluster) -> None:
    """Check that the cluster currently accepts jobs; the last step, so this refusal implies that the job fits there."""
    if cluster.unavailable_reason:
        pinned = [
            f"place.{field}" for field in ("clusters", "pools", "nodes") if getattr(job.place, field) not in ("any", ())
        ]
        elsewhere = f", or omit {' and '.join(pinned)} so that it can run elsewhere" if pinned else ""
        fix = "correct this, waiting does not help" if cluster.excluded_until_fixed else "wait"
        later = "then" if cluster.excluded_until_fixed else "later"
        raise RefusalError(cluster.unavailable_reason, f"the job would fit there {later}: {fix}{elsewhere}")


def _require_memory(job: JobSpec, pool: PoolPlan) -> MemoryDemand | None:
    """Check that the model fits in memory, if the job specifies its model."""
    accelerator = pool.accelerator
    if job.model is None or accelerator is None or not job.accelerator_count:
        return None
    capacity = accelerator.memory_reported or accelerator.memory
    if capacity is None:
        return None
    parallelism = job.parallelism or Parallelism(data=job.accelerator_count)
    demand = compute_memory_demand(job.model, parallelism, capacity)
    if not demand.fits:
        domain = pool.accelerators_per_node * pool.machine.domain_nodes
        raise RefusalError(
            f"the model needs {demand}", *suggest_fitting_change(job.model, parallelism, capacity, domain)
        )
    return demand


def _compute_segment(job: JobSpec, pool: PoolPlan, per_node: int, group_nodes: int) -> int:
    """Nodes of the largest group with constant communication that fits in one scale-up domain."""
    frequent, _ = compute_block_sizes(job.parallelism, per_node)
    return max((nodes for nodes in frequent if nodes <= pool.machine.domain_nodes), default=group_nodes)


def _select_domains(
    context: PlacementContext, need: NodeDemand, locality: LocalityRequest, hosts: tuple[str, ...]
) -> tuple[DomainAllocation, float | None]:
    """The domains it takes nodes from, and how long it waits for them."""
    state, nodes, now = context.state, need.nodes, context.now
    required = need.accelerators
    healthy = state.count_available(required, False)
    if healthy < nodes:
        words, change = need.advisor(nodes=healthy)
        raise RefusalError(
            f"the job needs {nodes} nodes, only {healthy} of {context.pool.nodes} are healthy",
            *_either(words, change, "wait until nodes are repaired", {}),
        )
    frequent, replicas = compute_block_sizes(context.job.parallelism, need.per_node)
    unbroken = (
        0
        if locality.required
        else max((block for block in frequent if block <= state.domains.get_largest_size(0)), default=0)
    )
    blocks = [*frequent, *replicas]
    healthy_by_domain = state.count_by_domain(required, False)
    planned = allocate_domains(state.domains, healthy_by_domain, nodes, blocks, unbroken)
    assert planned is not None  # there are enough nodes, and the outermost level has one domain
    if locality.required and locality.level in state.domains.names:
        level = state.domains.names.index(locality.level)
        if planned.level > level:
            largest = max(sum(healthy_by_domain[slice(*domain.innermost)]) for domain in state.domains.levels[level])
            words, change = need.advisor(nodes=largest)
            raise RefusalError(
                f"the job must fit in one {locality.level}, the largest has {largest} healthy nodes, it needs {nodes}",
                *_either(words, change, "omit place.near", {"place.near": None}),
            )
    if hosts:
        return planned, _estimate_pinned_wait(state, hosts, required, now)
    if state.count_available(required, True) >= nodes + state.queued_nodes:
        free = allocate_domains(state.domains, state.count_by_domain(required, True), nodes, blocks, unbroken)
        must_fit_level = locality.required and locality.level in state.domains.names
        too_far = free is None or must_fit_level and free.level > state.domains.names.index(locality.level)
        segments = locality.segment if _has_whole_segments(state, healthy_by_domain, locality.segment, nodes) else 0
        if free and not too_far and _has_whole_segments(state, state.count_by_domain(required, True), segments, nodes):
            return free, 0.0
        return planned, None  # enough nodes are free, but too far apart
    return planned, state.estimate_wait(nodes, required, now)


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


def _has_whole_segments(state: PoolState, node_counts: tuple[int, ...], segment: int, nodes: int) -> bool:
    """Whether scale-up domains with these numbers of nodes hold a job in unbroken segments."""
    if segment < 2 or state.domains.names[0] != "scale-up":
        return True
    return sum(count // segment for count in node_counts) * segment >= nodes


def _adjust_locality(
    context: PlacementContext, need: NodeDemand, locality: LocalityRequest, allocation: DomainAllocation
) -> LocalityRequest:
    """The request to the scheduler, adjusted to the observed state: no more than the healthy nodes can satisfy."""
    if context.cluster.observed_at is None or locality.required:
        return locality
    state = context.state
    healthy = state.count_by_domain(need.accelerators, False)
    if not _has_whole_segments(state, healthy, locality.segment, need.nodes):
        locality = replace(locality, segment=allocation.block_size if allocation.block_size > 1 else 0)
    if locality.level not in state.domains.names:
        return locality
    level = max(state.domains.names.index(locality.level), allocation.level)
    switches = max(locality.switches, len(allocation.parts)) if locality.switches else 0
    return replace(locality, level=state.domains.names[level], switches=switches)


def _compute_spans(context: PlacementContext, per_node: int, allocation: DomainAllocation) -> tuple[Span, ...]:
    parallelism, domains = context.job.parallelism, context.state.domains
    if parallelism is None or not per_node:
        return ()
    levels = [(name, domains.get_largest_size(level) * per_node) for level, name in enumerate(domains.names)]
    return tuple(compute_spans(parallelism, per_node, [count for _, count in allocation.parts], levels))


def _select_torus_box(context: PlacementContext, nodes: int) -> tuple[int, ...]:
    """In a torus: the box it takes, a free one if available."""
    torus = next(
        (
            item
            for item in context.plan.localities
            if item.kind == "torus3d" and item.dims and str(item.hosts) == str(context.pool.hosts)
        ),
        None,
    )
    box = select_box(nodes, torus.dims) if torus and nodes > 1 else None
    if torus is None or box is None:
        return ()
    return box if find_free_box(box, torus.dims, context.state.free) else ()


def _compute_checkpoint_interval(context: PlacementContext, nodes: int) -> int:
    failures = context.fleet.spec.policy.failures if context.fleet else "meta-rsc-1"
    return round(compute_checkpoint_interval(context.job, context.plan, nodes, context.catalog, failures) or 0)


def _iter_start_delays(context: PlacementContext, wait: float | None) -> Iterator[float]:
    """When it may start: immediately, and at each full hour within its deadline if energy data differ by the hour."""
    job, plan = context.job, context.plan
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
        begin = first + (-(context.now + first) % _HOUR or _HOUR)
        while begin <= first + min(slack, _WEEK * _HOUR):
            yield begin
            begin += _HOUR


def _estimate_cost(
    context: PlacementContext, nodes: int, wait: float | None, transfer: DataTransfer, start_delay: float
) -> tuple[ObjectiveTerms, float | None, float | None]:
    """Its cost and emissions, per hour and until its time limit."""
    job, plan, pool = context.job, context.plan, context.pool
    run = job.time_limit.to("s") if job.time_limit else _HOUR
    each = compute_hourly_price(plan, pool, context.cluster.member.prices)
    price = None if each is None else each * nodes
    cost = None if price is None else price * run / _HOUR + transfer.price
    starts = context.now + max(start_delay, wait or 0.0)
    carbon = compute_carbon(plan, compute_energy(plan, pool, nodes, run), starts, run)
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
