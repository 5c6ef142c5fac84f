"""Rack elevations: what stands in which rack unit, seen from the front, floor below."""

from __future__ import annotations

from ...plan.model import Item, Plan, RackPlan
from .names import KINDS, item_name, kilowatts
from .svg import Picture, cut

__all__ = ["UNIT", "elevation"]

UNIT = 12
_WIDTH, _RULER, _TOP, _FOOT = 156, 18, 22, 20


def elevation(plan: Plan, rack: RackPlan) -> Picture:
    """One rack from the front."""
    loose = [item for item in rack.items if item.unit < 1]  # vertical distribution units and the like
    units = max([rack.units, 1, *(item.unit + item.height * item.count - 1 for item in rack.items if item.unit > 0)])
    height = _TOP + units * UNIT + _FOOT + 14 * len(loose)
    picture = Picture(_WIDTH, height, f"rack {rack.name}")
    picture.text(_RULER, 10, rack.name, "strong", 12)
    picture.text(_WIDTH, 10, kilowatts(rack.power), "faint", 11, "end")
    picture.rect(_RULER, _TOP, _WIDTH - _RULER, units * UNIT, "rack")
    for unit in range(1, units + 1):
        if unit == 1 or unit % 6 == 0:
            picture.text(_RULER - 4, _TOP + (units - unit + 0.5) * UNIT, str(unit), "faint", 9, "end")
    used = 0
    for item in rack.items:
        if item.unit > 0:
            used += item.height * item.count
            _boxes(plan, picture, item, units)
    foot = _TOP + units * UNIT
    picture.text(_RULER, foot + 11, f"{used} of {units} U, {rack.kind}", "faint", 10)
    for index, item in enumerate(loose):
        line = cut(f"+ {item.count} × {item.what} {item.of}", _WIDTH - _RULER, 10)
        picture.text(_RULER, foot + 25 + index * 14, line, "faint", 10)
    return picture


def _boxes(plan: Plan, picture: Picture, item: Item, units: int) -> None:
    kind, inner = KINDS.get(item.what, "panel"), _WIDTH - _RULER - 4
    product = _product(plan, item)
    for index in range(item.count):
        low = item.unit + index * item.height
        y = _TOP + (units - low - item.height + 1) * UNIT
        name = item_name(plan, item, index)
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


def _product(plan: Plan, item: Item) -> str:
    if item.what == "node":
        return plan.pool(item.of).machine.name
    if item.what == "switch":
        fabric, _, tier = item.of.partition("/")
        found = (t for f in plan.fabrics if f.name == fabric for t in f.tiers if t.name == tier)
        return next((tier.switch.name for tier in found), "")
    return next((group.machine.name for group in plan.servers if group.name == item.of), item.what)
