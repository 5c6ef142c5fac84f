"""Checks of racks."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ...catalog import Catalog
from ...errors import Finding
from ...primitives.quantity import Length, Quantity
from ..model import Plan, RackPlan
from .cures import nodes_within

__all__ = ["CHECKS"]


def facility_value(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Quantities that are nothing or less where there must be something."""
    facility = plan.spec.facility
    if facility is None:
        return
    power, cooling, rack = facility.power, facility.cooling, facility.rack
    values: dict[str, Quantity | None] = {
        "reach": facility.reach,
        "floor": facility.floor,
        "door": facility.door,
        "rack.power": rack.power if rack else None,
        "management.power": facility.management.power,
        "power.budget": power.budget,
        "power.voltage": power.voltage,
        "power.circuit": power.circuit,
        "power.feed": power.feed,
        "power.row": power.row,
        "power.swing_limit": power.swing_limit,
        "cooling.flow": cooling.flow,
    }
    values |= {f"energy.sources[{index}].power": item.power for index, item in enumerate(facility.energy.sources)}
    for path, value in values.items():
        if value is not None and value.base <= 0:
            yield Finding(
                "facility-value", "error", f"facility.{path}", f"{value} is not above zero", "write what there is"
            )
    fans = cooling.fans
    if fans is not None and fans.base < 0:
        yield Finding(
            "facility-value", "error", "facility.cooling.fans", f"{fans} is below zero", "write what there is"
        )


def rack_power(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks that draw more than their distribution carries."""
    for group in plan.facility.racks if plan.facility else ():
        limit = group.rack.max_power if group.rack else None
        if limit and group.power > limit:
            what = f"{group.nodes_per_rack} nodes of {group.pool}" if group.pool else "its switches"
            yield Finding(
                "rack-power",
                "error",
                "facility.rack",
                f"a rack with {what} draws {group.power}, "
                f"{group.power - limit} over the {limit} of a {group.rack.name if group.rack else ''}",
                f"{nodes_within(plan, group, group.power, limit) or 'put fewer into a rack'}, or take another rack",
            )


def rack_weight(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks of switches or servers that are heavier than their frame carries; those of nodes are not filled so far."""
    for group in plan.facility.racks if plan.facility else ():
        load = group.rack.max_load if group.rack and not group.pool else None
        if load and group.weight and group.weight > load:
            yield Finding(
                "rack-weight",
                "error",
                "facility.management",
                f"a rack of {group.kind} carries {group.weight}, {group.weight - load} over the {load} of a "
                f"{group.rack.name if group.rack else ''}",
                f"set management.racks above {group.count}, or take another rack",
            )


def rack_floor(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks that are heavier, with what is in them, than the floor carries; the rack's own weight where it is known."""
    floor = plan.spec.facility.floor if plan.spec.facility else None
    for group in plan.facility.racks if plan.facility and floor else ():
        own = group.rack.weight if group.rack else None
        # a product's weight is that of the whole
        weight = group.weight if group.limited_by == "product" or own is None or group.weight is None else (
            group.weight + own)  # fmt: skip
        what = group.pool or group.kind
        if weight is None:
            yield Finding(
                "rack-floor", "note", "facility.floor",
                f"not known: the weight of a rack of {what}; the floor is not checked for it",
                "put the weight of rack and machines into a catalog overlay",
            )  # fmt: skip
        elif floor is not None and weight > floor:
            fewer = nodes_within(plan, group, weight, floor, own.base if own else Fraction(0))
            cure = f"{fewer or 'spread its load'}, or reinforce the floor"
            yield Finding(
                "rack-floor", "error", "facility.floor",
                f"a rack of {what} weighs {weight}, {weight - floor} over the {floor} the floor carries", cure,
            )  # fmt: skip


def rack_door(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks that are taller than the lowest door they come through."""
    door = plan.spec.facility.door if plan.spec.facility else None
    racks = {group.rack.name: group.rack for group in (plan.facility.racks if plan.facility else ()) if group.rack}
    for rack in racks.values() if door else ():
        if rack.height is not None and door is not None and rack.height > door:
            yield Finding(
                "rack-door", "error", "facility.door",
                f"a {rack.name} is {rack.height} tall, {rack.height - door} over the door's {door}",
                "take a lower rack, or another way in",
            )  # fmt: skip


def rack_size_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Things of unknown height in racks."""
    for name in plan.facility.unsized if plan.facility and plan.facility.racks else ():
        yield Finding(
            "rack-size-unknown",
            "note",
            "facility",
            f"not known: rack units of {name}, counted as 1",
            "put it into a catalog overlay",
        )


def rack_reach(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Runs from nodes to their leaves, and from leaves to the tier above, longer than cables may be."""
    reach = plan.spec.facility.reach if plan.spec.facility else None
    if reach is None or plan.layout is None:
        return
    longest, ends = _longest(plan)
    if longest > reach and ends:
        yield Finding(
            "rack-reach",
            "error",
            "facility.reach",
            f"from {ends[0].name} to {ends[1].name} it is {longest} along and across rows, "
            f"{Length.of_base(longest.base - reach.base)} over the reach of {reach}",
            "set more racks_per_row, denser racks, or optics that reach further",
        )


def _longest(plan: Plan) -> tuple[Length, tuple[RackPlan, RackPlan] | None]:
    """The longest run between racks that are cabled: leaf i of n serves the i-th part of the racks of nodes."""
    layout = plan.layout
    assert layout is not None
    nodes = [rack for rack in layout.racks if rack.kind == "compute"]
    holding: dict[str, list[tuple[float, float, RackPlan]]] = {}
    counts = {f"{fabric.name}/{tier.name}": tier.count for fabric in plan.fabrics for tier in fabric.tiers}
    for rack in layout.racks:
        for item in rack.items:
            if item.what == "switch" and counts.get(item.of):
                count = counts[item.of]
                holding.setdefault(item.of, []).append((item.first / count, (item.first + item.count) / count, rack))
    best, ends = Length(0, "m"), None
    for of, racks in holding.items():
        fabric, _, tier = of.partition("/")
        above = [item[2] for item in holding.get(f"{fabric}/{'spine' if tier == 'leaf' else 'core'}", ())]
        outer = _corners(above)
        for low, high, rack in racks:
            below = nodes[int(low * len(nodes)) : max(int(low * len(nodes)) + 1, round(high * len(nodes)))]
            for other in (*(_corners(below) if tier == "leaf" else ()), *outer):
                run = layout.run(rack, other)
                if run > best:
                    best, ends = run, (rack, other)
    return best, ends


def _corners(racks: list[RackPlan]) -> list[RackPlan]:
    """The racks of a set among which the farthest from any place is."""
    if len(racks) < 5:
        return racks
    sums = [rack.row * 10_000 + rack.column for rack in racks]
    rows: dict[int, list[RackPlan]] = {}
    for rack in racks:
        rows.setdefault(rack.row, []).append(rack)
    ends = [racks[sums.index(min(sums))], racks[sums.index(max(sums))]]
    for row in (min(rows), max(rows)):
        ends += [min(rows[row], key=lambda rack: rack.column), max(rows[row], key=lambda rack: rack.column)]
    return ends


CHECKS = (facility_value, rack_door, rack_floor, rack_power, rack_reach, rack_size_unknown, rack_weight)
