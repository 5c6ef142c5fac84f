"""Check of the runs between racks: the cables of a fabric must reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...catalog import Catalog
from ...errors import Finding
from ...primitives.quantity import Length
from ..model.plan import LayoutPlan, Plan, RackPlan

__all__ = ["cable_length"]


def cable_length(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Runs from nodes to their leaves, and from leaves to the tier above, that are longer than cables reach."""
    limit = plan.spec.facility.max_cable_length if plan.spec.facility else None
    if limit is None or plan.layout is None:
        return
    longest, ends = _find_longest_run(plan, plan.layout)
    if longest > limit and ends:
        yield Finding(
            "cable-length",
            "error",
            "facility.max_cable_length",
            f"the run from {ends[0].name} to {ends[1].name} is {longest} along and across rows, "
            f"{Length.from_base(longest.base - limit.base)} over the limit of {limit}",
            "set more racks_per_row, denser racks, or optics that reach further",
        )


@dataclass(frozen=True)
class _SwitchRack:
    """A rack with switches of a tier, and the part of the tier that they are."""

    rack: RackPlan
    low: float
    high: float

    def select_served(self, nodes: list[RackPlan]) -> list[RackPlan]:
        """The racks of nodes that these switches serve, if they are leaves."""
        first = int(self.low * len(nodes))
        return nodes[first : max(first + 1, round(self.high * len(nodes)))]


def _list_switch_racks(plan: Plan, layout: LayoutPlan) -> dict[str, list[_SwitchRack]]:
    """Tier of a fabric -> the racks with its switches."""
    counts = {f"{fabric.name}/{tier.name}": tier.count for fabric in plan.fabrics for tier in fabric.tiers}
    found: dict[str, list[_SwitchRack]] = {}
    for rack in layout.racks:
        for item in rack.items:
            if item.kind == "switch" and counts.get(item.group):
                count = counts[item.group]
                part = _SwitchRack(rack, item.first / count, (item.first + item.count) / count)
                found.setdefault(item.group, []).append(part)
    return found


def _find_longest_run(plan: Plan, layout: LayoutPlan) -> tuple[Length, tuple[RackPlan, RackPlan] | None]:
    """The longest run between racks that are cabled: leaf i of n serves the i-th part of the racks of nodes."""
    nodes = [rack for rack in layout.racks if rack.kind == "compute"]
    holding = _list_switch_racks(plan, layout)
    best, ends = Length(0, "m"), None
    for of, switches in holding.items():
        fabric, _, tier = of.partition("/")
        above = [item.rack for item in holding.get(f"{fabric}/{'spine' if tier == 'leaf' else 'core'}", ())]
        outer = _select_corner_racks(above)
        for item in switches:
            below = _select_corner_racks(item.select_served(nodes)) if tier == "leaf" else []
            for other in (*below, *outer):
                run = layout.compute_run(item.rack, other)
                if run > best:
                    best, ends = run, (item.rack, other)
    return best, ends


def _select_corner_racks(racks: list[RackPlan]) -> list[RackPlan]:
    """The racks of a set among which the one farthest from any position is."""
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
