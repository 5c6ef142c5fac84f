"""Overview: a card for each aspect of the cluster, and the counts of findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from ...plan.build.cabling.counts import count_cables
from ...plan.build.cloud.cost import HOURS_PER_MONTH
from ...plan.model.plan import FacilityPlan, Plan
from ...primitives.counts import format_count
from ...primitives.quantity import Size
from .facts import render_table
from .names import (
    format_carbon,
    format_energy,
    format_money,
    format_power,
    format_rack_power,
    format_size,
)

__all__ = ["render_overview"]


@dataclass(frozen=True)
class _Card:
    kind: str
    title: str
    number: str
    caption: str
    lines: tuple[tuple[str, str], ...] = ()
    fraction: float | None = None
    """Used fraction of the capacity; drawn as a bar."""

    def render(self) -> str:
        """The card as HTML."""
        bar = ""
        if self.fraction is not None:
            full = " full" if self.fraction > 1 else ""
            bar = f'<div class="meter{full}"><i style="width:{min(self.fraction, 1):.1%}"></i></div>'
        lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in self.lines if value)
        return (
            f'<article class="card {self.kind}"><h3>{escape(self.title)}</h3>'
            f"<p><b>{escape(self.number)}</b> <span>{escape(self.caption)}</span></p>{bar}"
            + (f"<dl>{lines}</dl>" if lines else "")
            + "</article>"
        )


def render_overview(plan: Plan) -> str:
    """Render verdict, cards, and the pools."""
    cards = "".join(card.render() for card in _iter_cards(plan))
    return f'{_render_verdict(plan)}<div class="cards">{cards}</div>{_render_pools(plan)}'


def _render_verdict(plan: Plan) -> str:
    counts = {level: sum(item.level == level for item in plan.findings) for level in ("error", "warning", "note")}
    chips = [] if counts["error"] else ['<span class="chip good">ready to render</span>']
    chips += [
        f'<a class="chip {level}" href="#findings">{format_count(number, level)}</a>'
        for level, number in counts.items()
        if number
    ]
    return f'<p class="verdict">{" ".join(chips)}</p>'


def _iter_cards(plan: Plan) -> Iterator[_Card]:
    yield _build_compute_card(plan)
    if any(fabric.tiers for fabric in plan.fabrics):
        yield _build_network_card(plan)
    elif plan.fabrics:
        links = ", ".join(f"{fabric.kind} {fabric.speed or ''}".strip() for fabric in plan.fabrics)
        yield _Card(
            "switch",
            "Network",
            str(len(plan.fabrics)),
            "network" + "s" * (len(plan.fabrics) > 1),
            (("managed by the cloud", links),),
        )
    hall = plan.facility
    if hall:
        if plan.layout:
            yield _build_racks_card(plan, hall)
        yield _build_power_card(plan, hall)
        yield _build_cooling_card(hall)
    if plan.storage:
        yield _build_storage_card(plan)
    if hall:
        yield _build_year_card(hall)
    if plan.cloud:
        yield _build_cloud_card(plan)


def _build_compute_card(plan: Plan) -> _Card:
    names = dict.fromkeys(pool.accelerator.name for pool in plan.pools if pool.accelerator)
    spares = sum(pool.spares for pool in plan.pools)
    return _Card(
        "node",
        "Compute",
        f"{plan.accelerators:,}",
        " and ".join(names) or "accelerators",
        (
            ("nodes", f"{plan.nodes:,}" + (f", {spares} spares" if spares else "")),
            ("pools", ", ".join(pool.name for pool in plan.pools[:4]) + (" …" if len(plan.pools) > 4 else "")),
            ("scheduler", f"{plan.scheduler.title} {plan.scheduler.version}"),
        ),
    )


def _build_network_card(plan: Plan) -> _Card:
    switches = sum(tier.count for fabric in plan.fabrics for tier in fabric.tiers)
    cables = count_cables(plan)
    first = next(fabric for fabric in plan.fabrics if fabric.tiers)
    return _Card(
        "switch",
        "Network",
        f"{cables.pieces:,}",
        "cables",
        (
            ("switches", f"{switches:,}"),
            ("links", f"{cables.links:,}" if cables.links != cables.pieces else ""),
            (first.name, f"{first.kind} {first.shape}"),
            ("link", str(first.speed or "")),
            ("others", ", ".join(fabric.name for fabric in plan.fabrics if fabric is not first)),
        ),
    )


def _build_racks_card(plan: Plan, hall: FacilityPlan) -> _Card:
    assert plan.layout
    kinds = (("nodes", hall.node_racks), ("network", hall.network_racks), ("storage", hall.storage_racks))
    rows = plan.layout.compute_row_power()
    fullest = max(hall.racks, key=lambda group: group.fullest_power.base, default=None)
    return _Card(
        "panel",
        "Hall",
        f"{len(plan.layout.racks):,}",
        f"racks in {format_count(plan.layout.row_count, 'row')}",
        (
            ("types", ", ".join(f"{count:,} {name}" for name, count in kinds if count)),
            ("fullest rack", format_rack_power(fullest) if fullest else ""),
            ("fullest row", format_power(max(rows)) if rows else ""),
        ),
    )


def _build_power_card(plan: Plan, hall: FacilityPlan) -> _Card:
    power, feeds = hall.power_plan, hall.power_plan.feeds if hall.power_plan else None
    part = (
        float(hall.it_power.base / hall.power_budget.base) if hall.power_budget and hall.power_budget.base > 0 else None
    )
    return _Card(
        "feed",
        "Power",
        format_power(hall.it_power),
        "of IT" + (", at least" if hall.unknown_power else ""),
        (
            (
                "budget",
                f"{format_power(hall.power_budget)}, {part:.0%} used" if hall.power_budget and part is not None else "",
            ),
            ("supply", f"{format_count(feeds.count, 'feed')}, {feeds.scheme}" if feeds else ""),
            ("feed load after a loss", format_power(feeds.load_after_loss) if feeds and feeds.load_after_loss else ""),
            ("losses", format_power(power.total_loss) if power and power.total_loss else ""),
        ),
        part,
    )


def _build_cooling_card(hall: FacilityPlan) -> _Card:
    heat, kinds = hall.cooling_plan, dict.fromkeys(group.cooling for group in hall.racks if group.cooling)
    number, what = " and ".join(kinds) or hall.cooling, ""
    if heat is None:
        return _Card("cool", "Cooling", number, what)
    wet = heat.heat.liquid + heat.heat.door
    loop = heat.loop
    if wet:
        number, what = format_power(wet), f"into water by {number}"
    else:
        number, what = format_power(heat.heat.air), "into air"
    flow = f"{loop.flow.to('L/min'):,.0f} L/min" if loop and loop.flow else ""
    return _Card(
        "cool",
        "Cooling",
        number,
        what,
        (
            ("heat into room air", format_power(heat.heat.air) if wet and heat.heat.air else ""),
            ("flow", flow),
            ("distribution", f"{loop.cdu_count} × {loop.cdu.name}" if loop and loop.cdu and loop.cdu_count else ""),
            ("PUE", f"{heat.pue:.3g} ({heat.pue_basis})" if heat.pue else "unknown"),
        ),
    )


def _build_storage_card(plan: Plan) -> _Card:
    servers = sum(group.count for group in plan.servers)
    return _Card(
        "server",
        "Storage",
        *_describe_capacity(plan),
        (
            ("stores", ", ".join(f"{item.name} ({item.kind})" for item in plan.storage[:4])),
            ("servers", f"{servers:,}" if servers else ""),
            ("fastest read", _describe_fastest_store(plan)),
        ),
    )


def _describe_capacity(plan: Plan) -> tuple[str, str]:
    """Return a number and what it is: the known capacity of all stores, or how many there are."""
    held = [item.design.usable_capacity if item.design else item.capacity for item in plan.storage]
    known = [size for size in held if size]
    number = format_size(sum(known, Size(0, "B"))) if known else str(len(plan.storage))
    if any(item.design for item in plan.storage):
        return number, "usable"
    return number, "requested" if known else "stores"


def _describe_fastest_store(plan: Plan) -> str:
    """Return the read rate of the store with the highest rate; empty if only its write rate is known."""
    rates = [(rate, item) for item in plan.storage if (rate := item.read or item.write)]
    _, best = max(rates, key=lambda pair: pair[0].base, default=(None, None))
    return f"{best.read.bytes_text} ({best.name})" if best and best.read else ""


def _build_year_card(hall: FacilityPlan) -> _Card:
    cost, carbon = hall.annual_cost, hall.annual_carbon
    number, what = (
        (format_money(cost), "energy cost per year")
        if cost
        else (format_energy(hall.annual_energy), "IT energy per year")
    )
    return _Card(
        "manager",
        "A year at full power",
        number,
        what,
        (
            ("IT energy", format_energy(hall.annual_energy) if cost else ""),
            ("carbon", format_carbon(carbon) if carbon is not None else "unknown"),
            (
                "CUE",
                f"{hall.cooling_plan.cue:.3g} kg/kWh"
                if hall.cooling_plan and hall.cooling_plan.cue is not None
                else "",
            ),
            (
                "WUE",
                f"{hall.cooling_plan.wue:.3g} L/kWh" if hall.cooling_plan and hall.cooling_plan.wue is not None else "",
            ),
        ),
    )


def _build_cloud_card(plan: Plan) -> _Card:
    assert plan.cloud
    cost = plan.cloud.cost
    month = format_money(cost.known_total * HOURS_PER_MONTH)
    return _Card(
        "manager",
        "Cost",
        month if cost.known_total else "unknown",
        "per month, all running" if cost.known_total else "",
        (
            ("per hour", format_money(cost.known_total) if cost.known_total else ""),
            ("monthly budget", format_money(plan.cloud.monthly_budget) if plan.cloud.monthly_budget else ""),
            ("without a price", format_count(len(cost.unpriced_items), "item") if cost.unpriced_items else ""),
        ),
    )


def _render_pools(plan: Plan) -> str:
    head: tuple[str, ...] = ("pool", "nodes", "machine", "accelerators", "hosts", "fabrics", "addresses")
    rows: list[tuple[str, ...]] = [
        (
            pool.name,
            f"{pool.nodes:,}" + (f" ({pool.spares} spare)" if pool.spares else ""),
            pool.machine.title,
            f"{pool.accelerators:,} × {pool.accelerator.name}" if pool.accelerator else "none",
            str(pool.hosts),
            ", ".join(pool.fabrics),
            _shorten_addresses(str(pool.addresses)),
        )
        for pool in plan.pools
    ]
    if plan.cloud:  # the cloud assigns addresses when machines start
        head, rows = head[:-1], [row[:-1] for row in rows]
    return "<h3>Pools</h3>" + render_table(head, rows, number_columns=(1,))


def _shorten_addresses(addresses: str) -> str:
    parts = addresses.split(",")
    return addresses if len(parts) <= 2 else f"{parts[0]} … {parts[-1]}"
