"""Calls the builder of a shape with the numbers of a declared fabric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ....spec import ClusterSpec, Fabric
from ....topology import (
    Clos,
    FatTree,
    TopologyError,
    build_clos,
    build_fat_tree,
)
from ....topology import Fabric as Wiring
from ...model.problems import Problems
from .apart import build_single_tier
from .leaf_pairs import build_with_peer_ports
from .leaf_rules import (
    WiringRequest,
    count_max_switch_nodes,
)
from .rail_wiring import build_rail_wiring
from .reserved_ports import LeafSizing, build_with_reserved_ports
from .shape_context import ShapeContext
from .uplinks import select_leaves

__all__ = ["build_wiring", "find_rack_nodes", "build_with_free_ports"]

# Number of leaves that are tried instead of a single full leaf.
_MOST_LEAVES = 16


def build_wiring(fabric: Fabric, request: WiringRequest) -> Wiring:
    """The wiring of a declared fabric. Raises TopologyError."""
    is_sized = bool(fabric.su or fabric.leaf_down)
    rails, radix, domain = request.rails, request.radix[0], request.domain_nodes

    def build_declared(declared: Fabric, count: int) -> Wiring:
        return _build_shape(declared, replace(request, nodes=count), is_sized)

    def build_paired(declared: Fabric, count: int) -> Wiring:
        return build_with_peer_ports(lambda item: build_declared(item, count), declared, radix, rails, domain)

    sizes = LeafSizing.from_fabric(fabric, request.nodes, rails, radix, domain)
    return build_with_reserved_ports(build_paired, fabric, sizes)


def _build_shape(fabric: Fabric, request: WiringRequest, is_sized: bool) -> Wiring:
    """The wiring with leaves by the spec, the reference design or the rule of the shape."""
    context = ShapeContext(fabric, request, is_sized)
    if fabric.upstream:
        return build_single_tier(
            request.nodes,
            nics=request.rails,
            radix=request.radix[0],
            down=fabric.leaf_down,
            reserved=context.reserved,
            max_leaf_nodes=count_max_switch_nodes(request.machine.scalable_unit, request.rack_nodes),
            peer_ports=fabric.peer_links,
        )
    if fabric.shape == "fat-tree":
        return _build_tree(context)
    if fabric.shape == "clos":
        return _build_racks(context)
    return build_rail_wiring(context)


def _build_tree(context: ShapeContext) -> Wiring:
    fabric, request, unit = context.fabric, context.request, context.unit
    nodes, rails, planes = request.nodes, request.rails, request.planes
    down = fabric.leaf_down or (unit.leaf_down if unit else None)
    shape = FatTree(nodes, nics=rails, tiers=fabric.tiers, **context.shared_numbers)

    def build(leaves: int | None, size: int | None, uplinks: int | None, spines: int | None) -> Wiring:
        ports_down = size * rails if size and size * rails < request.radix[0] else down
        if leaves and ports_down and ports_down >= rails:
            leaves = max(leaves, -(-nodes // (ports_down // rails)))
        uplinks = uplinks or fabric.leaf_up
        return build_fat_tree(replace(shape, leaves=leaves, down=ports_down, uplinks=uplinks, spines=spines))

    is_open = not (fabric.leaf_up or context.is_sized or (unit and unit.leaf_down))
    demand = replace(context.demand, step=1, least=request.min_units or 1) if is_open else None
    found = context.build_with_services(build, request.min_units, demand)
    return found if demand is None else select_leaves(build, found, found.tiers[0].count // planes, demand)


def _build_racks(context: ShapeContext) -> Wiring:
    fabric, request = context.fabric, context.request
    shape = Clos(
        request.nodes,
        nics=request.rails,
        rack_nodes=request.clos_rack_nodes,
        racks_per_pod=fabric.racks_per_pod,
        tiers=fabric.tiers,
        **context.shared_numbers,
    )

    def build(racks: int | None, size: int | None, uplinks: int | None, spines: int | None) -> Wiring:
        return build_clos(replace(shape, racks=racks, uplinks=uplinks or fabric.leaf_up, spines=spines))

    demand = None if fabric.leaf_up else context.demand
    found = build(None, None, None, None if demand else context.spines)
    return found if demand is None else select_leaves(build, found, None, demand)


def build_with_free_ports(
    build: Callable[[int | None, int | None], Wiring], fabric: Fabric, extra_links: int
) -> Wiring:
    """The wiring whose topmost switches have free ports for a number of further links: with more spines if required,
    and with two leaves under spines if a single one is full.

    Declared values are kept; links that then have no port are reported when cables are built.
    """
    wiring, least = build(None, None), None
    if (
        extra_links
        and len(wiring.tiers) == 1 == wiring.tiers[0].count
        and fabric.tiers is None
        and extra_links > _count_free_ports(wiring)
    ):
        several = _find_multi_leaf_wiring(build)
        if several is None:
            return wiring
        wiring, least = several
    top = wiring.tiers[-1]
    if not extra_links or fabric.spines or len(wiring.tiers) != 2:
        return wiring
    up = wiring.tiers[0].up
    for spines in (number for number in range(top.axes[-1].size, up + 1) if up % number == 0):
        found = build(spines, least)
        top = found.tiers[-1]
        if -(-extra_links // top.count) <= top.radix - top.down:
            return found
    return wiring


def _find_multi_leaf_wiring(build: Callable[[int | None, int | None], Wiring]) -> tuple[Wiring, int] | None:
    """The wiring with the fewest leaves above one, and their number; None if there is none."""
    for least in range(2, _MOST_LEAVES + 1):
        try:
            return build(None, least), least
        except TopologyError:
            continue
    return None


def _count_free_ports(wiring: Wiring) -> int:
    """Free ports of the only switch."""
    return wiring.tiers[0].radix - sum(group.count for group in wiring.link_groups)


def find_rack_nodes(fabric: Fabric, path: str, rails: int, spec: ClusterSpec, problems: Problems) -> int | None:
    """Nodes under one top-of-rack switch."""
    if fabric.su:
        return fabric.su
    if fabric.leaf_down:
        return max(1, fabric.leaf_down // rails)
    if spec.facility and spec.facility.rack and spec.facility.rack.nodes:
        return spec.facility.rack.nodes
    problems.add_error(
        "fabric-rack",
        path,
        "nodes per rack are unknown, and every rack of a Clos has a separate leaf",
        "set 'su' here, or facility.rack.nodes",
    )
    return None
