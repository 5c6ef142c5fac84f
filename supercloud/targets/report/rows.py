"""The row plan: the hall from above, every rack with what it draws, rows with their sum, zones of the same water."""

from __future__ import annotations

from ...plan.model.plan import Plan, RackPlan
from ..pictures import Picture, width_of
from .names import power_text

__all__ = ["row_plan"]

_LEFT, _TOP, _RIGHT = 60, 26, 96
_COLOURS = {"compute": "node", "network": "switch", "storage": "server", "service": "manager"}
_NAMES = {"compute": "nodes", "network": "switches and services", "storage": "storage servers",
          "service": "distribution of coolant"}  # fmt: skip
_WIDTH = 1180
_MANY = 320
"""Above so many racks they are drawn smaller."""


def row_plan(plan: Plan) -> Picture | None:
    """Rows from the door; the number in a rack is its power in kW, its colour is deeper the more it draws."""
    layout = plan.layout
    if layout is None or not layout.racks:
        return None
    rows, columns = layout.rows, max(rack.column for rack in layout.racks) + 1
    many = len(layout.racks) > _MANY
    cell = max(30.0, min(64.0, (_WIDTH - _LEFT - _RIGHT) / columns))
    depth, pitch, size = (20, 27, 9) if many else (34, 48, 11)
    densest = max(rack.power.to("kW") for rack in layout.racks) or 1.0
    width = max(_LEFT + columns * cell + _RIGHT, 640)
    picture = Picture(width, _TOP + rows * pitch + 48, f"row plan of {plan.name}")
    for column in range(columns):
        picture.text(_LEFT + (column + 0.5) * cell, 13, str(column + 1), "faint", 10, "middle")
    partly = {rack.row for rack in layout.racks if rack.power_is_least}
    for row, power in enumerate(layout.row_power()):
        y = _TOP + row * pitch + depth / 2
        picture.text(_LEFT - 10, y, f"row {row + 1}", "faint", 11, "end")
        picture.text(_LEFT + columns * cell + 10, y, power_text(power) + "+" * (row in partly), "faint", 11)
    for rack in layout.racks:
        x, y = _LEFT + rack.column * cell, float(_TOP + rack.row * pitch)
        _rack(picture, rack, x, y, (cell, depth, size), densest, rack.power_is_least)
    for first, last, row in _zones(layout.racks):
        x, y = _LEFT + first * cell + 3, _TOP + row * pitch + depth + 4
        picture.line(x, y, _LEFT + (last + 1) * cell - 3, y, "coolline")
    _legend(picture, layout.racks, _TOP + rows * pitch + 12, bool(partly))
    return picture


def _rack(
    picture: Picture, rack: RackPlan, x: float, y: float, sizes: tuple[float, int, int], densest: float, unknown: bool
) -> None:
    cell, depth, size = sizes
    kilowatts = rack.power.to("kW")
    held = sum(item.count for item in rack.items)
    tip = f"{rack.name}: {rack.kind}, {held} things, " + (
        f"{kilowatts:.4g} kW" + ", of a part not known" * unknown if kilowatts else "power not known"
    )
    if rack.zone is not None:
        tip += f", cooling zone {rack.zone + 1}"
    deep = 0.35 + 0.65 * kilowatts / densest
    colour = _COLOURS.get(rack.kind, "panel")
    picture.rect(x + 1, y, cell - 2, depth, f"{colour} pick", tip, f'data-rack="{rack.name}"', deep)
    text = f"{kilowatts:.0f}" if kilowatts >= 10 else f"{kilowatts:.1f}"
    if unknown:
        text = f"{text}+" if kilowatts else "?"
    elif not kilowatts:
        text = "–"
    picture.text(x + cell / 2, y + depth / 2, text, "on", size, "middle")


def _zones(racks: tuple[RackPlan, ...]) -> list[tuple[int, int, int]]:
    """First and last column, and row, of racks side by side in one cooling zone."""
    found: list[tuple[int, int, int]] = []
    last: RackPlan | None = None
    for rack in racks:
        if rack.zone is not None:
            if last and (last.zone, last.row, last.column + 1) == (rack.zone, rack.row, rack.column):
                found[-1] = (found[-1][0], rack.column, rack.row)
            else:
                found.append((rack.column, rack.column, rack.row))
        last = rack if rack.zone is not None else None
    return found


def _legend(picture: Picture, racks: tuple[RackPlan, ...], foot: float, unknown: bool) -> None:
    x = float(_LEFT)
    for kind, colour in _COLOURS.items():
        if any(rack.kind == kind for rack in racks):
            picture.rect(x, foot - 5, 10, 10, colour)
            picture.text(x + 15, foot, _NAMES[kind], "faint", 11)
            x += 15 + width_of(_NAMES[kind], 11) + 16
    x, foot = float(_LEFT), foot + 18
    if any(rack.zone is not None for rack in racks):
        picture.line(x, foot, x + 18, foot, "coolline")
        picture.text(x + 23, foot, "one cooling zone", "faint", 11)
        x += 23 + width_of("one cooling zone", 11) + 16
    said = "numbers in kW" + ("; + and ? where a part is not known" if unknown else "")
    picture.text(x, foot, said, "faint", 11)
