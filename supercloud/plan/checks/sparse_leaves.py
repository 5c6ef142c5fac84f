"""Check of scalable units whose leaves have few nodes, because the nodes hardly exceed the units before them."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ...primitives.counts import format_count
from ...spec import Fabric as Declared
from ...topology import Fabric as Wiring
from ..model.plan import FabricPlan, Plan
from .rebuild import find_working, rebuild_fabric, replan, skip_in_trials

__all__ = ["CHECKS"]

# A unit with at most this part of its nodes has leaves that are nearly empty.
_FEW = 1 / 4
# Settings of a fabric that are tried, at most.
_MOST_SETTINGS = 8


@skip_in_trials
def fabric_leaves_sparse(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Leaves of the last scalable unit that connect few nodes."""
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = next((item for item in plan.fabrics if item.name == declared.name), None)
        if fabric is None or fabric.role != "compute" or fabric.shape != "rail-optimized":
            continue
        few = _count_last_nodes(fabric)
        if few is None:
            continue
        hosts, leaf = fabric.require_wiring().node_links, fabric.tiers[0]
        units = -(-hosts.nodes // hosts.unit_nodes)
        leaves, ports = hosts.leaves_per_block * hosts.planes, few * hosts.nics_per_leaf
        yield Finding(
            "fabric-leaves-sparse",
            "note",
            f"fabrics[{index}]",
            f"{leaves} of the {leaf.count} leaves of {fabric.name} connect {format_count(ports, 'node port')} each: "
            f"{format_count(hosts.nodes, 'node')} are {few} more than fill "
            f"{format_count(units - 1, 'scalable unit')} of {hosts.unit_nodes}",
            _suggest_fewer_leaves(plan, catalog, index, fabric, few),
        )


def _count_last_nodes(fabric: FabricPlan) -> int | None:
    """Nodes of the last scalable unit if they are few and the unit has several leaves; else None."""
    if not isinstance(fabric.wiring, Wiring) or not fabric.tiers:
        return None
    hosts = fabric.wiring.node_links
    last = hosts.nodes % hosts.unit_nodes
    is_few = 0 < last <= hosts.unit_nodes * _FEW and hosts.nodes > hosts.unit_nodes
    has_several_leaves = hosts.leaves_per_block > 1 and hosts.block_nodes >= hosts.unit_nodes
    return last if is_few and has_several_leaves else None


def _suggest_fewer_leaves(plan: Plan, catalog: Catalog, index: int, fabric: FabricPlan, few: int) -> str:
    """Numbers of nodes and settings with fewer switches, tried on plans."""
    declared, switches = plan.spec.fabrics[index], _count_switches(fabric)
    hints = []
    pool = plan.get_pool(fabric.pools[-1])
    if pool.nodes > few:
        with_fewer = _count_switches_with(plan, catalog, fabric, pool.name, pool.nodes - few)
        if with_fewer and with_fewer < switches:
            of_pool = f" in {pool.name}" if len(fabric.pools) > 1 else ""
            hints.append(
                f"use {format_count(pool.nodes - few, 'node')}{of_pool}, which need {with_fewer} switches instead of "
                f"{switches}"
            )
    setting = _find_setting(plan, catalog, declared, switches)
    hints += [setting] if setting else []
    even = _find_even_unit(plan, catalog, declared, fabric)
    hints += [even] if even else []
    hosts = fabric.require_wiring().node_links
    room = -hosts.nodes % hosts.unit_nodes
    hints.append(f"suppress this if up to {format_count(room, 'node')} will be added to these leaves")
    return ", or ".join(hints)


def _count_switches(fabric: FabricPlan) -> int:
    return sum(tier.count for tier in fabric.tiers)


def _count_switches_with(plan: Plan, catalog: Catalog, fabric: FabricPlan, pool: str, nodes: int) -> int | None:
    """Switches of the fabric with another number of nodes; None if it cannot be planned."""
    pools = tuple(item.model_copy(update={"nodes": nodes}) if item.name == pool else item for item in plan.spec.pools)
    tried, _ = replan(plan, catalog, plan.spec.model_copy(update={"pools": pools}))
    return next((_count_switches(item) for item in tried.fabrics if item.name == fabric.name), None)


def _find_setting(plan: Plan, catalog: Catalog, declared: Declared, switches: int) -> str:
    """The number of rails on one leaf with which the fabric needs the fewest switches; empty if none needs fewer."""
    fabric = next(item for item in plan.fabrics if item.name == declared.name)
    divisors = [number for number in range(2, fabric.rails + 1) if fabric.rails % number == 0]
    best, text = switches, ""
    for rails in find_working(plan, divisors, lambda _: True, _MOST_SETTINGS):
        found = rebuild_fabric(plan, catalog, declared.model_copy(update={"leaf_rails": rails}))
        if found and _count_last_nodes(found) is None and _count_switches(found) < best:
            best = _count_switches(found)
            text = f"set leaf_rails: {rails}, so that rails share leaves, which needs {best} switches"
    return text


def _find_even_unit(plan: Plan, catalog: Catalog, declared: Declared, fabric: FabricPlan) -> str:
    """The size of a scalable unit that spreads the nodes over the same number of units; empty if it needs more
    switches, or leaves of that size cannot be built.
    """
    hosts = fabric.require_wiring().node_links
    size = -(-hosts.nodes // -(-hosts.nodes // hosts.unit_nodes))
    found = rebuild_fabric(plan, catalog, declared.model_copy(update={"su": size}))
    if found is None or _count_last_nodes(found) is not None or _count_switches(found) > _count_switches(fabric):
        return ""
    return f"set su: {size}, which spreads the nodes evenly over the leaves"


CHECKS = (fabric_leaves_sparse,)
