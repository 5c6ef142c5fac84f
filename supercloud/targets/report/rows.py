"""The row plan: the hall from above, every rack with its power, rows with their sum, cooling zones."""

from __future__ import annotations

from ...plan.model.plan import Plan, RackPlan
from ..pictures import Picture, compute_text_width
from .names import format_power

__all__ = ["draw_row_plan"]

_LEFT, _TOP, _RIGHT = 60, 26, 96
_RACK_COLORS = {"compute": "node", "network": "switch", "storage": "server", "service": "manager"}
_KIND_NAMES = {
    "compute": "nodes",
    "network": "switches and services",
    "storage": "storage servers",
    "service": "coolant distribution",
}
_WIDTH = 1180
_MANY_RACKS = 320
"""With more racks than this they are drawn smaller."""


def draw_row_plan(plan: Plan) -> Picture | None:
    """Draw rows from the door; the number in a rack is its power in kW, a darker color means more power."""
    layout = plan.layout
    if layout is None or not layout.racks:
        return None
    rows, columns = layout.row_count, max(rack.column for rack in layout.racks) + 1
    many = len(layout.racks) > _MANY_RACKS
    cell = max(30.0, min(64.0, (_WIDTH - _LEFT - _RIGHT) / columns))
    depth, pitch, size = (20, 27, 9) if many else (34, 48, 11)
    densest = max(rack.power.to("kW") for rack in layout.racks) or 1.0
    width = max(_LEFT + columns * cell + _RIGHT, 640)
    picture = Picture(width, _TOP + rows * pitch + 48, f"row plan of {plan.name}")
    for column in range(columns):
        picture.draw_text(_LEFT + (column + 0.5) * cell, 13, str(column + 1), "faint", 10, "middle")
    partly = {rack.row for rack in layout.racks if rack.is_power_lower_bound}
    for row, power in enumerate(layout.compute_row_power()):
        y = _TOP + row * pitch + depth / 2
        picture.draw_text(_LEFT - 10, y, f"row {row + 1}", "faint", 11, "end")
        picture.draw_text(_LEFT + columns * cell + 10, y, format_power(power) + "+" * (row in partly), "faint", 11)
    for rack in layout.racks:
        x, y = _LEFT + rack.column * cell, float(_TOP + rack.row * pitch)
        _draw_rack(picture, rack, x, y, (cell, depth, size), densest, rack.is_power_lower_bound)
    for first, last, row in _group_zones(layout.racks):
        x, y = _LEFT + first * cell + 3, _TOP + row * pitch + depth + 4
        picture.draw_line(x, y, _LEFT + (last + 1) * cell - 3, y, "coolline")
    _draw_legend(picture, layout.racks, _TOP + rows * pitch + 12, bool(partly))
    return picture


def _draw_rack(
    picture: Picture,
    rack: RackPlan,
    x: float,
    y: float,
    sizes: tuple[float, int, int],
    densest: float,
    has_unknown_power: bool,
) -> None:
    cell, depth, size = sizes
    kilowatts = rack.power.to("kW")
    held = sum(item.count for item in rack.items)
    tip = f"{rack.name}: {rack.kind}, {held} items, " + (
        f"{kilowatts:.4g} kW" + ", partly unknown" * has_unknown_power if kilowatts else "power unknown"
    )
    if rack.zone is not None:
        tip += f", cooling zone {rack.zone + 1}"
    deep = 0.35 + 0.65 * kilowatts / densest
    color = _RACK_COLORS.get(rack.kind, "panel")
    attributes = ({"fill-opacity": f"{deep:.2f}"} if deep < 1 else {}) | {"data-rack": rack.name}
    picture.draw_rect(x + 1, y, cell - 2, depth, f"{color} pick", tip, attributes)
    text = f"{kilowatts:.0f}" if kilowatts >= 10 else f"{kilowatts:.1f}"
    if has_unknown_power:
        text = f"{text}+" if kilowatts else "?"
    elif not kilowatts:
        text = "–"
    picture.draw_text(x + cell / 2, y + depth / 2, text, "on", size, "middle")


def _group_zones(racks: tuple[RackPlan, ...]) -> list[tuple[int, int, int]]:
    """Return first and last column, and row, of adjacent racks in one cooling zone."""
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


def _draw_legend(picture: Picture, racks: tuple[RackPlan, ...], foot: float, has_unknown_power: bool) -> None:
    x = float(_LEFT)
    for kind, color in _RACK_COLORS.items():
        if any(rack.kind == kind for rack in racks):
            picture.draw_rect(x, foot - 5, 10, 10, color)
            picture.draw_text(x + 15, foot, _KIND_NAMES[kind], "faint", 11)
            x += 15 + compute_text_width(_KIND_NAMES[kind], 11) + 16
    x, foot = float(_LEFT), foot + 18
    if any(rack.zone is not None for rack in racks):
        picture.draw_line(x, foot, x + 18, foot, "coolline")
        picture.draw_text(x + 23, foot, "one cooling zone", "faint", 11)
        x += 23 + compute_text_width("one cooling zone", 11) + 16
    caption = "numbers in kW" + ("; + and ?: partly unknown" if has_unknown_power else "")
    picture.draw_text(x, foot, caption, "faint", 11)
