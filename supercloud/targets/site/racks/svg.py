"""Elevations as a picture: each kind of rack drawn once, or the racks that are asked for."""

from __future__ import annotations

from collections.abc import Collection
from xml.sax.saxutils import escape, quoteattr

from ....plan.model import Plan, RackPlan
from .things import Things, shapes

__all__ = ["elevations_svg"]

_UNIT, _WIDTH, _GAP, _HEAD, _ACROSS = 12, 190, 34, 34, 6
_STYLE = """
  .frame { fill: none; stroke: #667; stroke-width: 2 }
  .thing { fill: #dfe7f5; stroke: #667 }
  .switch { fill: #d9efdc } .server { fill: #f5ead2 } .shelf { fill: #f3dede } .cdu { fill: #d5ecf3 }
  text { font: 9px sans-serif; fill: #112 }
  .head { font-weight: bold; font-size: 11px }
  @media (prefers-color-scheme: dark) {
    text { fill: #eef } .thing { fill: #2d3a55 } .switch { fill: #24492c } .server { fill: #574618 }
    .shelf { fill: #5a2b2b } .cdu { fill: #1f4a58 }
  }
"""
_CLASS = {"switch": "switch", "nvlink-switch": "switch", "management-switch": "switch", "server": "server",
          "power-shelf": "shelf", "pdu": "shelf", "cdu": "cdu"}  # fmt: skip


def elevations_svg(plan: Plan, names: Collection[str] | None = None) -> str:
    """Front views as SVG. ``names`` chooses racks; without it every shape of rack is drawn once."""
    things = Things(plan)
    if names is None:
        chosen = [(racks[0], len(racks)) for racks in shapes(plan)]
    else:
        chosen = [(rack, 1) for rack in (plan.layout.racks if plan.layout else ()) if rack.name in names]
    tallest = max((_units(rack) for rack, _ in chosen), default=1)
    loose = max((len([item for item in rack.items if not item.unit]) for rack, _ in chosen), default=0)
    step = _HEAD + tallest * _UNIT + loose * _UNIT + _GAP
    across = max(1, min(_ACROSS, len(chosen)))
    down = -(-len(chosen) // across)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across * (_WIDTH + _GAP) + _GAP} {down * step + _GAP}" '
        f'role="img" aria-label={quoteattr(f"rack elevations of {plan.name}")}>',
        f"<style>{_STYLE}</style>",
    ]
    for place, (rack, count) in enumerate(chosen):
        x, y = _GAP + place % across * (_WIDTH + _GAP), _GAP + place // across * step
        parts += _rack(rack, count, x, y, tallest, things)
    return "\n".join([*parts, "</svg>", ""])


def _units(rack: RackPlan) -> int:
    return max(rack.units, max((item.unit + item.count * item.height - 1 for item in rack.items), default=1), 1)


def _rack(rack: RackPlan, count: int, x: int, y: int, tallest: int, things: Things) -> list[str]:
    bottom = y + _HEAD + tallest * _UNIT
    units = _units(rack)
    many = f" and {count - 1} like it" if count > 1 else ""
    power = f"{rack.power}" if rack.power else "power unknown"
    lines = [
        f'<g data-rack="{rack.name}"><text class="head" x="{x}" y="{y + 12}">{escape(rack.name + many)}</text>',
        f'<text x="{x}" y="{y + 25}">{escape(f"{rack.kind}, {power}")}</text>',
        f'<rect class="frame" x="{x}" y="{bottom - units * _UNIT}" width="{_WIDTH}" height="{units * _UNIT}"/>',
    ]
    below = bottom
    for item in rack.items:
        if not item.unit:
            below += _UNIT
            lines.append(f'<text x="{x}" y="{below}">{escape(f"+ {item.count} × {things.product(item)}")}</text>')
            continue
        for index in range(item.count):
            top = bottom - (item.unit - 1 + (index + 1) * item.height) * _UNIT
            name = things.name(item, index)
            kind = _CLASS.get(item.what, "")
            lines.append(
                f'<rect class="thing {kind}" x="{x + 1}" y="{top}" width="{_WIDTH - 2}" height="{item.height * _UNIT}">'
                f"<title>{escape(f'{name}: {things.product(item)}, U{item.unit + index * item.height}')}</title></rect>"
            )
            lines.append(f'<text x="{x + 5}" y="{top + item.height * _UNIT / 2 + 3:g}">{escape(name[:34])}</text>')
    return [*lines, "</g>"]
