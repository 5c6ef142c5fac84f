"""The bill of materials as CSV and as a text table."""

from __future__ import annotations

from dataclasses import astuple

from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle
from ....primitives.tables import format_csv
from .items import FIELDS, BomItem, build_items

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """Render bom.csv and bom.txt."""
    items = build_items(plan)
    return Bundle({"bom.csv": _render_csv(items), "bom.txt": _render_table(plan, items)})


def _render_csv(items: list[BomItem]) -> str:
    return format_csv(FIELDS, (astuple(item) for item in items))


def _render_table(plan: Plan, items: list[BomItem]) -> str:
    lines = [f"Bill of materials of {plan.name}", ""]
    for section in dict.fromkeys(item.section for item in items):
        rows = [("item", "count", "spares", "part number", "note")]
        rows += [
            (item.item, str(item.count), str(item.spares or ""), item.part_number, item.note)
            for item in items
            if item.section == section
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        lines.append(f"{section}:")
        for row in rows:
            cells = [
                cell.rjust(width) if column in (1, 2) else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append(f"  {'  '.join(cells)}".rstrip())
        lines.append("")
    return "\n".join(lines)
