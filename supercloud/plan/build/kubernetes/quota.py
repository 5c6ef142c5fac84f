"""How many devices, processors and bytes a node offers to jobs, and how tenants share them.

Whole nodes are allotted where every tenant gets at least one: a part of a node is of no use to a gang of whole nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...model.plan import Plan, PoolPlan, TenantPlan

__all__ = [
    "CPU",
    "MEMORY",
    "Allotment",
    "allotments",
    "bounds",
    "covered",
    "node_resources",
    "pool_capacity",
    "shared_out",
]

CPU, MEMORY = "cpu", "memory"
"""Names of the resources every node has; memory is counted in MiB."""


def node_resources(pool: PoolPlan) -> dict[str, int]:
    """What one node of a pool offers to jobs; memory in MiB. What nobody sourced is not there."""
    found: dict[str, int] = {}
    machine = pool.machine
    if pool.threads is not None:
        found[CPU] = pool.threads
    if machine.memory:
        found[MEMORY] = machine.memory.floor("MiB") - pool.reserved_memory.ceil("MiB")
    if pool.accelerator and pool.accelerator.kubernetes:
        found |= _devices(pool, pool.accelerator.kubernetes)
    return found


def _devices(pool: PoolPlan, resource: str) -> dict[str, int]:
    """Accelerators by the names the device plugin gives them: whole ones, instances by profile, shared ones."""
    slicing = pool.slicing
    if slicing is None:
        return {resource: pool.per_node}
    cut = min(slicing.accelerators or pool.per_node, pool.per_node)
    if slicing.shards:
        return {resource: cut * slicing.shards + pool.per_node - cut}
    found = {resource: pool.per_node - cut} if cut < pool.per_node else {}
    domain = resource.partition("/")[0]
    return found | {
        f"{domain}/mig-{profile.replace('+', '.')}": cut * count for profile, count in sorted(slicing.mig.items())
    }


def pool_capacity(pool: PoolPlan) -> dict[str, int]:
    """What a pool offers to jobs: its nodes without the spares."""
    nodes = pool.nodes - pool.spares
    return {name: number * nodes for name, number in node_resources(pool).items()}


def covered(plan: Plan) -> list[str]:
    """Resources that queues of Kueue hold quota of: those that every pool's facts know, and every kind of device."""
    known = [pool_capacity(pool) for pool in plan.pools]
    everywhere = [name for name in (CPU, MEMORY) if all(name in item for item in known)]
    devices = {name for item in known for name in item} - {CPU, MEMORY}
    return everywhere + sorted(devices)


def shared_out(total: int, fractions: list[float]) -> list[int]:
    """A whole number cut by fractions into whole parts that add up to it (largest remainders first).

    >>> shared_out(10, [0.7, 0.3])
    [7, 3]
    """
    exact = [total * fraction for fraction in fractions]
    parts = [int(item) for item in exact]
    order = sorted(range(len(parts)), key=lambda index: (parts[index] - exact[index], index))
    for index in order[: max(0, round(sum(exact)) - sum(parts))]:
        parts[index] += 1
    return parts


@dataclass(frozen=True)
class Allotment:
    """What a tenant has of one pool."""

    nominal: Mapping[str, int]
    """Its own part; memory in MiB."""
    borrow: Mapping[str, int]
    """How much more it may borrow; a resource that is not there has no bound."""


def bounds(parts: Sequence[Allotment]) -> dict[str, int]:
    """What a tenant may have of several pools together, its own and borrowed; what one of them gives without bound is
    not there.
    """
    names = dict.fromkeys(name for part in parts for name in part.nominal)
    return {
        name: sum(part.nominal[name] + part.borrow[name] for part in parts if name in part.nominal)
        for name in names
        if all(name in part.borrow for part in parts if name in part.nominal)
    }


def allotments(plan: Plan) -> dict[str, list[Allotment]]:
    """tenant -> what it has of each pool, in the order of ``plan.pools``.

    What its limits keep a tenant from owning is nobody's: it stays in the cohort, for all to borrow. Nodes of certain
    tenants are shared among these, and others borrow none of them.
    """
    owned: dict[str, list[dict[str, int]]] = {tenant.name: [] for tenant in plan.tenants}
    for pool in plan.pools:
        resources = node_resources(pool)
        fractions = _fractions(plan, pool)
        nodes = shared_out(pool.nodes - pool.spares, fractions)
        whole = all(part or not fraction for part, fraction in zip(nodes, fractions, strict=True))
        parts = {
            name: [part * number for part in nodes]
            if whole
            else shared_out(number * (pool.nodes - pool.spares), fractions)
            for name, number in resources.items()
        }
        for index, tenant in enumerate(plan.tenants):
            owned[tenant.name].append({name: values[index] for name, values in parts.items()})
    return {tenant.name: _limited(plan, tenant, owned[tenant.name]) for tenant in plan.tenants}


def _fractions(plan: Plan, pool: PoolPlan) -> list[float]:
    """The part of a pool that each tenant has: by their shares, among those whose nodes they are."""
    parts = [tenant.share if not pool.tenants or tenant.name in pool.tenants else 0 for tenant in plan.tenants]
    return [part / (sum(parts) or 1) for part in parts]


def _limited(plan: Plan, tenant: TenantPlan, owned: list[dict[str, int]]) -> list[Allotment]:
    """A tenant's own part of each pool under its limits, and what is left of them to borrow.

    A limit is for all pools together, and a queue counts each pool by itself: every pool has a part of the limit.
    """
    barred = [bool(pool.tenants) and tenant.name not in pool.tenants for pool in plan.pools]
    nominal = [dict(own) for own in owned]
    most: list[dict[str, int]] = [dict.fromkeys(own, 0) if out else {} for own, out in zip(owned, barred, strict=True)]
    if tenant.limits.nodes is not None:
        _limit_nodes(plan, tenant.limits.nodes, barred, nominal, most)
    if tenant.limits.accelerators is not None:
        _limit_accelerators(plan, tenant.limits.accelerators, nominal, most)
    return [
        Allotment(own, {name: bound[name] - own[name] for name in own if name in bound}
                  if tenant.borrow else dict.fromkeys(own, 0))
        for own, bound in zip(nominal, most, strict=True)
    ]  # fmt: skip


def _limit_nodes(
    plan: Plan, limit: int, barred: list[bool], nominal: list[dict[str, int]], most: list[dict[str, int]]
) -> None:
    """Lower a tenant's parts of the pools, and bound them, to those of so many nodes."""
    each = [node_resources(pool) for pool in plan.pools]
    own = [
        max((-(-number // numbers[name]) for name, number in part.items() if numbers[name]), default=0)
        for part, numbers in zip(nominal, each, strict=True)
    ]
    room = [0 if out else pool.nodes - pool.spares for pool, out in zip(plan.pools, barred, strict=True)]
    parts = _parts_of_limit(limit, own, room, [1] * len(own))
    for (low, high), numbers, part, bound in zip(parts, each, nominal, most, strict=True):
        for name, number in numbers.items():
            part[name] = min(part[name], low * number)
            bound[name] = high * number


def _limit_accelerators(plan: Plan, limit: int, nominal: list[dict[str, int]], most: list[dict[str, int]]) -> None:
    """The same for whole accelerators of all makers together."""
    each = [node_resources(pool) for pool in plan.pools]
    names = [pool.accelerator.kubernetes if pool.accelerator else None for pool in plan.pools]
    found = [(index, name) for index, name in enumerate(names) if name and name in each[index]]
    units = [each[index][name] for index, name in found]
    own = [nominal[index][name] for index, name in found]
    room = [most[index].get(name, pool_capacity(plan.pools[index])[name]) for index, name in found]
    for (index, name), (low, high) in zip(found, _parts_of_limit(limit, own, room, units), strict=True):
        nominal[index][name], most[index][name] = low, high


def _parts_of_limit(limit: int, own: list[int], room: list[int], units: list[int]) -> list[tuple[int, int]]:
    """For each pool what a tenant owns and what it may have at most; the latter add up to the limit, or to less."""
    low = _parts(limit, own, units)
    more = _parts(limit - sum(low), [most - part for most, part in zip(room, low, strict=True)], units)
    return [(part, part + rest) for part, rest in zip(low, more, strict=True)]


def _parts(amount: int, wanted: list[int], units: list[int]) -> list[int]:
    """What is wanted, or an amount in proportion to it: in whole units as far as they go, never more than wanted."""
    total = sum(wanted)
    if total <= amount:
        return wanted
    parts = [amount * want // total // unit * unit for want, unit in zip(wanted, units, strict=True)]
    order = sorted(range(len(parts)), key=lambda index: (parts[index] - amount * wanted[index] / total, index))
    while left := amount - sum(parts):
        for index in order:
            given = min(units[index], left, wanted[index] - parts[index])
            parts[index] += given
            left -= given
    return parts
