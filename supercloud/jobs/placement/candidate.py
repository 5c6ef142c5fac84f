"""How a job would be placed in one pool, in steps from the hardest to change to the easiest.

Each step is a function that returns its value or a :class:`StepRefusal`. The first refusal is the reason that is
reported, and :mod:`.place` makes it a :class:`.answer.Refusal`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...plan.model.plan import Plan, PoolPlan
from ...spec.fleet import FleetPolicy
from ...spec.scheduler import Partition
from ..fleet.domains import DomainAllocation
from .answer import Placement, SchedulerRequest
from .checkpointing import compute_checkpoint_interval
from .context import PlacementContext
from .memory import MemoryDemand
from .objective import (
    ObjectiveTerms,
    compute_accelerator_energy,
    compute_carbon,
    compute_energy,
    compute_fragmentation,
    compute_hourly_price,
    compute_topology_penalty,
)
from .parallelism import Span, compute_spans
from .refusal import StepRefusal
from .requests.slurm import SlurmRequest
from .steps.accelerators import AcceleratorMatch, match_accelerator
from .steps.availability import check_availability
from .steps.capacity_type import check_capacity_type
from .steps.cost import JobCost, check_cost_limits
from .steps.data import DataTransfer, compute_data_transfers
from .steps.deadline import list_start_delays
from .steps.demand import NodeDemand, compute_demand
from .steps.domains import DomainSelection, adjust_locality, select_domains
from .steps.licenses import check_licenses, format_licenses
from .steps.locality import LocalityRequest, select_locality
from .steps.memory_fit import estimate_memory
from .steps.mounts import check_mounts
from .steps.node_tenant import check_node_tenant
from .steps.partitions import select_partition
from .steps.pinned_nodes import expand_pinned_nodes
from .steps.pods import build_kubernetes_request
from .steps.requested_pools import check_requested_pools
from .steps.tasks import check_tasks
from .steps.tenant import check_tenant, check_tenant_limits
from .steps.tenant_quota import check_tenant_quota
from .steps.time_limit import check_time_limit
from .torus import find_free_box, select_box

__all__ = ["Candidate", "list_candidates"]

_HOUR = 3600.0


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


@dataclass(frozen=True)
class _Admission:
    """What the pool and the cluster's policies allow a job."""

    match: AcceleratorMatch
    demand: NodeDemand
    memory: MemoryDemand | None


@dataclass(frozen=True)
class _NodeSelection:
    """The nodes that a job takes, and the data that it needs there."""

    partition: Partition | None
    locality: LocalityRequest
    hosts: tuple[str, ...]
    transfer: DataTransfer
    domains: DomainSelection


def list_candidates(context: PlacementContext) -> list[Candidate] | StepRefusal:
    """The placements of a job in a pool: one, or one per hour at which it may start."""
    admission = _admit(context)
    if isinstance(admission, StepRefusal):
        return admission
    demand = admission.demand
    selection = _select_nodes(context, demand)
    if isinstance(selection, StepRefusal):
        return selection
    request = _build_request(context, demand, selection)
    if isinstance(request, StepRefusal):
        return request
    placement = _build_placement(context, admission, selection, request)
    delays = list_start_delays(context, placement.wait)
    if isinstance(delays, StepRefusal):
        return delays
    cost = _estimate_cost(context, demand, selection.transfer)
    if refusal := check_cost_limits(context, cost):
        return refusal
    return [_build_candidate(context, admission, selection, placement, cost, delay) for delay in delays]


def _admit(context: PlacementContext) -> _Admission | StepRefusal:
    """Check what does not depend on the state of the nodes."""
    if refusal := check_requested_pools(context) or check_tenant(context):
        return refusal
    match = match_accelerator(context)
    if isinstance(match, StepRefusal):
        return match
    if refusal := check_capacity_type(context) or check_node_tenant(context) or check_mounts(context):
        return refusal
    demand = compute_demand(context)
    if isinstance(demand, StepRefusal):
        return demand
    if refusal := check_tasks(context):
        return refusal
    memory = estimate_memory(context)
    if isinstance(memory, StepRefusal):
        return memory
    refusal = (
        check_tenant_limits(context, demand)
        or check_tenant_quota(context, demand)
        or check_time_limit(context)
        or check_licenses(context)
    )
    return refusal or _Admission(match, demand, memory)


def _select_nodes(context: PlacementContext, demand: NodeDemand) -> _NodeSelection | StepRefusal:
    partition = select_partition(context, demand)
    if isinstance(partition, StepRefusal):
        return partition
    locality = select_locality(context, demand, partition)
    if isinstance(locality, StepRefusal):
        return locality
    hosts = expand_pinned_nodes(context, demand)
    if isinstance(hosts, StepRefusal):
        return hosts
    transfer = compute_data_transfers(context)
    if isinstance(transfer, StepRefusal):
        return transfer
    domains = select_domains(context, demand, locality, hosts)
    if isinstance(domains, StepRefusal):
        return domains
    return check_availability(context) or _NodeSelection(partition, locality, hosts, transfer, domains)


def _build_placement(
    context: PlacementContext, admission: _Admission, selection: _NodeSelection, request: SchedulerRequest
) -> Placement:
    """The placement, without what depends on its start."""
    pool, demand, units = context.pool, admission.demand, admission.demand.units
    accelerator = pool.accelerator if demand.per_node else None
    allocation, wait = selection.domains.allocation, selection.domains.wait
    leaves = context.state.domains.levels[0]
    parts = tuple((leaves[leaf].name, count) for leaf, count in allocation.parts)
    return Placement(
        cluster=context.plan.name,
        pool=pool.name,
        nodes=demand.nodes,
        accelerators_per_node=demand.per_node * units.shards_per_unit,
        node_accelerators=units.per_node * units.shards_per_unit if units.kind else pool.accelerators_per_node,
        accelerator=units.name if accelerator else "",
        visible_env=accelerator.visible_env or "" if accelerator else "",
        slice=units.kind,
        locality=adjust_locality(context, demand, selection.locality, allocation),
        hosts=selection.hosts,
        domains=parts if len(parts) > 1 else (),
        spans=_compute_spans(context, demand.per_node, allocation),
        shape=_select_torus_box(context, demand.nodes),
        fits_now=wait == 0,
        wait=None if wait is None else max(wait, selection.transfer.seconds),
        egress=selection.transfer.price,
        moved=selection.transfer.names,
        memory=str(admission.memory) if admission.memory else "",
        checkpoint_every=_compute_checkpoint_interval(context, demand.nodes),
        request=request,
    )


def _build_candidate(
    context: PlacementContext,
    admission: _Admission,
    selection: _NodeSelection,
    placement: Placement,
    cost: JobCost,
    start_delay: float,
) -> Candidate:
    """The placement with a start ``start_delay`` seconds after submission, and what it is compared by."""
    demand, allocation, wait = admission.demand, selection.domains.allocation, placement.wait
    starts = context.now + max(start_delay, wait or 0.0)
    energy = compute_energy(context.plan, context.pool, demand.nodes, cost.run_time)
    carbon = compute_carbon(context.plan, energy, starts, cost.run_time)
    least = None if energy is not None else compute_accelerator_energy(context.pool, demand.nodes, cost.run_time)
    terms = ObjectiveTerms(
        cost=cost.total,
        carbon=carbon,
        wait=None if wait is None else max(wait, start_delay),
        run_time=cost.run_time,
        topology=compute_topology_penalty(context.state.domains, allocation, demand.nodes),
        fragmentation=compute_fragmentation(allocation, demand.nodes, demand.per_node, demand.units.per_node),
    )
    return Candidate(
        replace(
            placement,
            begin=start_delay,
            price=cost.price,
            carbon=carbon,
            accelerator_carbon=compute_carbon(context.plan, least, starts, cost.run_time),
        ),
        terms,
        admission.match.preference,
        admission.match.steps_above,
        demand.nodes * (demand.units.per_node - demand.per_node),
    )


def _estimate_cost(context: PlacementContext, demand: NodeDemand, transfer: DataTransfer) -> JobCost:
    """Its cost per hour and until its time limit, or for an hour if it has none."""
    job = context.job
    run_time = job.time_limit.to("s") if job.time_limit else _HOUR
    each = compute_hourly_price(context.plan, context.pool, context.cluster.member.prices)
    price = None if each is None else each * demand.nodes
    total = None if price is None else price * run_time / _HOUR + transfer.price
    return JobCost(price, demand.nodes, total, run_time)


def _build_request(
    context: PlacementContext, demand: NodeDemand, selection: _NodeSelection
) -> SchedulerRequest | StepRefusal:
    """What is requested of the cluster's scheduler."""
    request = build_kubernetes_request(context, demand, selection.locality)
    return request or _build_slurm_request(context, demand, selection.partition)


def _build_slurm_request(context: PlacementContext, demand: NodeDemand, partition: Partition | None) -> SlurmRequest:
    """Account and QOS only where Slurm has a database of them."""
    has_accounts = context.plan.scheduler.database is not None
    return SlurmRequest(
        gres=demand.units.gres if context.pool.accelerator and demand.per_node else "",
        partition=partition.name if partition else "",
        account=context.job.tenant or "" if has_accounts else "",
        qos=context.job.priority if has_accounts else "",
        constraint=_select_constraint(context.plan, context.pool, partition.pools if partition else ()),
        licenses=format_licenses(context.job),
    )


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
    failures = (context.fleet.spec.policy if context.fleet else FleetPolicy()).failures
    return round(compute_checkpoint_interval(context.job, context.plan, nodes, context.catalog, failures) or 0)


def _select_constraint(plan: Plan, pool: PoolPlan, pool_names: tuple[str, ...]) -> str:
    """A feature that no other pool of the partition has; empty if the partition has no other pool."""
    others = {
        feature for other in plan.pools if other.name in pool_names and other is not pool for feature in other.features
    }
    alone = [feature for feature in pool.features if feature not in others]
    if len(pool_names) < 2 or not alone:
        return ""
    return pool.name if pool.name in alone else alone[0]
