"""The figures one asks for first: a card for each side of the machine, and whether anything is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from ...plan.build.cabling.counts import count_cables
from ...plan.build.cloud.cost import HOURS_OF_A_MONTH
from ...plan.model.plan import FacilityPlan, Plan
from ...primitives.quantity import Size
from .facts import table
from .names import binary, carbon_text, energy_text, money_text, plural, power_text, rack_power_text

__all__ = ["glance"]


@dataclass(frozen=True)
class _Card:
    kind: str
    title: str
    number: str
    what: str
    lines: tuple[tuple[str, str], ...] = ()
    part: float | None = None
    """How much of what there is is used; drawn as a bar."""

    def html(self) -> str:
        bar = ""
        if self.part is not None:
            full = " full" if self.part > 1 else ""
            bar = f'<div class="meter{full}"><i style="width:{min(self.part, 1):.1%}"></i></div>'
        lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in self.lines if value)
        return (
            f'<article class="card {self.kind}"><h3>{escape(self.title)}</h3>'
            f"<p><b>{escape(self.number)}</b> <span>{escape(self.what)}</span></p>{bar}"
            + (f"<dl>{lines}</dl>" if lines else "")
            + "</article>"
        )


def glance(plan: Plan) -> str:
    """Verdict, cards, and the pools."""
    cards = "".join(card.html() for card in _cards(plan))
    return f'{_verdict(plan)}<div class="cards">{cards}</div>{_pools(plan)}'


def _verdict(plan: Plan) -> str:
    counts = {level: sum(item.level == level for item in plan.findings) for level in ("error", "warning", "note")}
    chips = [] if counts["error"] else ['<span class="chip good">nothing forbids building it</span>']
    chips += [
        f'<a class="chip {level}" href="#findings">{plural(number, level)}</a>'
        for level, number in counts.items()
        if number
    ]
    return f'<p class="verdict">{" ".join(chips)}</p>'


def _cards(plan: Plan) -> Iterator[_Card]:
    yield _compute(plan)
    if any(fabric.tiers for fabric in plan.fabrics):
        yield _network(plan)
    elif plan.fabrics:
        links = ", ".join(f"{fabric.kind} {fabric.speed or ''}".strip() for fabric in plan.fabrics)
        yield _Card("switch", "Network", str(len(plan.fabrics)), "network" + "s" * (len(plan.fabrics) > 1),
                    (("owned by the cloud", links),))  # fmt: skip
    hall = plan.facility
    if hall:
        if plan.layout:
            yield _racks(plan, hall)
        yield _power(plan, hall)
        yield _cooling(hall)
    if plan.storage:
        yield _storage(plan)
    if hall:
        yield _year(hall)
    if plan.cloud:
        yield _cloud(plan)


def _compute(plan: Plan) -> _Card:
    names = dict.fromkeys(pool.accelerator.name for pool in plan.pools if pool.accelerator)
    spares = sum(pool.spares for pool in plan.pools)
    return _Card(
        "node", "Compute", f"{plan.accelerators:,}", " and ".join(names) or "accelerators",
        (("nodes", f"{plan.nodes:,}" + (f", {spares} spare" if spares else "")),
         ("pools", ", ".join(pool.name for pool in plan.pools[:4]) + (" …" if len(plan.pools) > 4 else "")),
         ("scheduler", f"{plan.spec.scheduler.kind.capitalize()} {plan.scheduler.version}")),
    )  # fmt: skip


def _network(plan: Plan) -> _Card:
    switches = sum(tier.count for fabric in plan.fabrics for tier in fabric.tiers)
    cables = count_cables(plan)
    first = next(fabric for fabric in plan.fabrics if fabric.tiers)
    return _Card(
        "switch", "Network", f"{cables.pieces:,}", "cables",
        (("switches", f"{switches:,}"),
         ("links", f"{cables.links:,}" if cables.links != cables.pieces else ""),
         (first.name, f"{first.kind} {first.shape}"),
         ("link", str(first.speed or "")),
         ("others", ", ".join(fabric.name for fabric in plan.fabrics if fabric is not first))),
    )  # fmt: skip


def _racks(plan: Plan, hall: FacilityPlan) -> _Card:
    assert plan.layout
    kinds = (("nodes", hall.node_racks), ("network", hall.network_racks), ("storage", hall.storage_racks))
    rows = plan.layout.row_power()
    fullest = max(hall.racks, key=lambda group: group.fullest_power.base, default=None)
    return _Card(
        "panel", "Hall", f"{len(plan.layout.racks):,}", f"racks in {plural(plan.layout.rows, 'row')}",
        (("of them", ", ".join(f"{count:,} {name}" for name, count in kinds if count)),
         ("fullest rack", rack_power_text(fullest) if fullest else ""),
         ("fullest row", power_text(max(rows)) if rows else "")),
    )  # fmt: skip


def _power(plan: Plan, hall: FacilityPlan) -> _Card:
    power, feeds = hall.power, hall.power.feeds if hall.power else None
    part = float(hall.it.base / hall.budget.base) if hall.budget and hall.budget.base > 0 else None
    return _Card(
        "feed", "Power", power_text(hall.it), "of IT" + (", at least" if hall.unknown else ""),
        (("budget", f"{power_text(hall.budget)}, {part:.0%} used" if hall.budget and part is not None else ""),
         ("supply", f"{plural(feeds.count, 'feed')}, {feeds.scheme}" if feeds else ""),
         ("feed after a loss", power_text(feeds.after_loss) if feeds and feeds.after_loss else ""),
         ("lost on the way", power_text(power.losses) if power and power.losses else "")),
        part,
    )  # fmt: skip


def _cooling(hall: FacilityPlan) -> _Card:
    heat, kinds = hall.heat, dict.fromkeys(group.cooling for group in hall.racks if group.cooling)
    number, what = " and ".join(kinds) or hall.cooling, ""
    if heat is None:
        return _Card("cool", "Cooling", number, what)
    wet = heat.heat.liquid + heat.heat.door
    loop = heat.loop
    if wet:
        number, what = power_text(wet), f"into water by {number}"
    else:
        number, what = power_text(heat.heat.air), "into air"
    flow = f"{loop.flow.to('L/min'):,.0f} L/min" if loop and loop.flow else ""
    return _Card(
        "cool", "Cooling", number, what,
        (("into the room", power_text(heat.heat.air) if wet and heat.heat.air else ""),
         ("flow", flow),
         ("distribution", f"{loop.units} × {loop.cdu.name}" if loop and loop.cdu and loop.units else ""),
         ("PUE", f"{heat.pue:.3g} ({heat.pue_is})" if heat.pue else "not known")),
    )  # fmt: skip


def _storage(plan: Plan) -> _Card:
    held = [item.design.usable if item.design else item.capacity for item in plan.storage]
    known = [size for size in held if size]
    servers = sum(group.count for group in plan.servers)
    fast = [item for item in plan.storage if item.read or item.write]
    best = max(fast, key=lambda item: (item.read or item.write).base if item.read or item.write else 0, default=None)  # type: ignore[union-attr]
    return _Card(
        "server", "Storage", binary(sum(known, Size(0, "B"))) if known else str(len(plan.storage)),
        "usable" if any(item.design for item in plan.storage) else "asked for" if known else "stores",
        (("stores", ", ".join(f"{item.name} ({item.kind})" for item in plan.storage[:4])),
         ("servers", f"{servers:,}" if servers else ""),
         ("fastest read", f"{best.read.bytes_text} ({best.name})" if best and best.read else "")),
    )  # fmt: skip


def _year(hall: FacilityPlan) -> _Card:
    cost, carbon = hall.cost_year, hall.carbon_year
    number, what = (money_text(cost), "of energy a year") if cost else (energy_text(hall.energy_year), "of IT a year")
    return _Card(
        "manager", "A year at full power", number, what,
        (("energy of IT", energy_text(hall.energy_year) if cost else ""),
         ("carbon", carbon_text(carbon) if carbon else "not known"),
         ("CUE", f"{hall.heat.cue:.3g} kg/kWh" if hall.heat and hall.heat.cue is not None else ""),
         ("WUE", f"{hall.heat.wue:.3g} L/kWh" if hall.heat and hall.heat.wue is not None else "")),
    )  # fmt: skip


def _cloud(plan: Plan) -> _Card:
    assert plan.cloud
    cost = plan.cloud.cost
    month = money_text(cost.known * HOURS_OF_A_MONTH)
    return _Card(
        "manager", "Cost", month if cost.known else "unknown", "a month, all running" if cost.known else "",
        (("an hour", money_text(cost.known) if cost.known else ""),
         ("budget of a month", money_text(plan.cloud.monthly_budget) if plan.cloud.monthly_budget else ""),
         ("without a price", plural(len(cost.unknown), "thing") if cost.unknown else "")),
    )  # fmt: skip


def _pools(plan: Plan) -> str:
    head: tuple[str, ...] = ("pool", "nodes", "machine", "accelerators", "hosts", "fabrics", "addresses")
    rows: list[tuple[str, ...]] = [
        (
            pool.name,
            f"{pool.nodes:,}" + (f" ({pool.spares} spare)" if pool.spares else ""),
            pool.machine.title,
            f"{pool.accelerators:,} × {pool.accelerator.name}" if pool.accelerator else "none",
            str(pool.hosts),
            ", ".join(pool.fabrics),
            _short(str(pool.addresses)),
        )
        for pool in plan.pools
    ]
    if plan.cloud:  # the cloud gives addresses when machines start
        head, rows = head[:-1], [row[:-1] for row in rows]
    return "<h3>Pools</h3>" + table(head, rows, numbers=(1,))


def _short(addresses: str) -> str:
    parts = addresses.split(",")
    return addresses if len(parts) <= 2 else f"{parts[0]} … {parts[-1]}"
