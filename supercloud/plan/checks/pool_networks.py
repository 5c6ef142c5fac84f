"""Checks that nodes are on the networks over which the scheduler and the staff reach them."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..fabric.roles import adapter_of
from ..model import FabricPlan, Plan, PoolPlan
from .rebuild import replan

__all__ = ["CHECKS"]


def pool_in_band(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Pools on no in-band network, though the plan has one: only that has the addresses which schedulers know nodes by.

    A warning where the catalog knows no port of the machine for it: nodes may have one all the same.
    """
    for pool, networks in _list_apart(plan, "in-band"):
        known = any(item.role == "in-band" for item in pool.machine.adapters)
        yield Finding(
            "pool-in-band", "error" if known else "warning", _place(plan, pool),
            f"no port of the {pool.nodes} nodes of {pool.name} is on {' or '.join(item.name for item in networks)}: "
            f"they are known by addresses there ({pool.addresses}), and neither the scheduler nor users reach them",
            _describe_cure(plan, catalog, pool, networks),
        )  # fmt: skip


def pool_management(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Pools on no management network, though the plan has one: their management controllers have addresses there."""
    controllers = {run.of: run for run in plan.networks.bmcs} if plan.networks else {}
    for pool, networks in _list_apart(plan, "management"):
        run = controllers.get(pool.name)
        which = f" {run.names} ({run.addresses})" if run else ""
        yield Finding(
            "pool-management", "warning", _place(plan, pool),
            f"no port of the {pool.nodes} nodes of {pool.name} is on {' or '.join(item.name for item in networks)}: no "
            f"cable leads to their management controllers{which}",
            _describe_cure(plan, catalog, pool, networks),
        )  # fmt: skip


def _list_apart(plan: Plan, role: str) -> Iterator[tuple[PoolPlan, list[FabricPlan]]]:
    """The pools that are on none of the plan's networks of a role, and these networks."""
    networks = [fabric for fabric in plan.fabrics if fabric.role == role and fabric.tiers]
    joined = {name for fabric in networks for name in fabric.pools}
    for pool in plan.pools if networks else ():
        if pool.name not in joined:
            yield pool, networks


def _place(plan: Plan, pool: PoolPlan) -> str:
    return f"pools[{[item.name for item in plan.spec.pools].index(pool.name)}].fabrics"


def _describe_cure(plan: Plan, catalog: Catalog, pool: PoolPlan, networks: list[FabricPlan]) -> str:
    """A network that can be added to the pool's, tried on a plan; else what else there is to do."""
    role, by_hand = networks[0].role, "suppress this with a reason where they are cabled by hand"
    fitting = [item for item in networks if adapter_of(pool.machine, role, item.kind, item.speed)]
    for fabric in fitting:
        pools = tuple(item.model_copy(update={"fabrics": (*item.fabrics, fabric.name)}) if item.name == pool.name else
                      item for item in plan.spec.pools)  # fmt: skip
        if not replan(plan, catalog, plan.spec.model_copy(update={"pools": pools}))[1]:
            return f"add {fabric.name} to {_place(plan, pool)}, or {by_hand}"
    if fitting or any(item.role == role for item in pool.machine.adapters):
        return f"declare a network with role: {role} for {pool.name}, or {by_hand}"
    return f"put the ports of {pool.machine.name} into a catalog overlay (adapters, role: {role}), or {by_hand}"


CHECKS = (pool_in_band, pool_management)
