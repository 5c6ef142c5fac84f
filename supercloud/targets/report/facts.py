"""Tables of the report without pictures: storage and findings; and functions for tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

from ...errors import Finding
from ...plan.model.plan import Plan, StoragePlan
from ...plan.model.storage import StorageDesign
from ...primitives.counts import format_count
from .names import format_size

__all__ = ["render_findings", "render_pairs", "render_storage", "render_table"]

# More notes than this are collapsed: errors and warnings come first.
_MAX_NOTES = 3


def render_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], number_columns: Collection[int] = (), has_prose: bool = False
) -> str:
    """Render rows of plain text as an HTML table that scrolls separately on narrow pages.

    ``number_columns`` are right-aligned, with tabular digits; empty columns are omitted. ``has_prose`` wraps long cells
    on narrow pages instead of scrolling.
    """
    cells = list(rows)
    shown = [place for place in range(len(head)) if any(row[place] for row in cells)]
    kind = {place: ' class="r"' if place in number_columns else "" for place in shown}
    line = "".join(f"<th{kind[place]}>{escape(head[place])}</th>" for place in shown)
    body = "".join(
        "<tr>" + "".join(f"<td{kind[place]}>{escape(row[place])}</td>" for place in shown) + "</tr>" for row in cells
    )
    how = ' class="prose"' if has_prose else ""
    return f'<div class="wide"><table{how}><thead><tr>{line}</tr></thead><tbody>{body}</tbody></table></div>'


def render_pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Render rows of name and value; rows without a value are omitted."""
    body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows if value)
    return f'<div class="wide"><table class="pairs"><tbody>{body}</tbody></table></div>' if body else ""


def render_storage(plan: Plan) -> str:
    """Render file systems and object stores with their servers."""
    head = (
        "name",
        "kind",
        "asked",
        "holds",
        "requested throughput",
        "provided read / write",
        "servers",
        "decided by",
        "mount",
    )
    needs = [
        f"<p>{escape(item.name)} accepts checkpoints of {escape(str(item.checkpoint.size))} in "
        f"{escape(str(item.checkpoint.window))}: {escape(item.checkpoint.write.bytes_text)}.</p>"
        for item in plan.storage
        if item.checkpoint
    ]
    rows = [_build_storage_row(plan, item) for item in plan.storage]
    return render_table(head, rows, number_columns=(2, 3)) + "".join(needs)


def _build_storage_row(plan: Plan, item: StoragePlan) -> tuple[str, ...]:
    design = item.design
    asked = [f"{side} {rate.bytes_text}" for side, rate in (("read", item.read), ("write", item.write)) if rate]
    servers = ", ".join(f"{group.count} {group.role} ({group.machine.name})" for group in item.servers)
    return (
        item.name,
        item.kind,
        str(item.capacity or ""),
        format_size(design.usable_capacity) if design else "",
        ", ".join(asked),
        _describe_provided_rates(design) if design else "",
        servers or ("managed service" if plan.cloud else "not specified"),
        design.decided_by if design else "",
        item.mount or "",
    )


def _describe_provided_rates(design: StorageDesign) -> str:
    gives = " / ".join(rate.bytes_text for rate in (design.read, design.write) if rate)
    return f"{gives} by ports" if gives and design.throughput_basis == "ports" else gives


def render_findings(plan: Plan) -> str:
    """Render all findings, the most severe first, and suppressed ones."""
    order = {"error": 0, "warning": 1, "note": 2}
    sorted_ = sorted(plan.findings, key=lambda item: order[item.level])
    notes = [item for item in sorted_ if item.level == "note"]
    shown = sorted_ if len(notes) <= _MAX_NOTES else [item for item in sorted_ if item.level != "note"]
    parts = [_render_finding(item) for item in shown]
    if len(shown) < len(sorted_):
        inside = "".join(_render_finding(item) for item in notes)
        parts.append(f"<details><summary>{format_count(len(notes), 'note')}</summary>{inside}</details>")
    parts += [
        f"<p>Suppressed: {escape(item.finding.problem)}; reason: {escape(item.reason)}</p>" for item in plan.suppressed
    ]
    return "".join(parts) or "<p>No problems found.</p>"


def _render_finding(finding: Finding) -> str:
    return (
        f'<div class="finding {finding.level}"><p><b>{finding.level}</b>{escape(finding.problem)}</p>'
        + (f"<p>→ {escape(finding.hint)}</p>" if finding.hint else "")
        + f"<code>{escape(finding.path or 'document')}</code></div>"
    )
