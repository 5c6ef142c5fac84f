"""The page: sections in the order one reads them, each a heading and its pictures or tables."""

from __future__ import annotations

from html import escape

from ..._version import __version__
from ...plan.model.plan import Plan, RackPlan
from ...plan.publish.cloud_summary import cloud_rows
from ...primitives.templates import fill
from ..pictures import COLOURS, Picture, Things, diagram, elevation
from . import facts, hall
from .cost import cost
from .data import examples, page_data, script_text
from .glance import glance
from .lines import cooling_line, power_line
from .names import plural
from .rows import row_plan

__all__ = ["pictures", "report"]


def report(plan: Plan) -> str:
    """One self-contained HTML page about a plan; a plan with errors is shown too, with its errors."""
    sections = [
        {"id": title.lower().replace(" ", "-"), "title": title, "body": body} for title, body in _sections(plan) if body
    ]
    engine = plan.spec.scheduler.kind.capitalize()
    return fill(
        "report/page.html.j2",
        name=escape(plan.name),
        state=_state(plan),
        subtitle=escape(f"{plan.site.kind} at {plan.site.place}, {engine} {plan.scheduler.version}"),
        sections=sections,
        data=script_text(page_data(plan)),
        example=escape(", ".join(examples(plan)[:3])),
        version=__version__,
    )


def _state(plan: Plan) -> str:
    """The gravest level of what was found; ``good`` where nothing was."""
    levels = {item.level for item in plan.findings}
    return next((level for level in ("error", "warning", "note") if level in levels), "good")


def pictures(plan: Plan) -> dict[str, str]:
    """Every picture as an SVG file: name -> text."""
    found: dict[str, Picture | None] = {
        "rows": row_plan(plan),
        "power": power_line(plan),
        "cooling": cooling_line(plan),
    }
    things = Things(plan)
    for rack in plan.layout.racks if plan.layout else ():
        found[f"racks/{rack.name}"] = elevation(things, rack)
    texts = {f"fabric-{fabric.name}": diagram(plan, fabric) for fabric in plan.fabrics}
    texts |= {name: picture.alone() for name, picture in found.items() if picture}
    return {f"{name}.svg": text for name, text in sorted(texts.items()) if text}


def _sections(plan: Plan) -> list[tuple[str, str]]:
    return [
        ("At a glance", glance(plan)),
        ("Findings", facts.findings(plan)),
        ("Cloud", _cloud(plan)),
        ("Row plan", _wide(row_plan(plan), "rows", "wide tall") or _no_racks(plan)),
        ("Elevations", _elevations(plan)),
        ("Fabrics", _fabrics(plan)),
        ("Power", _wide(power_line(plan), kind="wide fit") + hall.power(plan)),
        ("Cooling", _wide(cooling_line(plan), kind="wide fit") + hall.cooling(plan)),
        ("Storage", facts.storage(plan) if plan.storage else ""),
        ("Cost", cost(plan)),
    ]


def _cloud(plan: Plan) -> str:
    """Networks, groups, hosts and services of a cloud site."""
    rows = [row for row in cloud_rows(plan) if row[0] not in ("cost", "no price", "carbon")]
    return facts.table(("what", "name", "how"), rows, prose=True) if rows else ""


def _wide(picture: Picture | None, name: str = "", kind: str = "wide") -> str:
    if picture is None:
        return ""
    return f'<div class="{kind}"{f" id={name!r}" if name else ""}>{picture.inner()}</div>'


def _no_racks(plan: Plan) -> str:
    if plan.facility is None:
        return ""
    return "<p>Where racks stand is not known: set facility.rack, with a type of the catalog.</p>"


def _fabrics(plan: Plan) -> str:
    parts = []
    for fabric in plan.fabrics:
        about = f"{fabric.kind} {fabric.shape}" + (f", {fabric.speed} a link" if fabric.speed else "")
        if fabric.rails > 1:
            about += f", {plural(fabric.rails, 'rail')}"
        if fabric.planes > 1:
            about += f", {plural(fabric.planes, 'plane')}"
        drawn = diagram(plan, fabric)
        shown = f'<div class="wide fit">{drawn}</div>' if drawn else "<p>The cloud owns its wires.</p>"
        parts.append(f"<h3>{escape(fabric.name)}</h3><p>{escape(about)}</p>{shown}")
    return "".join(parts)


def _elevations(plan: Plan) -> str:
    """The kinds of rack, each once with how many there are; then the racks of a row, drawn when it is chosen."""
    if plan.layout is None or not plan.layout.racks:
        return ""
    rows = plan.layout.rows
    options = "".join(f'<option value="{row}">row {row + 1} of {rows}</option>' for row in range(rows))
    chooser = (
        '<div class="row"><button id="before" type="button">previous</button>'
        f'<select id="row" aria-label="Row">{options}</select><button id="after" type="button">next</button></div>'
    )
    kinds = "".join(f"<li>{count} × {escape(text)}</li>" for text, count in _kinds(plan).items())
    inside = f"<details><summary>What is in each kind of rack</summary><ul>{kinds}</ul></details>"
    return f'{hall.racks(plan)}{inside}{chooser}{_legend(plan)}<div class="racks" id="racks"></div>'


_COLOURS = {"node": "nodes", "switch": "switches", "server": "servers", "feed": "power", "cool": "coolant",
            "panel": "panels"}  # fmt: skip


def _legend(plan: Plan) -> str:
    """The colours that are in the elevations."""
    used = {COLOURS.get(item.what, "panel") for rack in (plan.layout.racks if plan.layout else ())
            for item in rack.items if item.unit > 0}  # fmt: skip
    marks = "".join(f'<li><i class="{kind}"></i>{name}</li>' for kind, name in _COLOURS.items() if kind in used)
    return f'<ul class="legend">{marks}</ul>'


def _kinds(plan: Plan) -> dict[str, int]:
    counts: dict[str, int] = {}
    for rack in plan.layout.racks if plan.layout else ():
        text = _content(rack)
        counts[text] = counts.get(text, 0) + 1
    most = dict(sorted(counts.items(), key=lambda pair: -pair[1])[:8])
    rest = sum(counts.values()) - sum(most.values())
    return most | ({"others": rest} if rest else {})


def _content(rack: RackPlan) -> str:
    held: dict[tuple[str, str], int] = {}
    for item in rack.items:
        held[item.what, item.of] = held.get((item.what, item.of), 0) + item.count
    product = f" in {rack.rack.name}" if rack.rack else ""
    inside = ", ".join(
        plural(count, what) + ("" if of.endswith(what) else f" of {of}") for (what, of), count in held.items()
    )
    return f"{rack.kind}{product}: {inside or 'nothing'}, {rack.power.to('kW'):.4g} kW"
