"""Power and cooling as one-line diagrams: from the meter to the racks, from the racks to the outside."""

from __future__ import annotations

from ...plan.model.plan import FacilityPlan, Plan
from ..pictures import Picture, cut
from .names import plural, power_text, rack_power_text

__all__ = ["cooling_line", "power_line"]

_WIDTH, _HIGH = 940, 46
_MOST, _FEEDS = 6, 6
_COLOURS = {"compute": "node", "network": "switch", "storage": "server"}
_WAYS = {"direct-liquid": "cold plates", "rear-door": "rear doors", "immersion": "baths"}


def power_line(plan: Plan) -> Picture | None:
    """Sources, feeds with their UPS, bars, and the racks that hang on them; every load is on every feed."""
    hall = plan.facility
    if hall is None:
        return None
    loads, sources = _loads(plan, hall), _sources(hall)
    feeds = min(hall.power.feeds.count if hall.power else 1, _FEEDS)
    ups = hall.power.ups if hall.power else None
    deep = 76 if ups else 0
    bus = 198 + deep
    foot = bus + 30 + 12 * feeds
    picture = Picture(_WIDTH, foot + _HIGH + 10, f"power of {plan.name}")
    _head(picture, hall)
    step, joint = _WIDTH / len(sources), 112.0
    for index, (name, about) in enumerate(sources):
        x = step * (index + 0.5)
        picture.path([(x, 50 + _HIGH), (x, joint)], "feedline")
        _box(picture, x, 50, min(step - 16, 260), name, about, "panel")
    picture.path([(6, joint), (_WIDTH - 6, joint)], "feedline")
    step = _WIDTH / feeds
    for index in range(feeds):
        x, y = step * (index + 0.5), bus + 12.0 * index
        picture.path([(x, joint), (x, y)], "feedline")
        picture.path([(6, y), (_WIDTH - 6, y)], "feedline")
        name = f"feed {chr(65 + index)}" + (f" of {hall.power.feeds.count}" if hall.power and
                                           hall.power.feeds.count > feeds else "")  # fmt: skip
        _box(picture, x, 128, min(step - 16, 260), name, _feed(hall), "feed")
        if ups and hall.power:
            lost = power_text(hall.power.ups_loss * (1 / hall.power.feeds.count))
            _box(picture, x, 128 + deep, min(step - 16, 260), f"UPS, {ups.mode}", f"loses {lost}", "feed")
    step = _WIDTH / max(len(loads), 1)
    for index, (name, about, kind) in enumerate(loads):
        x = step * (index + 0.5)
        for feed in range(feeds):  # a load hangs on each of them
            at = x - 6 * (feeds - 1) + 12 * feed
            picture.line(at, bus + 12.0 * feed, at, foot, "feedline")
        _box(picture, x, foot, min(step - 12, 230), name, about, kind)
    return picture


def _head(picture: Picture, hall: FacilityPlan) -> None:
    """What is drawn, and how much of the budget."""
    budget = f" of {power_text(hall.budget)}" if hall.budget else ", no budget declared"
    picture.text(6, 14, f"IT {power_text(hall.it)}{budget}", "strong", 14)
    scheme = f"{plural(hall.power.feeds.count, 'feed')}, {hall.power.feeds.scheme}" if hall.power else "one feed"
    losses = f", {power_text(hall.power.losses)} lost on the way" if hall.power and hall.power.losses else ""
    picture.text(6, 34, cut(scheme + losses, 560, 11), "faint", 11)
    if hall.budget and hall.budget.base > 0:
        part = float(hall.it.base / hall.budget.base)
        picture.rect(_WIDTH - 264, 8, 258, 12, "panel")
        picture.rect(_WIDTH - 264, 8, 258 * min(part, 1.0), 12, "cool" if part <= 0.95 else "feed")
        picture.text(_WIDTH - 6, 34, f"{part:.0%} of the budget", "faint", 11, "end")


def _sources(hall: FacilityPlan) -> list[tuple[str, str]]:
    """Where the energy comes from, with the average of each; the grid alone where nothing is declared."""
    sources = hall.energy.sources if hall.energy else ()
    if not sources:
        return [("grid", f"{power_text(hall.power.meter)} for IT" if hall.power else "")]
    found = [(item.name, f"{item.share:.0%}, {power_text(item.average)}") for item in sources]
    more = len(found) - _MOST + 1
    return found if more <= 1 else [*found[: _MOST - 1], (plural(more, "more source"), "see the cost")]


def _feed(hall: FacilityPlan) -> str:
    if hall.power is None:
        return f"carries {power_text(hall.it)}"
    feeds = hall.power.feeds
    after = f", {power_text(feeds.after_loss)} after a loss" if feeds.after_loss else ""
    return f"{power_text(feeds.share)}{after}"


def _loads(plan: Plan, hall: FacilityPlan) -> list[tuple[str, str, str]]:
    found = []
    for group in hall.racks:
        name = group.pool or {"network": "switches, services", "storage": "storage servers"}.get(group.kind, group.kind)
        draws = f" of {rack_power_text(group)}" if group.power else ", power not known"
        about = f"{plural(group.count, 'rack')}{draws}"
        found.append((name, about, _COLOURS.get(group.kind, "panel")))
    named = {group.pool for group in hall.racks}
    found += [(pool.name, f"{pool.nodes:,} nodes, no rack", "node") for pool in plan.pools if pool.name not in named]
    if len(found) > _MOST:
        found = [*found[: _MOST - 1], (f"{len(found) - _MOST + 1} more", "see the racks", "panel")]
    return found


def cooling_line(plan: Plan) -> Picture | None:
    """Where the heat goes: what the machines give to liquid and air, and what carries it out; wide lines carry much."""
    hall = plan.facility
    if hall is None:
        return None
    ways = _ways(plan, hall)
    picture = Picture(_WIDTH, 4 + 78 * len(ways), f"cooling of {plan.name}")
    middle = 16 + 78 * (len(ways) - 1) / 2 + _HIGH / 2
    for index, (part, boxes) in enumerate(ways):
        y = 16.0 + 78 * index
        line, wide = y + _HIGH / 2, 2 + 12 * part
        points = [(180.0, middle), (202.0, middle), (202.0, line), (768.0, line), (768.0, middle), (784.0, middle)]
        picture.path(points, "coolline", wide)
        for place, (name, about) in zip((276, 446, 652), boxes, strict=True):
            _box(picture, place, y, 130 if place == 276 else 196, name, about, "cool")
    _box(picture, 92, middle - _HIGH / 2, 176, f"IT {power_text(hall.it)}", f"{plan.nodes:,} nodes, switches", "node")
    _box(picture, 860, middle - _HIGH / 2, 152, *_outside(plan, hall), "cool")
    return picture


_Boxes = tuple[tuple[str, str], tuple[str, str], tuple[str, str]]


def _ways(plan: Plan, hall: FacilityPlan) -> list[tuple[float, _Boxes]]:
    """Each way heat takes: its part of the whole; how much, through what in the rack, and what carries it on."""
    heat = hall.heat
    cooling = plan.spec.facility.cooling if plan.spec.facility else None
    supply = f"supply {cooling.supply}" if cooling and cooling.supply else "supply not declared"
    if heat is None:
        return [(1.0, (("heat", power_text(hall.it)), (hall.cooling, supply), ("to the building", "")))]
    found: list[tuple[float, _Boxes]] = []
    loop, all_of_it = heat.loop, float(hall.it.base) or 1.0
    amount = heat.heat.liquid + heat.heat.door
    if amount:
        flow = f"{loop.flow.to('L/min'):,.0f} L/min" if loop and loop.flow else "flow not known"
        back = supply
        if loop and loop.supply is not None and loop.returned is not None:
            back = f"{loop.supply.to('°C'):.3g} to {loop.returned.to('°C'):.3g} °C"
        units = f"{loop.units} × {loop.cdu.name}" if loop and loop.cdu and loop.units else "distribution units"
        building = f"building at {loop.building.to('°C'):.3g} °C" if loop and loop.building is not None else ""
        boxes = (("in liquid", power_text(amount)), (f"{_wet(hall)}, {flow}", back), (units, building))
        found.append((float(amount.base) / all_of_it, boxes))
    if heat.heat.air or not found:
        flow = f"{heat.airflow.to('m3/h'):,.0f} m³/h" if heat.airflow else "airflow not known"
        given = supply if not amount else "of the room"
        boxes = (("in air", power_text(heat.heat.air)), (f"air, {flow}", given), ("air handlers", "to the building"))
        found.append((float(heat.heat.air.base) / all_of_it, boxes))
    return found


def _wet(hall: FacilityPlan) -> str:
    kinds = {group.cooling for group in hall.racks if group.heat.liquid or group.heat.door} or {hall.cooling}
    names = [name for kind, name in _WAYS.items() if kind in kinds]
    return names[0] if len(names) == 1 else "plates, doors" if names else "water"


def _outside(plan: Plan, hall: FacilityPlan) -> tuple[str, str]:
    heat = hall.heat
    where = heat.rejection.name if heat and heat.rejection else "outside"
    if heat and heat.outdoor_limit is not None:
        where = f"{where} to {heat.outdoor_limit.to('°C'):.3g} °C"
    pue = heat.pue if heat else plan.spec.facility.pue if plan.spec.facility else None
    least = "≥ " if heat and heat.pue_is == "at least" else ""
    return where, f"PUE {least}{pue:.3g}" if pue else "PUE not known"


def _box(picture: Picture, middle: float, y: float, width: float, name: str, about: str, kind: str) -> None:
    picture.rect(middle - width / 2, y, width, _HIGH, kind, f"{name}: {about}")
    shift = 9 if about else 0
    picture.text(middle, y + _HIGH / 2 - shift, cut(name, width - 6, 12), "on strong", 12, "middle")
    if about:
        picture.text(middle, y + _HIGH / 2 + shift, cut(about, width - 6, 11), "on", 11, "middle")
