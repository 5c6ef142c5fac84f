"""Checks that nodes are on the networks on which the scheduler and administrators reach them."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..build.fabric.roles import find_adapter
from ..model.plan import FabricPlan, Plan, PoolPlan
from .rebuild import TrialBudget, add_fabrics, assign_working, replan, skip_in_trials

__all__ = ["CHECKS"]


@skip_in_trials
def pool_in_band(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Pools on no in-band network, though the plan has one: schedulers use the addresses on it.

    A warning if the catalog has no port of the machine for it: the nodes may have one nevertheless.
    """
    apart = _iter_unattached_pools(plan, "in-band")
    suggestions = _suggest_changes(plan, catalog, apart)
    for pool, networks in apart:
        known = any(item.role == "in-band" for item in pool.machine.adapters)
        yield Finding(
            "pool-in-band",
            "error" if known else "warning",
            _format_path(plan, pool),
            f"no port of the {pool.nodes} nodes of {pool.name} is on {' or '.join(item.name for item in networks)}: "
            f"their addresses ({pool.addresses}) are on it, and neither the scheduler nor users can reach them",
            suggestions[pool.name],
        )


@skip_in_trials
def pool_management(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Pools on no management network, though the plan has one: their management controllers have addresses there."""
    controllers = {run.group: run for run in plan.networks.bmcs} if plan.networks else {}
    apart = _iter_unattached_pools(plan, "management")
    suggestions = _suggest_changes(plan, catalog, apart)
    for pool, networks in apart:
        run = controllers.get(pool.name)
        which = f" {run.names} ({run.addresses})" if run else ""
        yield Finding(
            "pool-management",
            "warning",
            _format_path(plan, pool),
            f"no port of the {pool.nodes} nodes of {pool.name} is on {' or '.join(item.name for item in networks)}: no "
            f"cable leads to their management controllers{which}",
            suggestions[pool.name],
        )


def _iter_unattached_pools(plan: Plan, role: str) -> list[tuple[PoolPlan, list[FabricPlan]]]:
    """The pools that are on none of the plan's networks of a role, and these networks."""
    networks = [fabric for fabric in plan.fabrics if fabric.role == role and fabric.tiers]
    joined = {name for fabric in networks for name in fabric.pools}
    return [(pool, networks) for pool in plan.pools if pool.name not in joined] if networks else []


def _format_path(plan: Plan, pool: PoolPlan) -> str:
    return f"pools[{[item.name for item in plan.spec.pools].index(pool.name)}].fabrics"


def _suggest_changes(plan: Plan, catalog: Catalog, apart: list[tuple[PoolPlan, list[FabricPlan]]]) -> dict[str, str]:
    """The hint for each pool, by its name. A network is tried for all pools of a machine at once, together with
    the networks found for other machines, and for fewer pools if that does not work.
    """
    alike: dict[str, list[PoolPlan]] = {}
    for pool, _ in apart:
        alike.setdefault(pool.machine.name, []).append(pool)
    budget, added = TrialBudget(), dict[str, str]()
    hints: dict[str, str] = {}
    for pools in alike.values():
        hints.update(
            (pool.name, hint) for pool, hint in _suggest_networks(plan, catalog, pools, apart[0][1], budget, added)
        )
    return hints


def _suggest_networks(
    plan: Plan,
    catalog: Catalog,
    alike: list[PoolPlan],
    networks: list[FabricPlan],
    budget: TrialBudget,
    added: dict[str, str],
) -> Iterator[tuple[PoolPlan, str]]:
    """A network that can be added to the pools of one machine, tried on a plan; otherwise other fixes.

    ``added`` has the networks found for pools of other machines, and is extended.
    """
    role, by_hand = networks[0].role, "suppress this with a reason if they are cabled by hand"
    machine = alike[0].machine

    def is_planned_with(added: dict[str, str]) -> bool:
        return not replan(plan, catalog, add_fabrics(plan.spec, added))[1]

    fitting = [item.name for item in networks if find_adapter(machine, role, item.kind, item.speed)]
    found, is_complete = assign_working(plan, alike, fitting, is_planned_with, budget, added)
    added.update(found)
    for pool in alike:
        path = _format_path(plan, pool)
        if pool.name in found:
            yield pool, f"add {found[pool.name]} to {path}, or {by_hand}"
        elif not is_complete:
            yield (
                pool,
                f"try {' or '.join(fitting)} in {path} (not all were tested because the plan is large), declare "
                f"another network with role: {role} for {pool.name}, or {by_hand}",
            )
        elif fitting or any(item.role == role for item in machine.adapters):
            yield pool, f"declare a network with role: {role} for {pool.name}, or {by_hand}"
        else:
            yield pool, f"add the ports of {machine.name} to a catalog overlay (adapters, role: {role}), or {by_hand}"


CHECKS = (pool_in_band, pool_management)
