"""Calls the builder of a shape with the numbers of a declared fabric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ....catalog import Machine
from ....catalog.machine import ScalableUnit
from ....primitives.quantity import Rate
from ....spec import ClusterSpec, Fabric
from ....topology import Fabric as Wiring
from ....topology import TopologyError, build_clos, build_fat_tree, build_rail_optimized
from ....topology.tiers import compute_max_down
from ...model.plan import Service
from ...model.problems import Problems
from .apart import build_joined_leaves
from .leaf_pairs import build_with_peer_ports
from .leaf_rules import build_grown, build_port_requests, count_max_switch_nodes, select_leaf_rule
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


def _domain(machine: Machine, role: str) -> int:
    """Nodes of a scale-up domain, which share leaves on compute fabrics, as these carry the traffic of jobs."""
    return machine.domain_nodes if role == "compute" else 1


def build_wiring(
    fabric: Fabric,
    role: str,
    nodes: int,
    rails: int,
    planes: int,
    radix: tuple[int, ...],
    cage_ports: int,
    machine: Machine,
    clos_rack_nodes: int,
    services: tuple[Service, ...],
    speed: Rate,
    rack_nodes: int | None,
    spines: int | None = None,
    min_units: int | None = None,
    links: int = 0,
) -> Wiring:
    """The wiring of a declared fabric: ``cage_ports`` ports share a cage of a leaf; at least ``min_units`` leaves of a
    fat tree, or units of rails, are built; ``links`` further links end on the topmost switches. Raises
    TopologyError.
    """
    sized = bool(fabric.su or fabric.leaf_down)
    domain = _domain(machine, role)

    def build_declared(declared: Fabric, count: int) -> Wiring:
        return _build_shape(
            declared,
            role,
            count,
            rails,
            planes,
            radix,
            cage_ports,
            machine,
            clos_rack_nodes,
            services,
            speed,
            rack_nodes,
            spines,
            min_units,
            links,
            sized,
        )

    def build_paired(declared: Fabric, count: int) -> Wiring:
        return build_with_peer_ports(lambda item: build_declared(item, count), declared, radix[0], rails, domain)

    sizes = LeafSizing.from_fabric(fabric, nodes, rails, radix[0], domain)
    return build_with_reserved_ports(build_paired, fabric, sizes)


def _build_shape(
    fabric: Fabric,
    role: str,
    nodes: int,
    rails: int,
    planes: int,
    radix: tuple[int, ...],
    cage_ports: int,
    machine: Machine,
    clos_rack_nodes: int,
    services: tuple[Service, ...],
    speed: Rate,
    rack_nodes: int | None,
    spines: int | None,
    min_units: int | None,
    links: int,
    sized: bool,
) -> Wiring:
    """The wiring with leaves by the spec, the reference design or the rule of the shape. ``sized`` means that the size
    of a leaf or unit is specified, not a candidate.
    """
    peers = fabric.peer_links
    spines = spines or fabric.spines
    ratio = (float(fabric.oversubscription.leaf), float(fabric.oversubscription.spine))
    unit, domain = find_reference_unit(fabric, role, machine, radix[0]), _domain(machine, role)
    reserved = build_port_requests(services, planes, cage_ports)
    # storage may need further leaves of any network; a node instead of a manager may not
    more = fabric.tiers != 1 and (role != "compute" or any(service.is_non_blocking for service in services))
    ports = (radix[0], radix[1], radix[2])
    if fabric.joins:
        most = count_max_switch_nodes(machine.scalable_unit, rack_nodes)
        return build_joined_leaves(
            nodes,
            nics=rails,
            radix=radix[0],
            down=fabric.leaf_down,
            reserved=reserved,
            max_leaf_nodes=most,
            peer_ports=peers,
        )
    # leaves that are not specified may have more uplinks, or fewer nodes, if that needs fewer spines
    free = not fabric.leaf_up
    demand = Demand(ratio[0], peers, tuple(ask.ports for ask in reserved), -(-links // planes), spines)
    if fabric.shape == "fat-tree":
        down = fabric.leaf_down or (unit.leaf_down if unit else None)

        def build_tree(leaves: int | None, size: int | None, uplinks: int | None, spines: int | None) -> Wiring:
            ports_down = size * rails if size and size * rails < radix[0] else down
            if leaves and ports_down and ports_down >= rails:
                leaves = max(leaves, -(-nodes // (ports_down // rails)))
            return build_fat_tree(
                nodes,
                nics=rails,
                radix=ports,
                planes=planes,
                leaves=leaves,
                tiers=fabric.tiers,
                down=ports_down,
                uplinks=uplinks or fabric.leaf_up,
                spines=spines,
                oversubscription=ratio,
                reserved=reserved,
                cage_ports=cage_ports,
                peer_ports=peers,
            )

        free = free and not (sized or unit and unit.leaf_down)
        demand = replace(demand, step=1, least=min_units or 1)
        return _select(
            build_tree, min_units, more, demand if free else None, spines, lambda found: found.tiers[0].count // planes
        )
    if fabric.shape == "clos":

        def build_racks(count: int | None, size: int | None, uplinks: int | None, spines: int | None) -> Wiring:
            return build_clos(
                nodes,
                nics=rails,
                rack_nodes=clos_rack_nodes,
                radix=ports,
                racks=count,
                planes=planes,
                uplinks=uplinks or fabric.leaf_up,
                racks_per_pod=fabric.racks_per_pod,
                tiers=fabric.tiers,
                spines=spines,
                oversubscription=ratio,
                reserved=reserved,
                cage_ports=cage_ports,
                peer_ports=peers,
            )

        return _select(build_racks, None, False, demand if free else None, spines, lambda found: None)
    rule = select_leaf_rule(fabric, role, nodes, rails, planes, radix[0], machine.scalable_unit, services, speed)
    sharing = fabric.leaf_rails or 1
    down = rule.down or fabric.leaf_down or (unit.leaf_down if unit else None)
    if down is None and fabric.su is None and domain > 1:
        # a leaf connects whole scale-up domains, so that none is split over two leaves
        whole = compute_max_down(radix[0], ratio[0]) // sharing
        down = whole // domain * domain * sharing or None
    most = (max(radix[0] - fabric.leaf_up, 0) if fabric.leaf_up else compute_max_down(radix[0], ratio[0])) // sharing
    block = down // sharing if down else most
    if unit and rule.unit_nodes is None and block:
        units = list_unit_layouts(nodes, fabric, unit, min(block, unit.nodes), ratio[0])
    else:
        only = _select_single_unit(nodes, compute_max_down(radix[0], ratio[0]) // sharing, down)
        size = rule.unit_nodes or fabric.su or (unit.nodes if unit else only)
        units = [UnitLayout(size, fabric.pod or (unit.pod if unit and unit.pod else "su"))]

    def build_rails(
        layout: UnitLayout, count: int | None, size: int | None, uplinks: int | None, spines: int | None
    ) -> Wiring:
        return build_rail_optimized(
            nodes,
            rails=rails,
            radix=ports,
            unit_nodes=size or layout.nodes,
            units=count,
            down=size * sharing if size else down,
            uplinks=uplinks or rule.uplinks or fabric.leaf_up,
            rails_per_leaf=sharing,
            planes=planes,
            tiers=fabric.tiers,
            pod=layout.pod,
            pod_units=layout.pod_units,
            spines=spines,
            oversubscription=ratio,
            reserved=reserved,
            cage_ports=cage_ports,
            peer_ports=peers,
        )

    # the vendor's compute units are designed without oversubscription
    kept = unit and ratio[0] == 1
    free = free and not (kept or sized or rule.unit_nodes or rule.uplinks)
    fewest = max(rule.min_units or 0, min_units or 0) or None
    demand = replace(demand, step=None if unit else domain, least=fewest or 1)

    def build_units(layout: UnitLayout) -> Wiring:
        return _select(
            partial(build_rails, layout),
            fewest,
            more,
            demand if free else None,
            spines,
            lambda found: next(axis.size for axis in found.tiers[0].axes if axis.name == "su"),
        )

    def build_separate() -> Wiring:
        return select_wiring(build_units, units, can_change_pods=not (fabric.pod or (unit and unit.pod)))

    if not (has_open_leaves(fabric, role) and is_small(nodes, unit, radix[0], ratio[0])):
        return build_separate()
    small = SmallFabric(
        nodes,
        rails,
        planes,
        domain,
        ports,
        ratio,
        reserved,
        cage_ports,
        fabric.leaf_rails,
        peers,
        demand.links,
    )
    return select_fewest_switches(small, build_separate, spines, min_units)


def _select(
    build: Callable[[int | None, int | None, int | None, int | None], Wiring],
    least: int | None,
    more: bool,
    demand: Demand | None,
    spines: int | None,
    units: Callable[[Wiring], int | None],
) -> Wiring:
    """The result of ``build(units, size, uplinks, spines)``; if a ``demand`` leaves uplinks open, that with the fewest
    switches.
    """
    found = build_grown(lambda count: build(count, None, None, None if demand else spines), least, can_grow=more)
    if demand is None:
        return found
    return select_leaves(build, found, units(found), demand)


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
