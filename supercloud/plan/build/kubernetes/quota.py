"""The devices, processors and memory that a node offers to jobs, and their division among tenants.

Whole nodes are assigned if every tenant gets at least one: a part of a node is of no use to a gang of whole nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...model.plan import Plan, PoolPlan, TenantPlan

__all__ = [
    "CPU",
    "MEMORY",
    "TenantQuota",
    "compute_tenant_quotas",
    "compute_max_resources",
    "list_covered_resources",
    "compute_node_resources",
    "compute_pool_capacity",
    "split_by_fractions",
]

CPU, MEMORY = "cpu", "memory"
"""Resource names that every node has; memory is counted in MiB."""


def compute_node_resources(pool: PoolPlan) -> dict[str, int]:
    """Resources that one node of a pool offers to jobs; memory in MiB. Values without a source are omitted."""
    found: dict[str, int] = {}
    machine = pool.machine
    if pool.threads is not None:
        found[CPU] = pool.threads
    if machine.memory:
        found[MEMORY] = machine.memory.floor("MiB") - pool.reserved_memory.ceil("MiB")
    if pool.accelerator and pool.accelerator.kubernetes:
        found |= _compute_devices(pool, pool.accelerator.kubernetes)
    return found


def _compute_devices(pool: PoolPlan, resource: str) -> dict[str, int]:
    """Accelerators by the resource names of the device plugin: whole ones, instances by profile, shared ones."""
    slicing = pool.slicing
    if slicing is None:
        return {resource: pool.accelerators_per_node}
    cut = min(slicing.accelerators or pool.accelerators_per_node, pool.accelerators_per_node)
    if slicing.shards:
        return {resource: cut * slicing.shards + pool.accelerators_per_node - cut}
    found = {resource: pool.accelerators_per_node - cut} if cut < pool.accelerators_per_node else {}
    domain = resource.partition("/")[0]
    return found | {
        f"{domain}/mig-{profile.replace('+', '.')}": cut * count for profile, count in sorted(slicing.mig.items())
    }


def compute_pool_capacity(pool: PoolPlan) -> dict[str, int]:
    """Resources that a pool offers to jobs: its nodes without the spares."""
    nodes = pool.nodes - pool.spares
    return {name: number * nodes for name, number in compute_node_resources(pool).items()}


def list_covered_resources(plan: Plan) -> list[str]:
    """Resources with a quota in Kueue: those known for every pool, and every kind of device."""
    known = [compute_pool_capacity(pool) for pool in plan.pools]
    everywhere = [name for name in (CPU, MEMORY) if all(name in item for item in known)]
    devices = {name for item in known for name in item} - {CPU, MEMORY}
    return everywhere + sorted(devices)


def split_by_fractions(total: int, fractions: list[float]) -> list[int]:
    """Divide an integer by fractions into integer parts with the same sum (largest remainder method).

    >>> split_by_fractions(10, [0.7, 0.3])
    [7, 3]
    """
    exact = [total * fraction for fraction in fractions]
    parts = [int(item) for item in exact]
    order = sorted(range(len(parts)), key=lambda index: (parts[index] - exact[index], index))
    for index in order[: max(0, round(sum(exact)) - sum(parts))]:
        parts[index] += 1
    return parts


@dataclass(frozen=True)
class TenantQuota:
    """Quota of a tenant in one pool."""

    nominal: Mapping[str, int]
    """The nominal quota; memory in MiB."""
    borrowing_limit: Mapping[str, int]
    """Borrowing limit; a resource that is not included has none."""


def compute_max_resources(parts: Sequence[TenantQuota]) -> dict[str, int]:
    """Maximum resources of a tenant over several pools, nominal and borrowed; resources without a limit in one of them
    are omitted.
    """
    names = dict.fromkeys(name for part in parts for name in part.nominal)
    return {
        name: sum(part.nominal[name] + part.borrowing_limit[name] for part in parts if name in part.nominal)
        for name in names
        if all(name in part.borrowing_limit for part in parts if name in part.nominal)
    }


def compute_tenant_quotas(plan: Plan) -> dict[str, list[TenantQuota]]:
    """Tenant -> its quota in each pool, in the order of ``plan.pools``.

    Quota that a tenant cannot own because of its limits remains in the cohort, where all can borrow it. Nodes of
    certain tenants are divided among these, and others cannot borrow them.
    """
    owned: dict[str, list[dict[str, int]]] = {tenant.name: [] for tenant in plan.tenants}
    for pool in plan.pools:
        resources = compute_node_resources(pool)
        fractions = _compute_fractions(plan, pool)
        nodes = split_by_fractions(pool.nodes - pool.spares, fractions)
        whole = all(part or not fraction for part, fraction in zip(nodes, fractions, strict=True))
        parts = {
            name: [part * number for part in nodes]
            if whole
            else split_by_fractions(number * (pool.nodes - pool.spares), fractions)
            for name, number in resources.items()
        }
        for index, tenant in enumerate(plan.tenants):
            owned[tenant.name].append({name: values[index] for name, values in parts.items()})
    return {tenant.name: _apply_limits(plan, tenant, owned[tenant.name]) for tenant in plan.tenants}


def _compute_fractions(plan: Plan, pool: PoolPlan) -> list[float]:
    """The part of a pool for each tenant: by share, among the tenants of its nodes."""
    parts = [tenant.share if not pool.tenants or tenant.name in pool.tenants else 0 for tenant in plan.tenants]
    return [part / (sum(parts) or 1) for part in parts]


def _apply_limits(plan: Plan, tenant: TenantPlan, owned: list[dict[str, int]]) -> list[TenantQuota]:
    """A tenant's quota in each pool under its limits, and the remainder that it may borrow.

    A limit applies to all pools together, but a queue counts each pool separately: every pool has a part of the limit.
    """
    barred = [bool(pool.tenants) and tenant.name not in pool.tenants for pool in plan.pools]
    nominal = [dict(own) for own in owned]
    most: list[dict[str, int]] = [dict.fromkeys(own, 0) if out else {} for own, out in zip(owned, barred, strict=True)]
    if tenant.limits.nodes is not None:
        _limit_nodes(plan, tenant.limits.nodes, barred, nominal, most)
    if tenant.limits.accelerators is not None:
        _limit_accelerators(plan, tenant.limits.accelerators, nominal, most)
    return [
        TenantQuota(
            own,
            {name: bound[name] - own[name] for name in own if name in bound}
            if tenant.can_borrow
            else dict.fromkeys(own, 0),
        )
        for own, bound in zip(nominal, most, strict=True)
    ]


def _limit_nodes(
    plan: Plan, limit: int, barred: list[bool], nominal: list[dict[str, int]], maximum: list[dict[str, int]]
) -> None:
    """Reduce a tenant's parts of the pools, with their limits, to those of a number of nodes."""
    each = [compute_node_resources(pool) for pool in plan.pools]
    own = [
        max((-(-number // numbers[name]) for name, number in part.items() if numbers[name]), default=0)
        for part, numbers in zip(nominal, each, strict=True)
    ]
    room = [0 if out else pool.nodes - pool.spares for pool, out in zip(plan.pools, barred, strict=True)]
    parts = _split_limit(limit, own, room, [1] * len(own))
    for (low, high), numbers, part, bound in zip(parts, each, nominal, maximum, strict=True):
        for name, number in numbers.items():
            part[name] = min(part[name], low * number)
            bound[name] = high * number


def _limit_accelerators(plan: Plan, limit: int, nominal: list[dict[str, int]], maximum: list[dict[str, int]]) -> None:
    """As for nodes, for whole accelerators of all vendors together."""
    each = [compute_node_resources(pool) for pool in plan.pools]
    names = [pool.accelerator.kubernetes if pool.accelerator else None for pool in plan.pools]
    found = [(index, name) for index, name in enumerate(names) if name and name in each[index]]
    units = [each[index][name] for index, name in found]
    own = [nominal[index][name] for index, name in found]
    room = [maximum[index].get(name, compute_pool_capacity(plan.pools[index])[name]) for index, name in found]
    for (index, name), (low, high) in zip(found, _split_limit(limit, own, room, units), strict=True):
        nominal[index][name], maximum[index][name] = low, high


def _split_limit(limit: int, owned: list[int], capacity: list[int], unit_sizes: list[int]) -> list[tuple[int, int]]:
    """For each pool a tenant's nominal quota and its maximum; the maxima add up to at most the limit."""
    low = _split_in_proportion(limit, owned, unit_sizes)
    more = _split_in_proportion(
        limit - sum(low), [most - part for most, part in zip(capacity, low, strict=True)], unit_sizes
    )
    return [(part, part + rest) for part, rest in zip(low, more, strict=True)]


def _split_in_proportion(amount: int, requested: list[int], unit_sizes: list[int]) -> list[int]:
    """The requested amounts, or a total in proportion to them: in whole units where possible, never more than
    requested.
    """
    total = sum(requested)
    if total <= amount:
        return requested
    parts = [amount * want // total // unit * unit for want, unit in zip(requested, unit_sizes, strict=True)]
    order = sorted(range(len(parts)), key=lambda index: (parts[index] - amount * requested[index] / total, index))
    while left := amount - sum(parts):
        for index in order:
            given = min(unit_sizes[index], left, requested[index] - parts[index])
            parts[index] += given
            left -= given
    return parts
