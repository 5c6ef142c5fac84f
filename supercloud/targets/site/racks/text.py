"""Elevations as text: each kind of rack drawn once, with the racks that look like it."""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.model.plan import Plan, RackPlan
from ...pictures import Things, shapes

__all__ = ["elevations_text"]

_WIDTH = 46
_NAMED = 6


def elevations_text(plan: Plan, things: Things) -> str:
    """All shapes of racks from the top downwards."""
    lines: list[str] = []
    for racks in shapes(plan):
        lines += [*_head(racks), *_drawing(racks[0], things), ""]
    return "\n".join(lines)


def _head(racks: list[RackPlan]) -> Iterator[str]:
    names = ", ".join(rack.name for rack in racks[:_NAMED])
    more = f" and {len(racks) - _NAMED} more" if len(racks) > _NAMED else ""
    first = racks[0]
    of = f" in {first.rack.name}" if first.rack else ""
    yield f"{len(racks)} × {first.kind}{of}, {first.power_text}: {names}{more}"


def _drawing(rack: RackPlan, things: Things) -> Iterator[str]:
    units: dict[int, str] = {}
    loose = []
    for item in rack.items:
        if not item.unit:
            loose.append(f"  + {item.count} × {things.product(item)} ({item.what}): {things.span(item)}")
            continue
        for index in range(item.count):
            low = item.unit + index * item.height
            top = low + item.height - 1
            text = f"{things.name(item, index)}  {things.product(item)}"
            for unit in range(low, top + 1):
                units[unit] = text if unit == top else "|"
    if rack.units:
        yield f"  U  +{'-' * _WIDTH}+"
        for unit in range(max(rack.units, max(units, default=0)), 0, -1):
            text = units.get(unit, "")
            used = unit in units
            yield f"{unit:4d} |{(' ' + text if used else ' ·')[:_WIDTH].ljust(_WIDTH)}|"
        yield f"     +{'-' * _WIDTH}+"
    yield from loose
