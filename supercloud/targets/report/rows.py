"""The row plan: the hall from above, every rack with what it draws."""

from __future__ import annotations

from ...plan.model import Plan
from ..pictures import Picture

__all__ = ["row_plan"]

_CELL, _DEPTH, _PITCH, _LEFT, _TOP = 46, 32, 46, 64, 26
_COLOURS = {"compute": "node", "network": "switch", "storage": "server", "service": "manager"}


def row_plan(plan: Plan) -> Picture | None:
    """Rows from the door; the number in a rack is its power in kW, its colour is deeper the more it draws."""
    layout = plan.layout
    if layout is None or not layout.racks:
        return None
    rows, columns = layout.rows, max(rack.column for rack in layout.racks) + 1
    densest = max(rack.power.to("kW") for rack in layout.racks) or 1.0
    width = max(_LEFT + columns * _CELL + 8, 420)
    picture = Picture(width, _TOP + rows * _PITCH + 30, f"row plan of {plan.name}")
    for column in range(columns):
        picture.text(_LEFT + (column + 0.5) * _CELL, 14, str(column + 1), "faint", 10, "middle")
    for row in range(rows):
        picture.text(_LEFT - 10, _TOP + row * _PITCH + _DEPTH / 2, f"row {row + 1}", "faint", 11, "end")
    for rack in layout.racks:
        left, y, kilowatts = _LEFT + rack.column * _CELL, _TOP + rack.row * _PITCH, rack.power.to("kW")
        held = sum(item.count for item in rack.items)
        colour = _COLOURS.get(rack.kind, "panel")
        tip = f"{rack.name}: {rack.kind}, {held} machines, {kilowatts:.4g} kW"
        depth = 0.35 + 0.65 * kilowatts / densest
        picture.rect(left + 1, y, _CELL - 2, _DEPTH, f"{colour} pick", tip, f'data-rack="{rack.name}"', depth)
        text = f"{kilowatts:.0f}" if kilowatts >= 10 else f"{kilowatts:.1f}"
        picture.text(left + _CELL / 2, y + _DEPTH / 2, text, "on", 11, "middle")
    x, foot = float(_LEFT), _TOP + rows * _PITCH + 10
    for kind, colour in _COLOURS.items():
        if any(rack.kind == kind for rack in layout.racks):
            picture.rect(x, foot - 5, 10, 10, colour)
            picture.text(x + 14, foot, kind, "faint", 11)
            x += 86
    return picture
