"""Elevations as text: each kind of rack drawn once, with the list of equal racks."""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.model.plan import Plan, RackPlan
from ...pictures import RackContents, group_by_shape

__all__ = ["render_elevations"]

_LINE_WIDTH = 46
_MAX_NAMES = 6


def render_elevations(plan: Plan, contents: RackContents) -> str:
    """Render all shapes of racks, from the top downwards."""
    lines: list[str] = []
    for racks in group_by_shape(plan):
        lines += [*_format_heading(racks), *_draw_rack(racks[0], contents), ""]
    return "\n".join(lines)


def _format_heading(racks: list[RackPlan]) -> Iterator[str]:
    names = ", ".join(rack.name for rack in racks[:_MAX_NAMES])
    more = f" and {len(racks) - _MAX_NAMES} more" if len(racks) > _MAX_NAMES else ""
    first = racks[0]
    of = f" in {first.rack.name}" if first.rack else ""
    yield f"{len(racks)} × {first.kind}{of}, {first.power_text}: {names}{more}"


def _draw_rack(rack: RackPlan, contents: RackContents) -> Iterator[str]:
    units: dict[int, str] = {}
    loose = []
    for item in rack.items:
        if not item.unit:
            loose.append(f"  + {item.count} × {contents.get_product(item)} ({item.kind}): {contents.format_span(item)}")
            continue
        for index in range(item.count):
            low = item.unit + index * item.height
            top = low + item.height - 1
            text = f"{contents.format_name(item, index)}  {contents.get_product(item)}"
            for unit in range(low, top + 1):
                units[unit] = text if unit == top else "|"
    if rack.units:
        yield f"  U  +{'-' * _LINE_WIDTH}+"
        for unit in range(max(rack.units, max(units, default=0)), 0, -1):
            text = units.get(unit, "")
            used = unit in units
            yield f"{unit:4d} |{(' ' + text if used else ' ·')[:_LINE_WIDTH].ljust(_LINE_WIDTH)}|"
        yield f"     +{'-' * _LINE_WIDTH}+"
    yield from loose
