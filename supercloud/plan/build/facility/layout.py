"""Where racks stand and what is in them: nodes rack by rack, switches in the middle or among the racks they serve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from ....catalog import Machine, Rack
from ....facility import Limits, share_out
from ....primitives.quantity import Length, Power
from ....spec import ClusterSpec
from ...model.hall import MachineGroup
from ...model.plan import FabricPlan, FacilityPlan, Item, LayoutPlan, PoolPlan, RackGroup, RackPlan
from .racking import find_unknown_power, switch_power
from .shared_racks import Things, network_runs, server_runs

__all__ = ["layout_of"]

# Where neither the spec nor the rack says otherwise: rows of a hall, width and aisle as most halls are built
# (racks of 600 mm; rows repeat every 7 tiles of 600 mm with a cold and a hot aisle between them).
_RACKS_PER_ROW = 16
_WIDTH = Length("600 mm")
_PITCH = Length("4200 mm")


@dataclass(frozen=True, slots=True)
class _Content:
    kind: str
    group: int
    rack: Rack | None
    units: int
    items: tuple[Item, ...]
    power: Power
    wet: bool = False


def layout_of(
    spec: ClusterSpec,
    pools: tuple[PoolPlan, ...],
    fabrics: tuple[FabricPlan, ...],
    hall: FacilityPlan | None,
    servers: Sequence[MachineGroup] = (),
) -> LayoutPlan | None:
    """Every rack with its place; None where the racks of a pool are not known.

    Racks with switches stand in the middle, so that the longest cable is as short as it can be; where a longest run is
    declared, each rack of leaves stands amid the racks it serves.
    """
    if hall is None or {pool.name for pool in pools} - {group.pool for group in hall.racks}:
        return None
    facility = spec.facility
    nodes = list(_node_racks(pools, fabrics, hall))
    most = facility.management.switches if facility else None
    network = list(_shared_racks("network", network_runs(fabrics, hall.racks) + server_runs(hall.service), hall, most))
    storage = list(_shared_racks("storage", server_runs(servers), hall, None))
    spread = bool(facility and facility.reach)
    ordered = _amid(nodes, network, fabrics) if spread else _in_the_middle(nodes, network)
    ordered = _with_cdus([*ordered, *storage], hall, facility.cooling.zone if facility else None)
    per_row = (facility.racks_per_row if facility else None) or min(_RACKS_PER_ROW, max(len(ordered), 1))
    unknown = find_unknown_power(pools, fabrics, (*servers, *hall.service))
    racks = tuple(
        RackPlan(f"r{index // per_row + 1:02d}-{index % per_row + 1:02d}", index // per_row, index % per_row,
                 content.kind, content.rack, content.units, items, content.power, zone, content.group,  # type: ignore[arg-type]
                 any(item.of in unknown for item in items))
        for index, (content, items, zone) in enumerate(_numbered(ordered, hall))
    )  # fmt: skip
    widths = [group.rack.width for group in hall.racks if group.rack and group.rack.width]
    return LayoutPlan(racks, per_row, max(widths, default=_WIDTH), _PITCH)


# -- order ------------------------------------------------------------------------------------------------------------


def _in_the_middle(nodes: list[_Content], network: list[_Content]) -> list[_Content]:
    middle = len(nodes) // 2
    return [*nodes[:middle], *network, *nodes[middle:]]


def _amid(nodes: list[_Content], network: list[_Content], fabrics: tuple[FabricPlan, ...]) -> list[_Content]:
    """Racks of leaves where the nodes they serve stand: leaf i of n serves the i-th part of the racks."""
    leaves = {f"{fabric.name}/leaf": fabric.switches("leaf") for fabric in fabrics}
    placed = []
    for index, content in enumerate(network):
        own = [(item, leaves[item.of]) for item in content.items if leaves.get(item.of)]
        parts = [(item.first + item.count / 2) / count for item, count in own]
        placed.append((int((sum(parts) / len(parts) if parts else 0.5) * len(nodes)), index, content))
    result: list[_Content] = []
    at = 0
    for place, _, content in sorted(placed, key=lambda item: item[:2]):
        result += nodes[at:place]
        result.append(content)
        at = max(at, place)
    return result + nodes[at:]


def _with_cdus(ordered: list[_Content], hall: FacilityPlan, size: int | None) -> list[_Content]:
    """Distribution units that stand in the row, at the end of the racks of their zone."""
    loop = hall.heat.loop if hall.heat else None
    if loop is None or loop.cdu is None or loop.cdu.form != "row" or not loop.zones:
        return ordered
    wet = sum(content.wet for content in ordered)
    size = size or wet
    result: list[_Content] = []
    seen = first = 0
    for content in ordered:
        result.append(content)
        seen += content.wet
        if content.wet and (seen % size == 0 or seen == wet):
            zone = (seen - 1) // size
            for _ in range(sum(loop.zones[zone]) if zone < len(loop.zones) else 0):
                item = Item("cdu", loop.cdu.name, first, 1, 0, 0)
                result.append(_Content("service", -1, None, 0, (item,), loop.cdu.power or Power(0, "W")))
                first += 1
    return result


def _numbered(ordered: list[_Content], hall: FacilityPlan) -> Iterator[tuple[_Content, tuple[Item, ...], int | None]]:
    """Each rack with its shelves and distribution units, counted through the hall, and with its zone."""
    counts: Counter[str] = Counter()
    loop = hall.heat.loop if hall.heat else None
    zones = _zone_numbers(ordered, hall)
    for content, zone in zip(ordered, zones, strict=True):
        items = content.items
        group = hall.racks[content.group] if content.group >= 0 else None
        if group:
            extra: list[Item] = []
            if group.cdus and loop and loop.cdu:
                extra.append(Item("cdu", loop.cdu.name, counts["cdu"], group.cdus, 1, group.cdu_units))
                counts["cdu"] += group.cdus
            if group.shelves and group.shelf_units:
                unit = content.units - group.shelves * group.shelf_units + 1
                extra.append(Item("power-shelf", hall_shelf(group), counts["power-shelf"], group.shelves, unit,
                                  group.shelf_units))  # fmt: skip
                counts["power-shelf"] += group.shelves
            if group.circuits:
                name = group.pdu or "pdu"
                extra.append(Item("pdu", name, counts["pdu"], group.circuits.count, 0, 0))
                counts["pdu"] += group.circuits.count
            if any(item.what in ("power-shelf", "nvlink-switch", "management-switch") for item in items):
                moved = []
                for item in items:
                    if item.what in ("power-shelf", "nvlink-switch", "management-switch"):
                        item = replace(item, first=counts[item.what])
                        counts[item.what] += item.count
                    moved.append(item)
                items = tuple(moved)
            items = (*items, *extra) if extra else items
        yield content, items, zone


def hall_shelf(group: RackGroup) -> str:
    """What power shelves of a group are called."""
    return f"shelf-{group.shelf_power}".replace(" ", "") if group.shelf_power else "shelf"


def _zone_numbers(ordered: list[_Content], hall: FacilityPlan) -> list[int | None]:
    loop = hall.heat.loop if hall.heat else None
    if loop is None or not loop.zones:
        return [0 if loop and content.wet else None for content in ordered]
    size = loop.racks_per_zone or sum(content.wet for content in ordered)
    result: list[int | None] = []
    seen = 0
    for content in ordered:
        if content.wet:
            result.append(seen // size)
            seen += 1
        else:
            result.append((seen - 1) // size if content.kind == "service" and seen else None)
    return result


# -- content ----------------------------------------------------------------------------------------------------------


def _node_racks(pools: tuple[PoolPlan, ...], fabrics: tuple[FabricPlan, ...], hall: FacilityPlan) -> Iterator[_Content]:
    indices = {group.pool: index for index, group in enumerate(hall.racks) if group.pool}
    for pool in pools:
        index = indices[pool.name]
        group = hall.racks[index]
        power = group.node
        height = pool.machine.body.units or 1
        lowest = 1 + group.cdus * group.cdu_units
        leaves = [fabric.tiers[0] for fabric in fabrics if fabric.name in group.top]
        extra = sum((switch_power(tier.switch) for tier in leaves), Power(0, "W"))
        units = group.rack.units if group.rack else max(group.units, group.nodes_per_rack * height)
        wet = bool(group.heat.liquid or group.heat.door)
        full = power * group.nodes_per_rack + extra
        for rack, start in enumerate(range(0, pool.nodes, group.nodes_per_rack)):
            count = min(group.nodes_per_rack, pool.nodes - start)
            if pool.machine.rack and pool.machine.rack.arrangement:
                items = _product_items(pool.machine, pool.name, start, count)
            else:
                items = (Item("node", pool.name, start, count, lowest, height),)
            if group.top:
                unit = lowest + group.nodes_per_rack * height
                for name, tier in zip(group.top, leaves, strict=True):
                    items += (Item("switch", f"{name}/leaf", rack, 1, unit, tier.switch.units or 1),)
                    unit += tier.switch.units or 1
            draw = full if count == group.nodes_per_rack else power * count + extra
            yield _Content("compute", index, group.rack, units, items, draw, wet)


def _product_items(machine: Machine, pool: str, start: int, count: int) -> tuple[Item, ...]:
    """A rack product from the floor upwards; a last rack that is not full has its nodes at the bottom."""
    items, unit, done = [], 1, 0
    for what, of, number, height in _slots(machine):
        if what == "node":
            there = min(number, count - done)
            if there > 0:
                items.append(Item("node", pool, start + done, there, unit, height))
            done += number
        else:
            items.append(Item(what, of, 0, number, unit, height))  # type: ignore[arg-type]
        unit += number * height
    return tuple(items)


@cache
def _slots_of(product: str, slots: tuple[tuple[str, int, int], ...]) -> tuple[tuple[str, str, int, int], ...]:
    return tuple((what, f"{product}/{what}", count, units) for what, count, units in slots)


def _slots(machine: Machine) -> tuple[tuple[str, str, int, int], ...]:
    assert machine.rack is not None
    return _slots_of(machine.rack.name, tuple((slot.what, slot.count, slot.units) for slot in machine.rack.arrangement))


def _shared_racks(kind: str, runs: list[Things], hall: FacilityPlan, most: int | None) -> Iterator[_Content]:
    """Switches and machines fill their racks one after the other, spread evenly over them."""
    index = next((index for index, group in enumerate(hall.racks) if group.kind == kind), None)
    if index is None:
        return
    group = hall.racks[index]
    assert group.rack is not None
    for content in share_out(runs, group.count, Limits(group.rack.units, group.limit, most)):
        items, unit, power = [], 1, Power(0, "W")
        for run in content:
            what, of = run.key[0], run.key[1]
            items.append(Item(what, of, run.first, run.count, unit, run.units))
            unit += run.units * run.count
            power += run.power * run.count
        wet = bool(group.heat.liquid or group.heat.door)
        yield _Content(kind, index, group.rack, group.rack.units, tuple(items), power, wet)
