"""Adapters of pools on a fabric: those that all nodes have, and what each pool has in a network that a cloud owns."""

from __future__ import annotations

from dataclasses import replace

from ....catalog import Catalog, Switch
from ....catalog.machine import Adapter
from ....primitives.quantity import Rate
from ....spec import Fabric
from ...model.plan import FabricPlan, PoolPlan
from .roles import find_adapter, get_fabric_role
from .services import FabricContext

__all__ = ["find_common_adapter", "find_pool_adapters", "with_own_links"]


def find_common_adapter(
    fabric: Fabric, path: str, members: tuple[PoolPlan, ...], context: FabricContext
) -> Adapter | None:
    """Find the machines' adapters for this fabric, those of the fewest links: where the links are cabled, all machines
    have the same number; in a network that a cloud owns each connects all that it has.
    """
    found: Adapter | None = None
    problems, is_cabled = context.problems, context.spec.site.kind == "onprem"
    slowest = _find_slowest_speed(fabric, context.catalog)
    for pool in members:
        fitting = find_adapter(pool.machine, get_fabric_role(fabric), fabric.kind, slowest)
        if fitting is None:
            has = ", ".join(f"{item.role}: {item.count} × {item.speed} {item.kind}" for item in pool.machine.adapters)
            problems.add_error(
                "fabric-adapters",
                path,
                f"{pool.machine.name} of pool {pool.name} has no {get_fabric_role(fabric)} adapter for {fabric.kind}"
                + (f" (it has {has})" if has else " (none known)"),
                "set another kind or role, or remove the pool from this fabric",
            )
            return None
        links = (fitting.count, fitting.planes)
        if found and (found.count, found.planes) != links and not fabric.rails and is_cabled:
            problems.add_error(
                "fabric-adapters",
                path,
                f"pools have {found.count} and {links[0]} links per node; one fabric needs the same number",
                "declare a fabric for each, or set 'rails'",
            )
            return None
        found = min(found or fitting, fitting, key=lambda item: item.count)
    return found


def find_pool_adapters(fabric: Fabric, members: tuple[PoolPlan, ...], catalog: Catalog) -> dict[str, Adapter]:
    """Pool -> its machine's adapters for this fabric."""
    slowest = _find_slowest_speed(fabric, catalog)
    found = {pool.name: find_adapter(pool.machine, get_fabric_role(fabric), fabric.kind, slowest) for pool in members}
    return {name: item for name, item in found.items() if item}


def _find_slowest_speed(fabric: Fabric, catalog: Catalog) -> Rate | None:
    """The slowest ports of the leaves, which are the management ports on switches with several kinds."""
    name = fabric.switches.leaf if fabric.switches else fabric.switch
    known = catalog.get(Switch, name).modes if name in catalog.list_names("switches") else ()
    return min((mode.speed for mode in known), default=None)


def with_own_links(base: FabricPlan, adapters: dict[str, Adapter], declared_rails: int | None) -> FabricPlan:
    """The fabric of a cloud, with the links of each pool where they differ."""
    speed = max(item.speed for item in adapters.values())
    counts = {name: item.count for name, item in adapters.items() if item.count != base.rails * base.planes}
    return replace(
        base,
        speed=speed,
        pool_speeds={name: item.speed for name, item in adapters.items() if item.speed != speed},
        pool_links={} if declared_rails else counts,
    )
