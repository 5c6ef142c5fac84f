"""The picture of a fabric: rows of boxes, lines whose width shows the number of cables, text in a separate margin.

Texts never overlap: text about a row is left of it, text in a box is scaled to the box, and everything that does not
fit is in tooltips.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import log2

import numpy as np

from ...plan.model.plan import FabricPlan, Plan
from ...primitives.nodes import HostSet
from ...primitives.templates import render_template
from ...topology import Fabric
from .cells import Cell, TierRow, build_rows
from .grid import draw_torus

__all__ = ["draw_fabric"]

_WIDTH, _MARGIN, _EDGE = 1200, 210, 20
_TOP, _ROW, _BOX = 74, 150, 46
_GAP = 8
_MAX_BOX_WIDTH = 130


def draw_fabric(plan: Plan, fabric: FabricPlan) -> str:
    """Draw a fabric as SVG, from two switches to thousands, for light and dark mode. Empty if a cloud owns the
    cables.
    """
    wiring = fabric.wiring
    if not isinstance(wiring, Fabric):
        return ""
    if wiring.grid is not None:
        return draw_torus(fabric, wiring).render_file()
    rows, planes = build_rows(wiring)
    height = _TOP + (len(rows) - 1) * _ROW + _BOX + _EDGE
    head = f"{fabric.name}: {fabric.kind} {fabric.shape}, {fabric.speed} links"
    parts = [f"{tier.count} {tier.name} ({tier.switch.name})" for tier in fabric.tiers]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="fd" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(head)}</title>",
        f"<style>{render_template('pictures/colors.css.j2')}{render_template('pictures/fabric.css.j2')}</style>",
        f'<rect class="back" width="{_WIDTH}" height="{height}"/>',
        _draw_text(_EDGE, 28, head, 17, "start", is_bold=True),
        _draw_text(
            _EDGE,
            48,
            _truncate_line(", ".join([f"{wiring.nodes} nodes", *parts, *_describe_planes(wiring, planes)])),
            12,
            "start",
            is_faint=True,
        ),
        *_draw_links(wiring, rows),
    ]
    hosts = HostSet(tuple(plan.get_pool(name).hosts for name in fabric.pools))
    for number, row in enumerate(rows):
        lines += _draw_row(fabric, wiring, row, _TOP + number * _ROW, hosts)
        if number:
            lines += _draw_link_labels(fabric, wiring, rows[number - 1], row, _TOP + number * _ROW - (_ROW - _BOX) / 2)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _truncate_line(text: str) -> str:
    """Truncate a line to the width of the picture."""
    most = int((_WIDTH - 2 * _EDGE) / (12 * 0.6))
    return text if len(text) <= most else text[: most - 1] + "…"


def _describe_planes(wiring: Fabric, drawn_planes: int) -> list[str]:
    if wiring.planes == 1:
        return []
    return [f"{wiring.planes} planes" + ("" if drawn_planes == wiring.planes else ", all equal: the first is drawn")]


def _compute_box_positions(row: TierRow) -> list[tuple[float, float]]:
    """Compute left edge and width of each box."""
    room = _WIDTH - _MARGIN - _EDGE
    pitch = room / len(row.cells)
    width = min(_MAX_BOX_WIDTH, pitch - _GAP)
    return [(_MARGIN + number * pitch + (pitch - width) / 2, width) for number in range(len(row.cells))]


def _draw_row(fabric: FabricPlan, wiring: Fabric, row: TierRow, y: float, hosts: HostSet) -> Iterator[str]:
    if row.kind == "node":
        yield from _draw_margin_text(y + _BOX / 2, f"{wiring.nodes} nodes", ", ".join(fabric.pools))
    else:
        tier = wiring.get_tier(row.kind)
        product = next(item.switch.name for item in fabric.tiers if item.name == row.kind)
        ratio = tier.oversubscription
        beyond = f"{ratio:.3g}:1 oversubscribed" if ratio > 1 else ""
        yield from _draw_margin_text(y + _BOX / 2, f"{tier.count} {row.kind}", product, beyond)
    for (x, width), cell in zip(_compute_box_positions(row), row.cells, strict=True):
        kind = f"box {row.kind}" + (" gap" if cell.is_gap else "")
        title = _format_title(fabric, row, cell, hosts)
        yield (
            f"<g><title>{escape(title)}</title>"
            f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BOX}" rx="5"/>'
        )
        words = [cell.label] if cell.count == 1 else [cell.label, f"× {cell.count}"]
        for number, word in enumerate(words):
            size = min(13.0, (width - 4) / (0.6 * len(word)))
            middle = y + _BOX / 2 + size * 0.35 + (number - (len(words) - 1) / 2) * 17
            yield _draw_text(x + width / 2, middle, word, size, "middle", is_faint=number > 0)
        yield "</g>"


def _format_title(fabric: FabricPlan, row: TierRow, cell: Cell, hosts: HostSet) -> str:
    """Format the tooltip of a box: the names of its devices."""
    if row.kind == "node":
        return str(hosts.slice(cell.first, cell.last + 1))
    count = fabric.count_switches(row.kind)
    width = max(3, len(str(count)))
    first, last = f"{cell.first + 1:0{width}d}", f"{cell.last + 1:0{width}d}"
    names = f"{fabric.name}-{row.kind}-{first}"
    return names if cell.count == 1 else f"{names} … {last}: {cell.count} switches"


def _draw_link_labels(fabric: FabricPlan, wiring: Fabric, upper: TierRow, lower: TierRow, y: float) -> Iterator[str]:
    """Draw the text about the cables between two rows."""
    name = f"{lower.kind}-{upper.kind}"
    count = wiring.link_counts.get(name, 0)
    each = "" if lower.kind == "node" else f"{wiring.get_tier(lower.kind).up} from each {lower.kind}"
    if lower.kind == "node":
        each = f"{wiring.node_ports} from each node"
    yield from _draw_margin_text(y, f"{count:,} links", each, faint=True)


def _draw_margin_text(y: float, *words: str, faint: bool = False) -> Iterator[str]:
    lines = [word for word in words if word]
    for number, word in enumerate(lines):
        size = min(13.0 if number == 0 and not faint else 11.5, (_MARGIN - _EDGE - 14) / (0.6 * len(word)))
        yield _draw_text(
            _EDGE,
            y + 4 + (number - (len(lines) - 1) / 2) * 16,
            word,
            size,
            "start",
            faint or number > 0,
            is_bold=number == 0 and not faint,
        )


def _draw_links(wiring: Fabric, rows: list[TierRow]) -> Iterator[str]:
    """Draw a line for every two connected boxes; its width grows with the number of cables."""
    by_kind = {row.kind: (number, row) for number, row in enumerate(rows)}
    for group in wiring.link_groups:
        if group.source_kind not in by_kind or group.target_kind not in by_kind:
            continue
        lower, low = by_kind[group.source_kind]
        upper, high = by_kind[group.target_kind]
        columns = group.build_columns()
        one, other = low.cell_of[columns.source], high.cell_of[columns.target]
        drawn = (one >= 0) & (other >= 0)
        pairs, counts = np.unique(one[drawn] * len(high.cells) + other[drawn], return_counts=True)
        below, above = _compute_box_positions(low), _compute_box_positions(high)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            here, there = below[pair // len(high.cells)], above[pair % len(high.cells)]
            yield (
                f'<line class="wire" x1="{there[0] + there[1] / 2:.1f}" y1="{_TOP + upper * _ROW + _BOX}" '
                f'x2="{here[0] + here[1] / 2:.1f}" y2="{_TOP + lower * _ROW}" '
                f'stroke-width="{min(7.0, 0.8 + 0.7 * log2(count)):.1f}"><title>{count} links</title></line>'
            )


def _draw_text(
    x: float, y: float, text: str, size: float, anchor: str, is_faint: bool = False, is_bold: bool = False
) -> str:
    kind = ' class="faint"' if is_faint else ""
    bold = ' font-weight="600"' if is_bold else ""
    return (
        f'<text{kind}{bold} x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )
