"""The tables of the report: what there is at a glance, storage, what a year costs, what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ...plan.model import Plan
from ...primitives.quantity import Size
from .names import binary, plural

__all__ = ["cost", "findings", "glance", "storage", "table"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of plain text as an HTML table that scrolls by itself where the page is narrow."""
    line = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{line}</tr>{body}</table></div>'


def glance(plan: Plan) -> str:
    """Cards with the figures one asks for first."""
    hall, layout = plan.facility, plan.layout
    switches = sum(tier.count for fabric in plan.fabrics for tier in fabric.tiers)
    cables = sum(sum(fabric.cables.values()) for fabric in plan.fabrics)
    cards = [
        (f"{plan.accelerators:,}", _models(plan)),
        (f"{plan.nodes:,}", "nodes" if plan.nodes != 1 else "node"),
        (f"{switches:,}", "switches"),
        (f"{cables:,}", "cables"),
    ]
    if layout:
        cards.append((f"{len(layout.racks):,}", f"racks in {plural(layout.rows, 'row')}"))
    if hall:
        cards.append((str(hall.it), f"of {hall.budget} IT power" if hall.budget else "IT power"))
    held = [item.capacity for item in plan.storage if item.capacity]
    if held:
        cards.append((binary(sum(held, Size(0, "B"))), f"in {plural(len(plan.storage), 'store')}"))
    counts = {level: sum(item.level == level for item in plan.findings) for level in ("error", "warning", "note")}
    said = ", ".join(plural(number, level) for level, number in counts.items() if number)
    cards.append((said.partition(",")[0] or "none", "findings" if "," not in said else said.partition(", ")[2]))
    inside = "".join(
        f'<div class="card"><b>{escape(number)}</b><span>{escape(what)}</span></div>' for number, what in cards
    )
    pools = table(
        ("pool", "nodes", "machine", "accelerators", "hosts", "addresses", "fabrics"),
        [
            (
                pool.name,
                f"{pool.nodes:,}" + (f" ({pool.spares} spare)" if pool.spares else ""),
                pool.machine.title,
                f"{pool.accelerators:,} × {pool.accelerator.name}" if pool.accelerator else "none",
                str(pool.hosts),
                _short(str(pool.addresses)),
                ", ".join(pool.fabrics),
            )
            for pool in plan.pools
        ],
    )
    return f'<div class="cards">{inside}</div><h3>Pools</h3>{pools}'


def _models(plan: Plan) -> str:
    return (
        " and ".join(dict.fromkeys(pool.accelerator.name for pool in plan.pools if pool.accelerator)) or "accelerators"
    )


def _short(addresses: str) -> str:
    parts = addresses.split(",")
    return addresses if len(parts) <= 2 else f"{parts[0]} … {parts[-1]}"


def storage(plan: Plan) -> str:
    """File systems and object stores with their servers."""
    rows = []
    for item in plan.storage:
        design = item.design
        asked = [f"{side} {rate.bytes_text}" for side, rate in (("read", item.read), ("write", item.write)) if rate]
        gives = [f"{rate.bytes_text}" for rate in ((design.read, design.write) if design else ()) if rate]
        bound = " by ports" if design and design.bound == "ports" and gives else ""
        rows.append(
            (
                item.name,
                item.kind,
                str(item.capacity or ""),
                binary(design.usable) if design else "",
                ", ".join(asked),
                " / ".join(gives) + bound,
                ", ".join(f"{group.count} {group.role} ({group.machine.name})" for group in item.servers)
                or "not named",
                item.mount or "",
            )
        )
    head = ("name", "kind", "asked", "holds", "throughput asked", "read / write given", "servers", "mount")
    needs = [
        f"<p>{escape(item.name)} takes checkpoints of {escape(str(item.checkpoint.size))} in "
        f"{escape(str(item.checkpoint.window))}: {escape(item.checkpoint.write.bytes_text)}.</p>"
        for item in plan.storage
        if item.checkpoint
    ]
    return table(head, rows) + "".join(needs)


def cost(plan: Plan) -> str:
    """A year of energy, money and carbon, at full power."""
    hall = plan.facility
    if hall is None:
        return "<p>What a cloud charges is not part of this plan.</p>"
    energy = plan.spec.facility.energy if plan.spec.facility else None
    carbon = (energy.carbon if energy else None) or (plan.site.location.carbon if plan.site.location else None)
    rows = [
        ("IT power, all machines at their highest", str(hall.it)),
        ("IT energy of a year", str(hall.energy_year)),
        ("energy price", str(energy.price) if energy and energy.price else "not declared"),
        ("energy bill of a year", str(hall.cost_year) if hall.cost_year else "unknown: no energy price"),
        ("carbon of the energy", str(carbon) if carbon else f"not known for {plan.site.place}"),
        ("carbon of a year", str(hall.carbon_year) if hall.carbon_year else "unknown"),
        *(("not counted", text) for text in hall.unknown),
    ]
    return table(("what", "how much"), rows)


def findings(plan: Plan) -> str:
    """Everything that is wrong or worth knowing, the gravest first, and what was accepted."""
    found = [
        f'<div class="finding {item.level}"><b>{item.level}</b>{escape(item.problem)} '
        f"<code>{escape(item.path or 'document')}</code>"
        + (f"<div>→ {escape(item.hint)}</div>" if item.hint else "")
        + "</div>"
        for item in plan.findings
    ]
    accepted = [
        f"<p>Accepted: {escape(item.finding.problem)}, because {escape(item.reason)}</p>" for item in plan.suppressed
    ]
    return "".join([*found, *accepted]) or "<p>No problems found.</p>"
