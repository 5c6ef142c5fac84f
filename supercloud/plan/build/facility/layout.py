"""Positions of racks and their contents: nodes rack by rack, switches in the middle or among the racks they serve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from ....catalog import Cdu, Machine, Rack
from ....facility import RackLimits, distribute
from ....primitives.quantity import Length, Power
from ....spec import ClusterSpec
from ....spec.facility import Facility
from ...model.hall import MachineGroup
from ...model.plan import FabricPlan, FacilityPlan, LayoutPlan, PoolPlan, RackGroup, RackItem, RackPlan, SwitchTier
from .racking import find_unknown_power, get_switch_power
from .shared_racks import RackEquipment, list_network_equipment, list_server_equipment

__all__ = ["build_layout"]

# Defaults if neither the spec nor the rack specifies them: rows of a hall, width and aisle as in most halls
# (racks of 600 mm; rows repeat every 7 tiles of 600 mm with a cold and a hot aisle between them).
_DEFAULT_RACKS_PER_ROW = 16
_DEFAULT_RACK_WIDTH = Length("600 mm")
_ROW_PITCH = Length("4200 mm")
_PRODUCT_PARTS = ("power-shelf", "nvlink-switch", "management-switch")


@dataclass(frozen=True, slots=True)
class _RackContent:
    kind: Literal["compute", "network", "storage", "service"]
    group: int
    rack: Rack | None
    units: int
    items: tuple[RackItem, ...]
    power: Power
    has_liquid: bool = False


def build_layout(
    spec: ClusterSpec,
    pools: tuple[PoolPlan, ...],
    fabrics: tuple[FabricPlan, ...],
    hall: FacilityPlan | None,
    servers: Sequence[MachineGroup] = (),
) -> LayoutPlan | None:
    """The positions of all racks; None if the racks of a pool are unknown.

    Racks of switches are in the middle, to minimize the longest cable; if a maximum cable length is declared, each rack
    of leaves is among the racks that it serves.
    """
    if hall is None or {pool.name for pool in pools} - {group.pool for group in hall.racks}:
        return None
    facility = spec.facility
    ordered = _order_racks(facility or Facility(), pools, fabrics, hall, servers)
    per_row = (facility.racks_per_row if facility else None) or min(_DEFAULT_RACKS_PER_ROW, max(len(ordered), 1))
    unknown = find_unknown_power(pools, fabrics, (*servers, *hall.service_groups))
    racks = tuple(
        RackPlan(
            f"r{index // per_row + 1:02d}-{index % per_row + 1:02d}",
            index // per_row,
            index % per_row,
            content.kind,
            content.rack,
            content.units,
            items,
            content.power,
            zone,
            content.group,
            any(item.group in unknown for item in items),
        )
        for index, (content, items, zone) in enumerate(_iter_numbered_racks(ordered, hall))
    )
    widths = [group.rack.width for group in hall.racks if group.rack and group.rack.width]
    return LayoutPlan(racks, per_row, max(widths, default=_DEFAULT_RACK_WIDTH), _ROW_PITCH)


# -- order ------------------------------------------------------------------------------------------------------------


def _order_racks(
    facility: Facility,
    pools: tuple[PoolPlan, ...],
    fabrics: tuple[FabricPlan, ...],
    hall: FacilityPlan,
    servers: Sequence[MachineGroup],
) -> list[_RackContent]:
    """The contents of all racks in the order of their positions: storage comes last."""
    nodes = list(_iter_node_racks(pools, fabrics, hall))
    devices = list_network_equipment(fabrics, hall.racks) + list_server_equipment(hall.service_groups)
    network = list(_iter_shared_racks("network", devices, hall, facility.management.switches))
    storage = list(_iter_shared_racks("storage", list_server_equipment(servers), hall, None))
    placed = (
        _place_amid_nodes(nodes, network, fabrics) if facility.max_cable_length else _place_in_middle(nodes, network)
    )
    return _with_cdus([*placed, *storage], hall, facility.cooling.zone)


def _place_in_middle(nodes: list[_RackContent], network: list[_RackContent]) -> list[_RackContent]:
    middle = len(nodes) // 2
    return [*nodes[:middle], *network, *nodes[middle:]]


def _place_amid_nodes(
    nodes: list[_RackContent], network: list[_RackContent], fabrics: tuple[FabricPlan, ...]
) -> list[_RackContent]:
    """Place racks of leaves at the nodes that they serve: leaf i of n serves the i-th part of the racks."""
    leaves = {f"{fabric.name}/leaf": fabric.count_switches("leaf") for fabric in fabrics}
    placed = []
    for index, content in enumerate(network):
        own = [(item, leaves[item.group]) for item in content.items if leaves.get(item.group)]
        parts = [(item.first + item.count / 2) / count for item, count in own]
        placed.append((int((sum(parts) / len(parts) if parts else 0.5) * len(nodes)), index, content))
    result: list[_RackContent] = []
    at = 0
    for place, _, content in sorted(placed, key=lambda item: item[:2]):
        result += nodes[at:place]
        result.append(content)
        at = max(at, place)
    return result + nodes[at:]


def _with_cdus(ordered: list[_RackContent], hall: FacilityPlan, racks_per_zone: int | None) -> list[_RackContent]:
    """In-row distribution units, at the end of the racks of their zone."""
    loop = hall.cooling_plan.loop if hall.cooling_plan else None
    if loop is None or loop.cdu is None or loop.cdu.form != "row" or not loop.zone_cdus:
        return ordered
    wet = sum(content.has_liquid for content in ordered)
    racks_per_zone = racks_per_zone or wet
    result: list[_RackContent] = []
    seen = first = 0
    for content in ordered:
        result.append(content)
        seen += content.has_liquid
        if content.has_liquid and (seen % racks_per_zone == 0 or seen == wet):
            zone = (seen - 1) // racks_per_zone
            for _ in range(sum(loop.zone_cdus[zone]) if zone < len(loop.zone_cdus) else 0):
                item = RackItem("cdu", loop.cdu.name, first, 1, 0, 0)
                result.append(_RackContent("service", -1, None, 0, (item,), loop.cdu.power or Power(0, "W")))
                first += 1
    return result


def _iter_numbered_racks(
    ordered: list[_RackContent], hall: FacilityPlan
) -> Iterator[tuple[_RackContent, tuple[RackItem, ...], int | None]]:
    """Each rack with its shelves and distribution units, numbered over the hall, and with its zone."""
    counts: Counter[str] = Counter()
    loop = hall.cooling_plan.loop if hall.cooling_plan else None
    zones = _compute_zone_numbers(ordered, hall)
    for content, zone in zip(ordered, zones, strict=True):
        items = content.items
        if content.group >= 0:
            group = hall.racks[content.group]
            added = tuple(_iter_added_items(group, content.units, loop.cdu if loop else None, counts))
            items = (*_renumber_items(items, counts), *added)
        yield content, items, zone


def _iter_added_items(group: RackGroup, units: int, cdu: Cdu | None, counts: Counter[str]) -> Iterator[RackItem]:
    """Coolant distribution units, power shelves and power distribution units of a rack; they are counted."""
    if group.cdus and cdu:
        yield RackItem("cdu", cdu.name, counts["cdu"], group.cdus, 1, group.cdu_units)
        counts["cdu"] += group.cdus
    if group.shelves and group.shelf_units:
        unit = units - group.shelves * group.shelf_units + 1
        first = counts["power-shelf"]
        yield RackItem("power-shelf", format_shelf_name(group), first, group.shelves, unit, group.shelf_units)
        counts["power-shelf"] += group.shelves
    if group.circuits:
        yield RackItem("pdu", group.pdu or "pdu", counts["pdu"], group.circuits.count, 0, 0)
        counts["pdu"] += group.circuits.count


def _renumber_items(items: tuple[RackItem, ...], counts: Counter[str]) -> tuple[RackItem, ...]:
    """The contents of a rack with the parts of rack products numbered over the hall; they are counted."""
    if not any(item.kind in _PRODUCT_PARTS for item in items):
        return items
    found = []
    for item in items:
        if item.kind in _PRODUCT_PARTS:
            found.append(replace(item, first=counts[item.kind]))
            counts[item.kind] += item.count
        else:
            found.append(item)
    return tuple(found)


def format_shelf_name(group: RackGroup) -> str:
    """Product name of the power shelves of a group."""
    return f"shelf-{group.shelf_power}".replace(" ", "") if group.shelf_power else "shelf"


def _compute_zone_numbers(ordered: list[_RackContent], hall: FacilityPlan) -> list[int | None]:
    loop = hall.cooling_plan.loop if hall.cooling_plan else None
    if loop is None or not loop.zone_cdus:
        return [0 if loop and content.has_liquid else None for content in ordered]
    size = loop.racks_per_zone or sum(content.has_liquid for content in ordered)
    result: list[int | None] = []
    seen = 0
    for content in ordered:
        if content.has_liquid:
            result.append(seen // size)
            seen += 1
        else:
            result.append((seen - 1) // size if content.kind == "service" and seen else None)
    return result


# -- content ----------------------------------------------------------------------------------------------------------


def _iter_node_racks(
    pools: tuple[PoolPlan, ...], fabrics: tuple[FabricPlan, ...], hall: FacilityPlan
) -> Iterator[_RackContent]:
    indices = {group.pool: index for index, group in enumerate(hall.racks) if group.pool}
    for pool in pools:
        index = indices[pool.name]
        group = hall.racks[index]
        power = group.node_power
        height = pool.machine.body.units or 1
        lowest = 1 + group.cdus * group.cdu_units
        leaves = [fabric.tiers[0] for fabric in fabrics if fabric.name in group.leaf_fabrics]
        extra = sum((get_switch_power(tier.switch) for tier in leaves), Power(0, "W"))
        units = group.rack.units if group.rack else max(group.units, group.nodes_per_rack * height)
        wet = bool(group.heat.liquid or group.heat.door)
        full = power * group.nodes_per_rack + extra
        for rack, start in enumerate(range(0, pool.nodes, group.nodes_per_rack)):
            count = min(group.nodes_per_rack, pool.nodes - start)
            if pool.machine.rack and pool.machine.rack.arrangement:
                items = _build_product_items(pool.machine, pool.name, start, count)
            else:
                items = (RackItem("node", pool.name, start, count, lowest, height),)
            if leaves:
                items += _build_leaf_items(group, leaves, rack, lowest + group.nodes_per_rack * height)
            draw = full if count == group.nodes_per_rack else power * count + extra
            yield _RackContent("compute", index, group.rack, units, items, draw, wet)


def _build_leaf_items(group: RackGroup, leaves: Sequence[SwitchTier], rack: int, lowest: int) -> tuple[RackItem, ...]:
    """The leaf of each of the rack's fabrics, above its nodes."""
    items, unit = [], lowest
    for name, tier in zip(group.leaf_fabrics, leaves, strict=True):
        height = tier.switch.units or 1
        items.append(RackItem("switch", f"{name}/leaf", rack, 1, unit, height))
        unit += height
    return tuple(items)


def _build_product_items(machine: Machine, pool: str, start: int, count: int) -> tuple[RackItem, ...]:
    """A rack product from the bottom upwards; a partly filled last rack has its nodes at the bottom."""
    items, unit, done = [], 1, 0
    for what, of, number, height in _list_slots(machine):
        if what == "node":
            there = min(number, count - done)
            if there > 0:
                items.append(RackItem("node", pool, start + done, there, unit, height))
            done += number
        else:
            items.append(RackItem(what, of, 0, number, unit, height))  # type: ignore[arg-type]
        unit += number * height
    return tuple(items)


@cache
def _build_slots(product: str, slots: tuple[tuple[str, int, int], ...]) -> tuple[tuple[str, str, int, int], ...]:
    return tuple((what, f"{product}/{what}", count, units) for what, count, units in slots)


def _list_slots(machine: Machine) -> tuple[tuple[str, str, int, int], ...]:
    assert machine.rack is not None
    return _build_slots(
        machine.rack.name, tuple((slot.what, slot.count, slot.units) for slot in machine.rack.arrangement)
    )


def _iter_shared_racks(
    kind: Literal["network", "storage"], runs: list[RackEquipment], hall: FacilityPlan, max_switches: int | None
) -> Iterator[_RackContent]:
    """Switches and machines fill their racks one after the other, divided evenly."""
    index = next((index for index, group in enumerate(hall.racks) if group.kind == kind), None)
    if index is None:
        return
    group = hall.racks[index]
    assert group.rack is not None
    powers: dict[tuple[tuple[int, int], ...], Power] = {}  # of each content: thousands of racks have the same
    wet = bool(group.heat.liquid or group.heat.door)
    for content in distribute(runs, group.count, RackLimits(group.rack.units, group.power_limit, max_switches)):
        items, unit = [], 1
        for run in content:
            what, of = run.key[0], run.key[1]
            items.append(RackItem(what, of, run.first, run.count, unit, run.units))
            unit += run.units * run.count
        key = tuple((id(run.key), run.count) for run in content)
        if key not in powers:
            powers[key] = Power.from_base(sum(run.power.base * run.count for run in content))
        yield _RackContent(kind, index, group.rack, group.rack.units, tuple(items), powers[key], wet)
