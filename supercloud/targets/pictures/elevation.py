"""Rack elevations: what stands in which rack unit, seen from the front, floor below."""

from __future__ import annotations

from collections.abc import Collection

from ...plan.model.plan import Item, Plan, RackPlan
from .svg import Picture, cut
from .things import Things, shapes

__all__ = ["COLOURS", "UNIT", "elevation", "elevations"]

UNIT = 12
_WIDTH, _RULER, _TOP, _FOOT = 156, 18, 22, 20
_ACROSS, _GAP, _CAPTION = 6, 24, 16

COLOURS = {
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
"""What an item of a rack is -> the colour it is drawn in."""


def elevation(things: Things, rack: RackPlan) -> Picture:
    """One rack from the front."""
    loose = [item for item in rack.items if item.unit < 1]  # vertical distribution units and the like
    units = max([rack.units, 1, *(item.unit + item.height * item.count - 1 for item in rack.items if item.unit > 0)])
    height = _TOP + units * UNIT + _FOOT + 14 * len(loose)
    picture = Picture(_WIDTH, height, f"rack {rack.name}")
    picture.text(_RULER, 10, rack.name, "strong", 12)
    least = "≥ " if rack.power_is_least else ""
    power = f"{least}{rack.power.to('kW'):.4g} kW" if rack.power else "power unknown"
    picture.text(_WIDTH, 10, power, "faint", 11, "end")
    picture.rect(_RULER, _TOP, _WIDTH - _RULER, units * UNIT, "rack")
    for unit in range(1, units + 1):
        if unit == 1 or unit % 6 == 0:
            picture.text(_RULER - 4, _TOP + (units - unit + 0.5) * UNIT, str(unit), "faint", 9, "end")
    used = 0
    for item in rack.items:
        if item.unit > 0:
            used += item.height * item.count
            _boxes(things, picture, item, units)
    foot = _TOP + units * UNIT
    picture.text(_RULER, foot + 11, f"{used} of {units} U, {rack.kind}", "faint", 10)
    for index, item in enumerate(loose):
        product = things.product(item)
        name = item.what if product == item.what else f"{item.what} {product}"
        line = cut(f"+ {item.count} × {name}", _WIDTH - _RULER, 10)
        picture.text(_RULER, foot + 25 + index * 14, line, "faint", 10)
    return picture


def _boxes(things: Things, picture: Picture, item: Item, units: int) -> None:
    kind, inner = COLOURS.get(item.what, "panel"), _WIDTH - _RULER - 4
    product = things.product(item)
    for index in range(item.count):
        low = item.unit + index * item.height
        y = _TOP + (units - low - item.height + 1) * UNIT
        name = things.name(item, index)
        data = f'data-{item.what}="{name}"' if item.what in ("node", "switch", "server") else ""
        span = f"U{low}" if item.height == 1 else f"U{low}-{low + item.height - 1}"
        picture.rect(_RULER + 2, y + 0.5, inner, item.height * UNIT - 1, kind, f"{name}, {span}, {product}", data)
        middle = y + item.height * UNIT / 2
        two = item.height >= 3 and product not in ("", name)
        size = 11 if item.height > 1 else 9
        x = _RULER + 2 + inner / 2
        picture.text(x, middle - (7 if two else 0), cut(name, inner - 4, size), "on", size, "middle")
        if two:
            picture.text(x, middle + 7, cut(product, inner - 4, 9), "on faint", 9, "middle")


def elevations(plan: Plan, names: Collection[str] | None = None) -> Picture:
    """A sheet of racks. ``names`` chooses them; without it every kind is drawn once, with how many there are."""
    things = Things(plan)
    if names is None:
        chosen = [(elevation(things, racks[0]), len(racks)) for racks in shapes(plan)]
    else:
        racks = plan.layout.racks if plan.layout else ()
        chosen = [(elevation(things, rack), 1) for rack in racks if rack.name in names]
    across = max(1, min(_ACROSS, len(chosen)))
    step = max((drawn.height for drawn, _ in chosen), default=0) + _CAPTION + _GAP
    sheet = Picture(_GAP + across * (_WIDTH + _GAP), _GAP + -(-len(chosen) // across) * step, f"racks of {plan.name}")
    for place, (drawn, count) in enumerate(chosen):
        x, y = _GAP + place % across * (_WIDTH + _GAP), _GAP + place // across * step
        below = y + step - _CAPTION - _GAP - drawn.height  # all stand on the same floor
        sheet.place(drawn, x, below)
        if count > 1:
            sheet.text(x + _RULER, y + step - _GAP - _CAPTION / 2, f"and {count - 1} like it", "faint", 11)
    return sheet
