"""How a job would lie in one pool, step by step from what is hardest to change to what is easiest.

Each step is a function that says no by raising :class:`Refused`; the first that does is the binding reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...catalog import Catalog
from ...plan.model.plan import Plan, PoolPlan
from ...spec import JobSpec
from ...spec.job import Parallelism
from ..fleet.domains import Spread, spread
from ..fleet.state import Cluster, Fleet, PoolState
from .answer import Placement
from .checkpointing import proposed_interval
from .memory import Memory, memory_of, what_fits
from .objective import Terms, carbon_of, energy_of, fragmentation, hourly_price, topology
from .parallelism import Span, near_blocks, spans
from .steps.accelerators import match
from .steps.cost import affordable
from .steps.data import Move, moves
from .steps.feasibility import Refused, capability, check_node_tenants, licenses, limits, pinned, shape, tenant
from .steps.locality import Nearness, nearness
from .steps.mounts import check_mounts
from .steps.partitions import choose
from .steps.pods import pods_of
from .steps.shape import Change, Fewer
from .steps.slices import Units, units_of
from .steps.tenant_quota import check_allotment
from .torus import box_at, box_of

__all__ = ["Candidate", "fit"]

_HOUR = 3600.0
_WEEK = 168


@dataclass(frozen=True)
class Candidate:
    """A way to place a job, with all that it is compared by."""

    placement: Placement
    terms: Terms
    wanted: int
    """Which of the job's wishes it fulfils: 0 is the first."""
    distance: int
    """How far its accelerator lies above that wish."""
    idle: int
    """Accelerators it leaves idle on its nodes."""


def fit(job: JobSpec, cluster: Cluster, pool: PoolPlan, fleet: Fleet | None, catalog: Catalog,
        now: float) -> Iterator[Candidate]:  # fmt: skip
    """The ways a job lies in a pool: one, or one for each hour it may begin at; raises :class:`Refused`."""
    plan, state = cluster.plan, cluster.pools[pool.name]
    wanted, distance = match(job, plan, pool, catalog)
    capability(job, plan, pool)
    check_node_tenants(job, plan, pool)
    check_mounts(job, plan, pool)
    units = units_of(job, pool, plan.scheduler.kind == "kubernetes")
    fewer = Fewer(job, units.per_node, pool.nodes - pool.spares)
    nodes, per_node, group_nodes = shape(job, pool, fewer)
    memory = _memory(job, pool)
    spec = fleet.spec if fleet else None
    tenant(job, plan, nodes, fewer, spec)
    check_allotment(job, plan, pool, units, nodes, per_node, fewer)
    limits(job, plan, spec)
    held = licenses(job, plan)
    partition = choose(job, plan, pool, nodes, fewer)
    near = nearness(job, plan, pool, nodes, _segment(job, pool, per_node, group_nodes), partition, fewer)
    hosts = pinned(job, pool, nodes)
    move = moves(job, cluster, fleet)
    lies, wait = _lie(job, cluster, state, nodes, per_node, units, near, hosts, fewer, now)
    _check_barred(job, cluster)
    accelerator = pool.accelerator if per_node else None
    accounting = plan.scheduler.database is not None
    leaves = state.domains.levels[0]
    found = Placement(
        cluster=plan.name,
        pool=pool.name,
        nodes=nodes,
        accelerators_per_node=per_node * units.each,
        node_accelerators=units.per_node * units.each if units.kind else pool.per_node,
        accelerator=units.name if accelerator else "",
        gres=units.gres if accelerator else "",
        visible_env=accelerator.visible_env or "" if accelerator else "",
        near=_seen(near, cluster, state, lies, nodes, per_node, units),
        partition=partition.name if partition else "",
        account=job.tenant or "" if accounting else "",
        qos=job.priority if accounting else "",
        constraint=_constraint(plan, pool, partition.pools if partition else ()),
        hosts=hosts,
        licenses=held,
        slice=units.kind,
        domains=tuple((leaves[leaf].name, count) for leaf, count in lies.parts) if len(lies.parts) > 1 else (),
        spans=_spans(job, state, per_node, lies),
        shape=_box(plan, pool, state, nodes),
        fits_now=wait == 0,
        wait=None if wait is None else max(wait, move.seconds),
        egress=move.price,
        moved=move.names,
        memory=str(memory) if memory else "",
        checkpoint_every=_checkpoint(job, plan, nodes, catalog, fleet),
        pods=pods_of(job, plan, pool, units, near, nodes, per_node),
    )
    for begin in _begins(job, plan, found.wait, now):
        terms, price, carbon = _estimate(job, cluster, pool, nodes, found.wait, move, begin, now)
        terms = replace(terms, topology=topology(state.domains, lies, nodes),
                        fragmentation=fragmentation(lies, nodes, per_node, units.per_node))  # fmt: skip
        affordable(job, plan, fleet, terms, price, nodes)
        yield Candidate(replace(found, begin=begin, price=price, carbon=carbon), terms, wanted, distance,
                        nodes * (units.per_node - per_node))  # fmt: skip


def _check_barred(job: JobSpec, cluster: Cluster) -> None:
    """Whether the cluster takes jobs at present: asked last, so that who hears of it knows that the job fits there."""
    if cluster.barred:
        pinned = [f"place.{field}" for field in ("clusters", "pools", "nodes")
                  if getattr(job.place, field) not in ("any", ())]  # fmt: skip
        elsewhere = f", or leave out {' and '.join(pinned)} so that it may go elsewhere" if pinned else ""
        cure = "correct this, as waiting does not help" if cluster.barred_until_corrected else "wait"
        later = "then" if cluster.barred_until_corrected else "later"
        raise Refused(cluster.barred, f"the job would fit there {later}: {cure}{elsewhere}")


def _memory(job: JobSpec, pool: PoolPlan) -> Memory | None:
    """Whether the model fits, where the job says what it trains."""
    accelerator = pool.accelerator
    if job.model is None or accelerator is None or not job.accelerator_count:
        return None
    has = accelerator.memory_reported or accelerator.memory
    if has is None:
        return None
    how = job.parallelism or Parallelism(data=job.accelerator_count)
    found = memory_of(job.model, how, has)
    if not found.fits:
        domain = pool.per_node * pool.machine.domain_nodes
        raise Refused(f"the model needs {found}", *what_fits(job.model, how, has, domain))
    return found


def _segment(job: JobSpec, pool: PoolPlan, per_node: int, group_nodes: int) -> int:
    """Nodes of the largest group that talks all the time and that one scale-up domain holds."""
    often, _ = near_blocks(job.parallelism, per_node)
    return max((nodes for nodes in often if nodes <= pool.machine.domain_nodes), default=group_nodes)


def _lie(job: JobSpec, cluster: Cluster, state: PoolState, nodes: int, per_node: int, units: Units, near: Nearness,
         hosts: tuple[str, ...], fewer: Fewer, now: float) -> tuple[Spread, float | None]:  # fmt: skip
    """Which domains it takes nodes from, and how long it waits for them."""
    pool, need = state.pool, _need(per_node, units)
    healthy = state.available(need, False)
    if healthy < nodes:
        words, change = fewer(nodes=healthy)
        raise Refused(f"the job needs {nodes} nodes, {healthy} of the {pool.nodes} are in order",
                      *_either(words, change, "wait until nodes are repaired", {}))  # fmt: skip
    often, replicas = near_blocks(job.parallelism, per_node)
    firm = 0 if near.required else max((block for block in often if block <= state.domains.largest(0)), default=0)
    blocks = [*often, *replicas]
    column = state.counts(need, False)
    once = spread(state.domains, column, nodes, blocks, firm)
    assert once is not None  # there are enough, and the outermost level has one domain
    if near.required and near.level in state.domains.names:
        level = state.domains.names.index(near.level)
        if once.level > level:
            holds = max(sum(column[slice(*domain.leaves)]) for domain in state.domains.levels[level])
            words, change = fewer(nodes=holds)
            raise Refused(f"the job must lie within one {near.level}, the largest has {holds} nodes in order, it needs "
                          f"{nodes}", *_either(words, change, "leave out place.near", {"place.near": None})
                          )  # fmt: skip
    if hosts:
        return once, _pinned_wait(state, hosts, need, now)
    if state.available(need, True) >= nodes + state.queued:
        free = spread(state.domains, state.counts(need, True), nodes, blocks, firm)
        nearer = near.required and near.level in state.domains.names
        far = free is None or nearer and free.level > state.domains.names.index(near.level)
        segments = near.segment if _keeps(state, column, near.segment, nodes) else 0
        if free and not far and _keeps(state, state.counts(need, True), segments, nodes):
            return free, 0.0
        return once, None  # enough are free, but too far apart
    return once, state.wait(nodes, need, now)


def _either(
    words: str, change: Change, other: str, other_change: Change
) -> tuple[str, Change, tuple[str, Change] | None]:
    """A remedy and what may take its place; only the other where there is no first."""
    return (words, change, (other, other_change)) if change else (other, other_change, None)


def _pinned_wait(state: PoolState, hosts: tuple[str, ...], need: int, now: float) -> float | None:
    """How long until just these nodes are free."""
    width = len(state.pool.hosts.prefix)
    numbers = [int(host[width:]) - state.pool.hosts.first for host in hosts]
    for host, index in zip(hosts, numbers, strict=True):
        if state.healthy[index] < need:
            raise Refused(f"{host} takes no work", "pin another node, or leave out place.nodes", {"place.nodes": None})
    busy = [index for index in numbers if state.free[index] < need]
    if any(index not in state.until for index in busy):
        return None
    return max((max(0.0, state.until[index] - now) for index in busy), default=0.0)


def _need(per_node: int, units: Units) -> int:
    """Whole accelerators of a node that what the job counts on it takes; 1 also stands for a node without any."""
    return max(1, int(-(-per_node // units.on_one)))


def _keeps(state: PoolState, column: tuple[int, ...], segment: int, nodes: int) -> bool:
    """Whether scale-up domains with so many nodes each have room for a job in unbroken segments."""
    if segment < 2 or state.domains.names[0] != "scale-up":
        return True
    return sum(count // segment for count in column) * segment >= nodes


def _seen(near: Nearness, cluster: Cluster, state: PoolState, lies: Spread, nodes: int, per_node: int,
          units: Units) -> Nearness:  # fmt: skip
    """What is asked of the scheduler, after what its engine saw: no more than the nodes that are in order can give."""
    if cluster.taken_at is None or near.required:
        return near
    if not _keeps(state, state.counts(_need(per_node, units), False), near.segment, nodes):
        near = replace(near, segment=lies.unit if lies.unit > 1 else 0)
    if near.level not in state.domains.names:
        return near
    level = max(state.domains.names.index(near.level), lies.level)
    switches = max(near.switches, len(lies.parts)) if near.switches else 0
    return replace(near, level=state.domains.names[level], switches=switches)


def _spans(job: JobSpec, state: PoolState, per_node: int, lies: Spread) -> tuple[Span, ...]:
    if job.parallelism is None or not per_node:
        return ()
    domains = state.domains
    levels = [(name, domains.largest(level) * per_node) for level, name in enumerate(domains.names)]
    return tuple(spans(job.parallelism, per_node, [count for _, count in lies.parts], levels))


def _box(plan: Plan, pool: PoolPlan, state: PoolState, nodes: int) -> tuple[int, ...]:
    """In a torus: the box it takes, one that is free where there is one."""
    torus = next((item for item in plan.localities if item.kind == "torus3d" and item.dims
                  and str(item.hosts) == str(pool.hosts)), None)  # fmt: skip
    box = box_of(nodes, torus.dims) if torus and nodes > 1 else None
    if torus is None or box is None:
        return ()
    return box if box_at(box, torus.dims, state.free) else ()


def _checkpoint(job: JobSpec, plan: Plan, nodes: int, catalog: Catalog, fleet: Fleet | None) -> int:
    failures = fleet.spec.policy.failures if fleet else "meta-rsc-1"
    return round(proposed_interval(job, plan, nodes, catalog, failures) or 0)


def _begins(job: JobSpec, plan: Plan, wait: float | None, now: float) -> Iterator[float]:
    """When it may begin: at once; and at each full hour that its deadline allows, where energy differs by the hour."""
    first = wait or 0.0
    if job.deadline is None:
        yield 0.0
        return
    run = job.time_limit.to("s") if job.time_limit else 0.0
    slack = job.deadline.to("s") - run - first
    if slack < 0:
        ends = f"it could start in {first / _HOUR:.1f} h and would end after its deadline, {job.deadline}"
        enough = f"{int((first + run) / _HOUR) + 1} h"
        raise Refused(ends, f"set deadline to at least {enough}", {"deadline": enough})
    yield 0.0
    supply = plan.facility.energy if plan.facility else None
    if supply and len(supply.carbon_by_hour) == 24 and job.time_limit:
        begin = first + (-(now + first) % _HOUR or _HOUR)
        while begin <= first + min(slack, _WEEK * _HOUR):
            yield begin
            begin += _HOUR


def _estimate(job: JobSpec, cluster: Cluster, pool: PoolPlan, nodes: int, wait: float | None, move: Move, begin: float,
              now: float) -> tuple[Terms, float | None, float | None]:  # fmt: skip
    """What it costs and emits, by the hour and until its time limit."""
    run = job.time_limit.to("s") if job.time_limit else _HOUR
    each = hourly_price(cluster.plan, pool, cluster.member.prices)
    price = None if each is None else each * nodes
    cost = None if price is None else price * run / _HOUR + move.price
    starts = now + max(begin, wait or 0.0)
    carbon = carbon_of(cluster.plan, energy_of(cluster.plan, pool, nodes, run), starts, run)
    waits = None if wait is None else max(wait, begin)
    return Terms(cost, carbon, waits, run, 0.0, 0.0), price, carbon


def _constraint(plan: Plan, pool: PoolPlan, together: tuple[str, ...]) -> str:
    """A feature no other pool of the partition has; nothing where the partition is the pool."""
    others = {feature for other in plan.pools if other.name in together and other is not pool
              for feature in other.features}  # fmt: skip
    alone = [feature for feature in pool.features if feature not in others]
    if len(together) < 2 or not alone:
        return ""
    return pool.name if pool.name in alone else alone[0]
