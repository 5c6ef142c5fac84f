"""Checks of racks."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ...primitives.quantity import Length, Quantity
from ..model import Plan, RackPlan

__all__ = ["CHECKS"]


def facility_value(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Quantities that are nothing or less where there must be something."""
    facility = plan.spec.facility
    if facility is None:
        return
    power, cooling, rack = facility.power, facility.cooling, facility.rack
    values: dict[str, Quantity | None] = {
        "reach": facility.reach,
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
                "put fewer into a rack, or take another rack",
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


def rack_size_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Things of unknown height in racks."""
    placed = any(not group.pool for group in plan.facility.racks) if plan.facility else False
    for name in plan.facility.unsized if plan.facility and placed else ():
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


CHECKS = (facility_value, rack_power, rack_reach, rack_size_unknown, rack_weight)
