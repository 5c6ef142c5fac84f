"""Power and cooling as one-line diagrams: from the meter to the racks, from the racks to the outside."""

from __future__ import annotations

from ...facility import LiquidLoop
from ...plan.model.plan import FacilityPlan, Plan
from ...primitives.counts import format_count
from ..pictures import Picture, truncate_text
from .names import format_power, format_rack_power

__all__ = ["draw_cooling_diagram", "draw_power_diagram"]

_WIDTH, _HIGH = 940, 46
_MOST, _FEEDS = 6, 6
_RACK_COLORS = {"compute": "node", "network": "switch", "storage": "server"}
_COOLING_NAMES = {"direct-liquid": "cold plates", "rear-door": "rear doors", "immersion": "baths"}


def draw_power_diagram(plan: Plan) -> Picture | None:
    """Draw sources, feeds with their UPS, busbars, and the connected racks; every load is on every feed."""
    hall = plan.facility
    if hall is None:
        return None
    loads, sources = _list_loads(plan, hall), _list_sources(hall)
    feeds = min(hall.power_plan.feeds.count if hall.power_plan else 1, _FEEDS)
    ups = hall.power_plan.ups if hall.power_plan else None
    deep = 76 if ups else 0
    bus = 198 + deep
    foot = bus + 30 + 12 * feeds
    picture = Picture(_WIDTH, foot + _HIGH + 10, f"power of {plan.name}")
    _draw_heading(picture, hall)
    step, joint = _WIDTH / len(sources), 112.0
    for index, (name, about) in enumerate(sources):
        x = step * (index + 0.5)
        picture.draw_path([(x, 50 + _HIGH), (x, joint)], "feedline")
        _draw_box(picture, x, 50, min(step - 16, 260), name, about, "panel")
    picture.draw_path([(6, joint), (_WIDTH - 6, joint)], "feedline")
    step = _WIDTH / feeds
    for index in range(feeds):
        x, y = step * (index + 0.5), bus + 12.0 * index
        picture.draw_path([(x, joint), (x, y)], "feedline")
        picture.draw_path([(6, y), (_WIDTH - 6, y)], "feedline")
        name = f"feed {chr(65 + index)}" + (
            f" of {hall.power_plan.feeds.count}" if hall.power_plan and hall.power_plan.feeds.count > feeds else ""
        )
        _draw_box(picture, x, 128, min(step - 16, 260), name, _describe_feed(hall), "feed")
        if ups and hall.power_plan:
            lost = format_power(hall.power_plan.ups_loss * (1 / hall.power_plan.feeds.count))
            _draw_box(picture, x, 128 + deep, min(step - 16, 260), f"UPS, {ups.mode}", f"loses {lost}", "feed")
    step = _WIDTH / max(len(loads), 1)
    for index, (name, about, kind) in enumerate(loads):
        x = step * (index + 0.5)
        for feed in range(feeds):  # a load is connected to each of them
            at = x - 6 * (feeds - 1) + 12 * feed
            picture.draw_line(at, bus + 12.0 * feed, at, foot, "feedline")
        _draw_box(picture, x, foot, min(step - 12, 230), name, about, kind)
    return picture


def _draw_heading(picture: Picture, hall: FacilityPlan) -> None:
    """Draw the power draw and its share of the budget."""
    budget = f" of {format_power(hall.power_budget)}" if hall.power_budget else ", no budget declared"
    picture.draw_text(6, 14, f"IT {format_power(hall.it_power)}{budget}", "strong", 14)
    scheme = (
        f"{format_count(hall.power_plan.feeds.count, 'feed')}, {hall.power_plan.feeds.scheme}"
        if hall.power_plan
        else "one feed"
    )
    losses = (
        f", {format_power(hall.power_plan.total_loss)} losses" if hall.power_plan and hall.power_plan.total_loss else ""
    )
    picture.draw_text(6, 34, truncate_text(scheme + losses, 560, 11), "faint", 11)
    if hall.power_budget and hall.power_budget.base > 0:
        part = float(hall.it_power.base / hall.power_budget.base)
        picture.draw_rect(_WIDTH - 264, 8, 258, 12, "panel")
        picture.draw_rect(_WIDTH - 264, 8, 258 * min(part, 1.0), 12, "cool" if part <= 0.95 else "feed")
        picture.draw_text(_WIDTH - 6, 34, f"{part:.0%} of the budget", "faint", 11, "end")


def _list_sources(hall: FacilityPlan) -> list[tuple[str, str]]:
    """Return the energy sources with their average power; only the grid if none are declared."""
    sources = hall.energy_plan.sources if hall.energy_plan else ()
    if not sources:
        return [("grid", f"{format_power(hall.power_plan.meter_power)} for IT" if hall.power_plan else "")]
    found = [(item.name, f"{item.share:.0%}, {format_power(item.average_power)}") for item in sources]
    more = len(found) - _MOST + 1
    return found if more <= 1 else [*found[: _MOST - 1], (format_count(more, "more source"), "see the cost")]


def _describe_feed(hall: FacilityPlan) -> str:
    if hall.power_plan is None:
        return f"carries {format_power(hall.it_power)}"
    feeds = hall.power_plan.feeds
    after = f", {format_power(feeds.load_after_loss)} after a loss" if feeds.load_after_loss else ""
    return f"{format_power(feeds.feed_load)}{after}"


def _list_loads(plan: Plan, hall: FacilityPlan) -> list[tuple[str, str, str]]:
    found = []
    for group in hall.racks:
        name = group.pool or {"network": "switches, services", "storage": "storage servers"}.get(group.kind, group.kind)
        draws = f" of {format_rack_power(group)}" if group.power else ", power unknown"
        about = f"{format_count(group.count, 'rack')}{draws}"
        found.append((name, about, _RACK_COLORS.get(group.kind, "panel")))
    named = {group.pool for group in hall.racks}
    found += [(pool.name, f"{pool.nodes:,} nodes, no rack", "node") for pool in plan.pools if pool.name not in named]
    if len(found) > _MOST:
        found = [*found[: _MOST - 1], (f"{len(found) - _MOST + 1} more", "see the racks", "panel")]
    return found


def draw_cooling_diagram(plan: Plan) -> Picture | None:
    """Draw the heat paths from the machines through liquid and air to the outside; line widths show the power."""
    hall = plan.facility
    if hall is None:
        return None
    ways = _list_heat_paths(hall)
    picture = Picture(_WIDTH, 4 + 78 * len(ways), f"cooling of {plan.name}")
    middle = 16 + 78 * (len(ways) - 1) / 2 + _HIGH / 2
    for index, (part, boxes) in enumerate(ways):
        y = 16.0 + 78 * index
        line, wide = y + _HIGH / 2, 2 + 12 * part
        points = [(180.0, middle), (202.0, middle), (202.0, line), (768.0, line), (768.0, middle), (784.0, middle)]
        picture.draw_path(points, "coolline", wide)
        for place, (name, about) in zip((276, 446, 652), boxes, strict=True):
            _draw_box(picture, place, y, 130 if place == 276 else 196, name, about, "cool")
    _draw_box(
        picture,
        92,
        middle - _HIGH / 2,
        176,
        f"IT {format_power(hall.it_power)}",
        f"{plan.nodes:,} nodes, switches",
        "node",
    )
    _draw_box(picture, 860, middle - _HIGH / 2, 152, *_describe_rejection(hall), "cool")
    return picture


_BoxTexts = tuple[tuple[str, str], tuple[str, str], tuple[str, str]]


def _list_heat_paths(hall: FacilityPlan) -> list[tuple[float, _BoxTexts]]:
    """Return each heat path: its fraction; power, medium in the rack, and further transport."""
    heat = hall.cooling_plan
    supply = f"supply {hall.supply}" if hall.supply else "supply not declared"
    if heat is None:
        return [(1.0, (("heat", format_power(hall.it_power)), (hall.cooling, supply), ("to the building", "")))]
    found: list[tuple[float, _BoxTexts]] = []
    all_of_it = float(hall.it_power.base) or 1.0
    amount = heat.heat.liquid + heat.heat.door
    if amount:
        boxes = (("in liquid", format_power(amount)), *_describe_liquid_path(hall, heat.loop, supply))
        found.append((float(amount.base) / all_of_it, boxes))
    if heat.heat.air or not found:
        flow = f"{heat.airflow.to('m3/h'):,.0f} m³/h" if heat.airflow else "airflow unknown"
        given = supply if not amount else "room air"
        boxes = (("in air", format_power(heat.heat.air)), (f"air, {flow}", given), ("air handlers", "to the building"))
        found.append((float(heat.heat.air.base) / all_of_it, boxes))
    return found


def _describe_liquid_path(
    hall: FacilityPlan, loop: LiquidLoop | None, supply: str
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the texts of the coolant in the racks, and of the units that give its heat to the building."""
    if loop is None:
        return (f"{_describe_liquid_cooling(hall)}, flow unknown", supply), ("distribution units", "")
    flow = f"{loop.flow.to('L/min'):,.0f} L/min" if loop.flow else "flow unknown"
    if loop.supply is not None and loop.return_temperature is not None:
        supply = f"{loop.supply.to('°C'):.3g} to {loop.return_temperature.to('°C'):.3g} °C"
    units = f"{loop.cdu_count} × {loop.cdu.name}" if loop.cdu and loop.cdu_count else "distribution units"
    building = f"building at {loop.building_supply.to('°C'):.3g} °C" if loop.building_supply is not None else ""
    return (f"{_describe_liquid_cooling(hall)}, {flow}", supply), (units, building)


def _describe_liquid_cooling(hall: FacilityPlan) -> str:
    kinds = {group.cooling for group in hall.racks if group.heat.liquid or group.heat.door} or {hall.cooling}
    names = [name for kind, name in _COOLING_NAMES.items() if kind in kinds]
    return names[0] if len(names) == 1 else "plates, doors" if names else "water"


def _describe_rejection(hall: FacilityPlan) -> tuple[str, str]:
    heat = hall.cooling_plan
    where = heat.rejection.name if heat and heat.rejection else "outside"
    if heat and heat.outdoor_limit is not None:
        where = f"{where} to {heat.outdoor_limit.to('°C'):.3g} °C"
    pue = heat.pue if heat else None
    least = "≥ " if heat and heat.pue_basis == "at least" else ""
    return where, f"PUE {least}{pue:.3g}" if pue else "PUE unknown"


def _draw_box(picture: Picture, middle: float, y: float, width: float, name: str, about: str, kind: str) -> None:
    picture.draw_rect(middle - width / 2, y, width, _HIGH, kind, f"{name}: {about}")
    shift = 9 if about else 0
    picture.draw_text(middle, y + _HIGH / 2 - shift, truncate_text(name, width - 6, 12), "on strong", 12, "middle")
    if about:
        picture.draw_text(middle, y + _HIGH / 2 + shift, truncate_text(about, width - 6, 11), "on", 11, "middle")
