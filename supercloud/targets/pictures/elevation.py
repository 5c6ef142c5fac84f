"""Rack elevations: the contents of the rack units, seen from the front."""

from __future__ import annotations

from collections.abc import Collection

from ...plan.model.plan import Plan, RackItem, RackPlan
from .rack_contents import RackContents, group_by_shape
from .svg import Picture, truncate_text

__all__ = ["ITEM_COLORS", "UNIT_PIXELS", "draw_elevation", "draw_elevations"]

UNIT_PIXELS = 12
_WIDTH, _RULER, _TOP, _FOOT = 156, 18, 22, 20
_ACROSS, _GAP, _CAPTION = 6, 24, 16

ITEM_COLORS = {
    "node": "node",
    "switch": "switch",
    "nvlink-switch": "switch",
    "management-switch": "switch",
    "server": "server",
    "manager": "manager",
    "power-shelf": "feed",
    "pdu": "feed",
    "cdu": "cool",
    "panel": "panel",
}
"""Kind of a rack item -> its color."""


def draw_elevation(contents: RackContents, rack: RackPlan) -> Picture:
    """Draw one rack from the front."""
    loose = [item for item in rack.items if item.unit < 1]  # such as vertical power distribution units
    units = max([rack.units, 1, *(item.unit + item.height * item.count - 1 for item in rack.items if item.unit > 0)])
    height = _TOP + units * UNIT_PIXELS + _FOOT + 14 * len(loose)
    picture = Picture(_WIDTH, height, f"rack {rack.name}")
    picture.draw_text(_RULER, 10, rack.name, "strong", 12)
    least = "≥ " if rack.is_power_lower_bound else ""
    power = f"{least}{rack.power.to('kW'):.4g} kW" if rack.power else "power unknown"
    picture.draw_text(_WIDTH, 10, power, "faint", 11, "end")
    picture.draw_rect(_RULER, _TOP, _WIDTH - _RULER, units * UNIT_PIXELS, "rack")
    for unit in range(1, units + 1):
        if unit == 1 or unit % 6 == 0:
            picture.draw_text(_RULER - 4, _TOP + (units - unit + 0.5) * UNIT_PIXELS, str(unit), "faint", 9, "end")
    used = 0
    for item in rack.items:
        if item.unit > 0:
            used += item.height * item.count
            _draw_boxes(contents, picture, item, units)
    foot = _TOP + units * UNIT_PIXELS
    picture.draw_text(_RULER, foot + 11, f"{used} of {units} U, {rack.kind}", "faint", 10)
    for index, item in enumerate(loose):
        product = contents.get_product(item)
        name = item.kind if product == item.kind else f"{item.kind} {product}"
        line = truncate_text(f"+ {item.count} × {name}", _WIDTH - _RULER, 10)
        picture.draw_text(_RULER, foot + 25 + index * 14, line, "faint", 10)
    return picture


def _draw_boxes(contents: RackContents, picture: Picture, rack_item: RackItem, units: int) -> None:
    kind, inner = ITEM_COLORS.get(rack_item.kind, "panel"), _WIDTH - _RULER - 4
    product = contents.get_product(rack_item)
    for index in range(rack_item.count):
        low = rack_item.unit + index * rack_item.height
        y = _TOP + (units - low - rack_item.height + 1) * UNIT_PIXELS
        name = contents.format_name(rack_item, index)
        data = {f"data-{rack_item.kind}": name} if rack_item.kind in ("node", "switch", "server") else {}
        span = f"U{low}" if rack_item.height == 1 else f"U{low}-{low + rack_item.height - 1}"
        picture.draw_rect(
            _RULER + 2, y + 0.5, inner, rack_item.height * UNIT_PIXELS - 1, kind, f"{name}, {span}, {product}", data
        )
        middle = y + rack_item.height * UNIT_PIXELS / 2
        two = rack_item.height >= 3 and product not in ("", name)
        size = 11 if rack_item.height > 1 else 9
        x = _RULER + 2 + inner / 2
        picture.draw_text(x, middle - (7 if two else 0), truncate_text(name, inner - 4, size), "on", size, "middle")
        if two:
            picture.draw_text(x, middle + 7, truncate_text(product, inner - 4, 9), "on faint", 9, "middle")


def draw_elevations(plan: Plan, names: Collection[str] | None = None) -> Picture:
    """Draw a sheet of racks. ``names`` selects them; without it every kind is drawn once, with its count."""
    contents = RackContents(plan)
    if names is None:
        chosen = [(draw_elevation(contents, racks[0]), len(racks)) for racks in group_by_shape(plan)]
    else:
        racks = plan.layout.racks if plan.layout else ()
        chosen = [(draw_elevation(contents, rack), 1) for rack in racks if rack.name in names]
    across = max(1, min(_ACROSS, len(chosen)))
    step = max((drawn.height for drawn, _ in chosen), default=0) + _CAPTION + _GAP
    sheet = Picture(_GAP + across * (_WIDTH + _GAP), _GAP + -(-len(chosen) // across) * step, f"racks of {plan.name}")
    for place, (drawn, count) in enumerate(chosen):
        x, y = _GAP + place % across * (_WIDTH + _GAP), _GAP + place // across * step
        below = y + step - _CAPTION - _GAP - drawn.height  # aligned at the bottom
        sheet.embed(drawn, x, below)
        if count > 1:
            sheet.draw_text(x + _RULER, y + step - _GAP - _CAPTION / 2, f"and {count - 1} like it", "faint", 11)
    return sheet
