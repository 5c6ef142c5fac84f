"""How many devices, processors and bytes a node offers to jobs, and how tenants share them.

Whole nodes are allotted where every tenant gets at least one: a part of a node is of no use to a gang of whole nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..model import Plan, PoolPlan, TenantPlan

__all__ = ["CPU", "MEMORY", "Allotment", "allotments", "node_resources", "pool_capacity", "shared_out"]

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


def allotments(plan: Plan) -> dict[str, list[Allotment]]:
    """tenant -> what it has of each pool, in the order of ``plan.pools``.

    What its limits keep a tenant from owning is nobody's: it stays in the cohort, for all to borrow. Nodes of certain
    tenants are shared among these, and others borrow none of them.
    """
    found: dict[str, list[Allotment]] = {tenant.name: [] for tenant in plan.tenants}
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
            own = {name: values[index] for name, values in parts.items()}
            barred = pool.tenants and tenant.name not in pool.tenants
            nothing = dict.fromkeys(resources, 0)
            found[tenant.name].append(Allotment(nothing, nothing) if barred else _limited(own, tenant, pool))
    return found


def _fractions(plan: Plan, pool: PoolPlan) -> list[float]:
    """The part of a pool that each tenant has: by their shares, among those whose nodes they are."""
    parts = [tenant.share if not pool.tenants or tenant.name in pool.tenants else 0 for tenant in plan.tenants]
    return [part / (sum(parts) or 1) for part in parts]


def _limited(own: dict[str, int], tenant: TenantPlan, pool: PoolPlan) -> Allotment:
    """A tenant's own part under its limits, and what is left of them to borrow."""
    most: dict[str, int] = {}
    resources = node_resources(pool)
    limits = tenant.limits
    if limits.nodes is not None:
        most = {name: number * limits.nodes for name, number in resources.items()}
    whole = pool.accelerator.kubernetes if pool.accelerator else None
    if limits.accelerators is not None and whole in resources:
        assert whole is not None
        most[whole] = min(most.get(whole, limits.accelerators), limits.accelerators)
    nominal = {name: min(number, most.get(name, number)) for name, number in own.items()}
    borrow = (
        {name: most[name] - nominal[name] for name in nominal if name in most}
        if tenant.borrow
        else dict.fromkeys(nominal, 0)
    )
    return Allotment(nominal, borrow)
