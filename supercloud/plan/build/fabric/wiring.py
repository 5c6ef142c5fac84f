"""Calls the builder of a shape with the numbers of a declared fabric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypedDict

from ....catalog import Machine
from ....catalog.machine import ScalableUnit
from ....spec import ClusterSpec, Fabric
from ....topology import (
    Clos,
    FatTree,
    RailOptimized,
    TopologyError,
    build_clos,
    build_fat_tree,
    build_rail_optimized,
)
from ....topology import Fabric as Wiring
from ....topology.reserved import PortRequest
from ....topology.tiers import compute_max_down
from ...model.problems import Problems
from .apart import build_joined_leaves
from .leaf_pairs import build_with_peer_ports
from .leaf_rules import (
    LeafRule,
    WiringRequest,
    build_grown,
    build_port_requests,
    count_max_switch_nodes,
    select_leaf_rule,
)
from .reserved_ports import LeafSizing, build_with_reserved_ports
from .shared_leaves import SmallFabric, has_open_leaves, is_small, select_fewest_switches
from .units import UnitLayout, list_unit_layouts, select_wiring
from .uplinks import Demand, select_leaves

__all__ = ["build_wiring", "find_rack_nodes", "build_with_free_ports"]

# Number of leaves that are tried instead of a single full leaf.
_MOST_LEAVES = 16


def find_reference_unit(fabric: Fabric, role: str, machine: Machine, radix: int) -> ScalableUnit | None:
    """The vendor's scalable unit: for compute fabrics only, with leaves of the radix of its design, and if the spec
    does not specify another.
    """
    unit = machine.scalable_unit
    if unit is None or role != "compute" or fabric.su or fabric.leaf_down or (fabric.leaf_rails or 1) > 1:
        return None
    return unit if unit.radix in (None, radix) else None


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


class _SharedNumbers(TypedDict):
    """The numbers that shapes of all kinds have."""

    radix: tuple[int, int, int]
    planes: int
    oversubscription: tuple[float, float]
    reserved: tuple[PortRequest, ...]
    cage_ports: int
    peer_ports: int


@dataclass(frozen=True)
class _Context:
    """A declared fabric with what follows from it for all shapes."""

    fabric: Fabric
    request: WiringRequest
    is_sized: bool
    """Whether the size of a leaf or unit is specified, not a candidate."""

    @cached_property
    def ratio(self) -> tuple[float, float]:
        """Oversubscription of leaf and spine."""
        return float(self.fabric.oversubscription.leaf), float(self.fabric.oversubscription.spine)

    @cached_property
    def reserved(self) -> tuple[PortRequest, ...]:
        """The leaf ports of services in one plane."""
        return build_port_requests(self.request.services, self.request.planes, self.request.cage_ports)

    @cached_property
    def unit(self) -> ScalableUnit | None:
        """The vendor's scalable unit, if the fabric uses it."""
        return find_reference_unit(self.fabric, self.request.role, self.request.machine, self.request.radix[0])

    @property
    def spines(self) -> int | None:
        """The requested number of spines, or the declared one."""
        return self.request.spines or self.fabric.spines

    @property
    def can_grow(self) -> bool:
        """Whether services may need further leaves: storage on any network; no node is removed for a manager."""
        return self.fabric.tiers != 1 and (
            self.request.role != "compute" or any(service.is_non_blocking for service in self.request.services)
        )

    @property
    def demand(self) -> Demand:
        """The conditions for uplinks that the spec does not specify."""
        links = -(-self.request.links // self.request.planes)
        return Demand(
            self.ratio[0], self.fabric.peer_links, tuple(ask.ports for ask in self.reserved), links, self.spines
        )

    @property
    def shared_numbers(self) -> _SharedNumbers:
        """The numbers of this fabric that all shapes have."""
        return _SharedNumbers(
            radix=self.request.radix,
            planes=self.request.planes,
            oversubscription=self.ratio,
            reserved=self.reserved,
            cage_ports=self.request.cage_ports,
            peer_ports=self.fabric.peer_links,
        )


def _build_shape(fabric: Fabric, request: WiringRequest, is_sized: bool) -> Wiring:
    """The wiring with leaves by the spec, the reference design or the rule of the shape."""
    context = _Context(fabric, request, is_sized)
    if fabric.joins:
        return build_joined_leaves(
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
    return _build_rails(context)


def _build_tree(context: _Context) -> Wiring:
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
    found = _build_with_services(build, context, request.min_units, demand)
    return found if demand is None else select_leaves(build, found, found.tiers[0].count // planes, demand)


def _build_racks(context: _Context) -> Wiring:
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


def _build_rails(context: _Context) -> Wiring:
    fabric, request, unit = context.fabric, context.request, context.unit
    nodes, rails, radix, domain = request.nodes, request.rails, request.radix[0], request.domain_nodes
    leaf_ratio = context.ratio[0]
    rule = select_leaf_rule(fabric, request)
    sharing = fabric.leaf_rails or 1
    down = rule.down or fabric.leaf_down or (unit.leaf_down if unit else None)
    if down is None and fabric.su is None and domain > 1:
        # a leaf connects whole scale-up domains, so that none is split over two leaves
        whole = compute_max_down(radix, leaf_ratio) // sharing
        down = whole // domain * domain * sharing or None
    shape = RailOptimized(
        nodes, rails=rails, rails_per_leaf=sharing, tiers=fabric.tiers, down=down, **context.shared_numbers
    )

    def build(
        layout: UnitLayout, units: int | None, size: int | None, uplinks: int | None, spines: int | None
    ) -> Wiring:
        return build_rail_optimized(
            replace(
                shape,
                unit_nodes=size or layout.nodes,
                units=units,
                down=size * sharing if size else down,
                uplinks=uplinks or rule.uplinks or fabric.leaf_up,
                pod=layout.pod,
                pod_units=layout.pod_units,
                spines=spines,
            )
        )

    # the vendor's compute units are designed without oversubscription
    is_reference = unit is not None and leaf_ratio == 1
    is_open = not (fabric.leaf_up or is_reference or context.is_sized or rule.unit_nodes or rule.uplinks)
    fewest = max(rule.min_units or 0, request.min_units or 0) or None
    demand = replace(context.demand, step=None if unit else domain, least=fewest or 1) if is_open else None

    def build_units(layout: UnitLayout) -> Wiring:
        found = _build_with_services(partial(build, layout), context, fewest, demand)
        if demand is None:
            return found
        units = next(axis.size for axis in found.tiers[0].axes if axis.name == "su")
        return select_leaves(partial(build, layout), found, units, demand)

    def build_separate() -> Wiring:
        layouts = _list_layouts(context, rule, down)
        return select_wiring(build_units, layouts, can_change_pods=not (fabric.pod or (unit and unit.pod)))

    if not (has_open_leaves(fabric, request.role) and is_small(nodes, unit, radix, leaf_ratio)):
        return build_separate()
    small = SmallFabric(
        nodes,
        rails,
        request.planes,
        domain,
        request.radix,
        context.ratio,
        context.reserved,
        request.cage_ports,
        fabric.leaf_rails,
        fabric.peer_links,
        context.demand.links,
    )
    return select_fewest_switches(small, build_separate, context.spines, request.min_units)


def _list_layouts(context: _Context, rule: LeafRule, down: int | None) -> list[UnitLayout]:
    """The units that can be built on leaves with this number of ports for nodes."""
    fabric, request, unit = context.fabric, context.request, context.unit
    nodes, radix, sharing = request.nodes, request.radix[0], fabric.leaf_rails or 1
    max_down = compute_max_down(radix, context.ratio[0])
    most = (max(radix - fabric.leaf_up, 0) if fabric.leaf_up else max_down) // sharing
    block = down // sharing if down else most
    if unit and rule.unit_nodes is None and block:
        return list_unit_layouts(nodes, fabric, unit, min(block, unit.nodes), context.ratio[0])
    only = _select_single_unit(nodes, max_down // sharing, down)
    size = rule.unit_nodes or fabric.su or (unit.nodes if unit else only)
    return [UnitLayout(size, fabric.pod or (unit.pod if unit and unit.pod else "su"))]


def _build_with_services(
    build: Callable[[int | None, int | None, int | None, int | None], Wiring],
    context: _Context,
    min_units: int | None,
    demand: Demand | None,
) -> Wiring:
    """``build(units, size, uplinks, spines)`` with enough units for the services; a ``demand`` leaves spines open."""
    spines = None if demand else context.spines
    return build_grown(lambda count: build(count, None, None, spines), min_units, can_grow=context.can_grow)


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
        several = _several_leaves(build)
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


def _several_leaves(build: Callable[[int | None, int | None], Wiring]) -> tuple[Wiring, int] | None:
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


def _select_single_unit(nodes: int, max_nodes: int, down: int | None) -> int | None:
    """All nodes as one unit, if a leaf has capacity for more and no reference design requires whole leaves."""
    return nodes if down is None and nodes < max_nodes else None


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
