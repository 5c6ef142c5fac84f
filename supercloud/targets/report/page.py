"""The page: sections in reading order, each a heading with its pictures or tables."""

from __future__ import annotations

from html import escape

from ..._version import __version__
from ...plan.model.plan import Plan, RackPlan
from ...plan.publish.cloud_summary import build_cloud_rows
from ...primitives.counts import format_count
from ...primitives.templates import render_template
from ..pictures import ITEM_COLORS, Picture, RackContents, draw_elevation, draw_fabric
from . import facts, hall
from .cost import render_cost
from .data import build_page_data, format_script_json, list_examples
from .glance import render_overview
from .lines import draw_cooling_diagram, draw_power_diagram
from .rows import draw_row_plan

__all__ = ["render_pictures", "render_report"]


def render_report(plan: Plan) -> str:
    """Render a self-contained HTML page about a plan; a plan with errors is rendered too, with its errors."""
    sections = [
        {"id": title.lower().replace(" ", "-"), "title": title, "body": body}
        for title, body in _build_sections(plan)
        if body
    ]
    engine = plan.scheduler.title
    kind = "on-prem" if plan.site.kind == "onprem" else plan.site.kind
    return render_template(
        "report/page.html.j2",
        name=escape(plan.name),
        state=_find_worst_level(plan),
        subtitle=escape(f"{kind} at {plan.site.location_name}, {engine} {plan.scheduler.version}"),
        sections=sections,
        data=format_script_json(build_page_data(plan)),
        example=escape(", ".join(list_examples(plan)[:3])),
        version=__version__,
    )


def _find_worst_level(plan: Plan) -> str:
    """Return the most severe level of the findings; ``good`` if there are none."""
    levels = {item.level for item in plan.findings}
    return next((level for level in ("error", "warning", "note") if level in levels), "good")


def render_pictures(plan: Plan) -> dict[str, str]:
    """Render every picture as an SVG file: name -> text."""
    found: dict[str, Picture | None] = {
        "rows": draw_row_plan(plan),
        "power": draw_power_diagram(plan),
        "cooling": draw_cooling_diagram(plan),
    }
    things = RackContents(plan)
    for rack in plan.layout.racks if plan.layout else ():
        found[f"racks/{rack.name}"] = draw_elevation(things, rack)
    texts = {f"fabric-{fabric.name}": draw_fabric(plan, fabric) for fabric in plan.fabrics}
    texts |= {name: picture.render_file() for name, picture in found.items() if picture}
    return {f"{name}.svg": text for name, text in sorted(texts.items()) if text}


def _build_sections(plan: Plan) -> list[tuple[str, str]]:
    return [
        ("At a glance", render_overview(plan)),
        ("Findings", facts.render_findings(plan)),
        ("Cloud", _render_cloud(plan)),
        ("Row plan", _wrap_picture(draw_row_plan(plan), "rows", "wide tall") or _render_missing_racks(plan)),
        ("Elevations", _render_elevations(plan)),
        ("Fabrics", _render_fabrics(plan)),
        ("Power", _wrap_picture(draw_power_diagram(plan), kind="wide fit") + hall.render_power(plan)),
        ("Cooling", _wrap_picture(draw_cooling_diagram(plan), kind="wide fit") + hall.render_cooling(plan)),
        ("Storage", facts.render_storage(plan) if plan.storage else ""),
        ("Cost", render_cost(plan)),
    ]


def _render_cloud(plan: Plan) -> str:
    """Render networks, groups, hosts and services of a cloud site."""
    rows = [row for row in build_cloud_rows(plan) if row[0] not in ("cost", "no price", "carbon")]
    return facts.render_table(("what", "name", "how"), rows, has_prose=True) if rows else ""


def _wrap_picture(picture: Picture | None, name: str = "", kind: str = "wide") -> str:
    if picture is None:
        return ""
    return f'<div class="{kind}"{f" id={name!r}" if name else ""}>{picture.render_inline()}</div>'


def _render_missing_racks(plan: Plan) -> str:
    if plan.facility is None:
        return ""
    return "<p>No rack positions: set facility.rack, with a type of the catalog.</p>"


def _render_fabrics(plan: Plan) -> str:
    parts = []
    for fabric in plan.fabrics:
        about = f"{fabric.kind} {fabric.shape}" + (f", {fabric.speed} per link" if fabric.speed else "")
        if fabric.rails > 1:
            about += f", {format_count(fabric.rails, 'rail')}"
        if fabric.planes > 1:
            about += f", {format_count(fabric.planes, 'plane')}"
        drawn = draw_fabric(plan, fabric)
        shown = f'<div class="wide fit">{drawn}</div>' if drawn else "<p>The cloud manages the cabling.</p>"
        parts.append(f"<h3>{escape(fabric.name)}</h3><p>{escape(about)}</p>{shown}")
    return "".join(parts)


def _render_elevations(plan: Plan) -> str:
    """Render the kinds of racks, each once with its count; then the racks of a row, drawn when it is selected."""
    if plan.layout is None or not plan.layout.racks:
        return ""
    rows = plan.layout.row_count
    options = "".join(f'<option value="{row}">row {row + 1} of {rows}</option>' for row in range(rows))
    chooser = (
        '<div class="row"><button id="before" type="button">previous</button>'
        f'<select id="row" aria-label="Row">{options}</select><button id="after" type="button">next</button></div>'
    )
    kinds = "".join(f"<li>{count} × {escape(text)}</li>" for text, count in _count_rack_kinds(plan).items())
    inside = f"<details><summary>Contents of each kind of rack</summary><ul>{kinds}</ul></details>"
    return f'{hall.render_racks(plan)}{inside}{chooser}{_render_legend(plan)}<div class="racks" id="racks"></div>'


_LEGEND_NAMES = {
    "node": "nodes",
    "switch": "switches",
    "server": "servers",
    "feed": "power",
    "cool": "coolant",
    "panel": "panels",
}


def _render_legend(plan: Plan) -> str:
    """Render the legend of the colors in the elevations."""
    used = {
        ITEM_COLORS.get(item.kind, "panel")
        for rack in (plan.layout.racks if plan.layout else ())
        for item in rack.items
        if item.unit > 0
    }
    marks = "".join(f'<li><i class="{kind}"></i>{name}</li>' for kind, name in _LEGEND_NAMES.items() if kind in used)
    return f'<ul class="legend">{marks}</ul>'


def _count_rack_kinds(plan: Plan) -> dict[str, int]:
    counts: dict[str, int] = {}
    for rack in plan.layout.racks if plan.layout else ():
        text = _describe_rack(rack)
        counts[text] = counts.get(text, 0) + 1
    most = dict(sorted(counts.items(), key=lambda pair: -pair[1])[:8])
    rest = sum(counts.values()) - sum(most.values())
    return most | ({"others": rest} if rest else {})


def _describe_rack(rack: RackPlan) -> str:
    held: dict[tuple[str, str], int] = {}
    for item in rack.items:
        held[item.kind, item.group] = held.get((item.kind, item.group), 0) + item.count
    product = f" in {rack.rack.name}" if rack.rack else ""
    inside = ", ".join(
        format_count(count, what) + ("" if of.endswith(what) else f" of {of}") for (what, of), count in held.items()
    )
    return f"{rack.kind}{product}: {inside or 'empty'}, {rack.power.to('kW'):.4g} kW"
