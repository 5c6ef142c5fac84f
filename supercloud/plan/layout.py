"""Where racks stand and what is in them: nodes rack by rack, switches in the middle of the hall."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog import Rack
from ..primitives.quantity import Length, Power
from ..spec import ClusterSpec
from .facility import node_power
from .model import FabricPlan, FacilityPlan, Item, LayoutPlan, PoolPlan, RackPlan

__all__ = ["layout_of"]

# Where neither the spec nor the rack says otherwise: rows of a hall, width and aisle as most halls are built
# (racks of 600 mm; rows repeat every 7 tiles of 600 mm with a cold and a hot aisle between them).
_RACKS_PER_ROW = 16
_WIDTH = Length("600 mm")
_PITCH = Length("4200 mm")

_Content = tuple[str, Rack | None, int, tuple[Item, ...], Power]


def layout_of(
    spec: ClusterSpec, pools: tuple[PoolPlan, ...], fabrics: tuple[FabricPlan, ...], hall: FacilityPlan | None
) -> LayoutPlan | None:
    """Every rack with its place; None where the racks of a pool are not known.

    Racks with switches stand in the middle, so that the longest cable is as short as it can be.
    """
    if hall is None or {pool.name for pool in pools} - {group.pool for group in hall.racks}:
        return None
    nodes = list(_node_racks(pools, hall))
    network = list(_network_racks(fabrics, hall))
    middle = len(nodes) // 2
    ordered = [*nodes[:middle], *network, *nodes[middle:]]
    per_row = (spec.facility.racks_per_row if spec.facility else None) or min(_RACKS_PER_ROW, max(len(ordered), 1))
    racks = tuple(
        RackPlan(f"r{index // per_row + 1:02d}-{index % per_row + 1:02d}", index // per_row, index % per_row, kind,  # type: ignore[arg-type]
                 rack, units, items, power)
        for index, (kind, rack, units, items, power) in enumerate(ordered)
    )  # fmt: skip
    widths = [rack.rack.width for rack in racks if rack.rack and rack.rack.width]
    return LayoutPlan(racks, per_row, max(widths, default=_WIDTH), _PITCH)


def _node_racks(pools: tuple[PoolPlan, ...], hall: FacilityPlan) -> Iterator[_Content]:
    groups = {group.pool: group for group in hall.racks}
    for pool in pools:
        group = groups[pool.name]
        height = pool.machine.body.units or 1
        power = node_power(pool.machine)
        for start in range(0, pool.nodes, group.nodes_per_rack):
            count = min(group.nodes_per_rack, pool.nodes - start)
            units = group.rack.units if group.rack else count * height
            yield "compute", group.rack, units, (Item("node", pool.name, start, count, 1, height),), power * count


def _network_racks(fabrics: tuple[FabricPlan, ...], hall: FacilityPlan) -> Iterator[_Content]:
    """Switches fill the network racks one after the other, spread evenly over them."""
    group = next((group for group in hall.racks if not group.pool), None)
    if group is None or group.rack is None:
        return
    boxes = [(fabric.name, tier, index) for fabric in fabrics for tier in fabric.tiers
             for index in range(-(-tier.count // tier.switch.chips))]  # fmt: skip
    each = -(-len(boxes) // group.count)
    for start in range(0, len(boxes), each):
        items: list[Item] = []
        unit, power = 1, Power(0, "W")
        for fabric, tier, index in boxes[start : start + each]:
            height = tier.switch.units or 1
            of = f"{fabric}/{tier.name}"
            last = items[-1] if items else None
            if last and last.of == of:
                items[-1] = Item("switch", of, last.first, last.count + 1, last.unit, height)
            else:
                items.append(Item("switch", of, index, 1, unit, height))
            unit += height
            power += tier.switch.power_max or tier.switch.power_typical or Power(0, "W")
        yield "network", group.rack, group.rack.units, tuple(items), power
