"""Power and cooling as one-line diagrams: from the meter to the racks, from the racks to the outside."""

from __future__ import annotations

from ...plan.model import FacilityPlan, Plan
from ...primitives.quantity import Power
from ..pictures import Picture, cut
from .names import plural

__all__ = ["cooling_line", "power_line"]

_WIDTH, _HIGH = 940, 46
_MOST, _FEEDS = 6, 6
_COLOURS = {"compute": "node", "network": "switch", "storage": "server"}


def power_line(plan: Plan) -> Picture | None:
    """Feeds, the hall's distribution, and the racks that hang on it; every load is on every feed."""
    hall = plan.facility
    if hall is None:
        return None
    supply, loads = (plan.spec.facility.power if plan.spec.facility else None), _loads(plan, hall)
    feeds = min(hall.power.feeds.count if hall.power else 1, _FEEDS)
    picture = Picture(_WIDTH, 236 + 12 * feeds, f"power of {plan.name}")
    picture.text(
        6, 14, f"IT {hall.it}" + (f" of {hall.budget}" if hall.budget else ", no budget declared"), "strong", 14
    )
    scheme = f"{plural(hall.power.feeds.count, 'feed')}, {supply.redundancy}" if hall.power and supply else "one feed"
    losses = f", {hall.power.losses} lost on the way" if hall.power and hall.power.losses else ""
    picture.text(6, 34, cut(scheme + losses, 560, 11), "faint", 11)
    if hall.budget:
        part = float(hall.it.base / hall.budget.base)
        picture.rect(_WIDTH - 264, 8, 258, 12, "panel")
        picture.rect(_WIDTH - 264, 8, 258 * min(part, 1.0), 12, "cool" if part <= 0.95 else "feed")
        picture.text(_WIDTH - 6, 34, f"{part:.0%} of the budget", "faint", 11, "end")
    step, bus, foot = _WIDTH / feeds, 130, 160 + 12 * feeds
    for index in range(feeds):
        x, y = step * (index + 0.5), bus + 12.0 * index
        picture.path([(x, 56 + _HIGH), (x, y)], "feedline")
        picture.path([(6, y), (_WIDTH - 6, y)], "feedline")
        _box(picture, x, 56, min(step - 16, 250), f"feed {chr(65 + index)}", _feed(hall), "feed")
    step = _WIDTH / max(len(loads), 1)
    for index, (name, about, kind) in enumerate(loads):
        x = step * (index + 0.5)
        for feed in range(feeds):  # a load hangs on each of them
            picture.line(
                x - 6 * (feeds - 1) + 12 * feed, bus + 12.0 * feed, x - 6 * (feeds - 1) + 12 * feed, foot, "feedline"
            )
        _box(picture, x, foot, min(step - 12, 230), name, about, kind)
    return picture


def _feed(hall: FacilityPlan) -> str:
    if hall.power is None:
        return f"carries {hall.it}"
    feeds = hall.power.feeds
    after = f", {_short(feeds.after_loss)} after a loss" if feeds.after_loss else ""
    return f"{_short(feeds.share)}{after}"


def _short(power: Power) -> str:
    return f"{power.to('MW'):.4g} MW" if power.to("MW") >= 1 else f"{power.to('kW'):.4g} kW"


def _loads(plan: Plan, hall: FacilityPlan) -> list[tuple[str, str, str]]:
    found = []
    for group in hall.racks:
        name = group.pool or {"network": "switches, services", "storage": "storage servers"}.get(group.kind, group.kind)
        about = f"{plural(group.count, 'rack')} of {_short(group.power)}"
        found.append((name, about, _COLOURS.get(group.kind, "panel")))
    named = {group.pool for group in hall.racks}
    found += [(pool.name, f"{pool.nodes:,} nodes, no rack", "node") for pool in plan.pools if pool.name not in named]
    if len(found) > _MOST:
        found = [*found[: _MOST - 1], (f"{len(found) - _MOST + 1} more", "see the racks", "panel")]
    return found


def cooling_line(plan: Plan) -> Picture | None:
    """Where the heat goes: what the machines give to liquid, doors and air, and what carries it out."""
    hall = plan.facility
    if hall is None:
        return None
    ways = _ways(plan, hall)
    picture = Picture(_WIDTH, 30 + 78 * len(ways), f"cooling of {plan.name}")
    middle = 16 + 78 * (len(ways) - 1) / 2 + _HIGH / 2
    for index, boxes in enumerate(ways):
        y = 16.0 + 78 * index
        line = y + _HIGH / 2
        picture.path([(180, middle), (202, middle), (202, line), (768, line), (768, middle), (784, middle)], "coolline")
        for place, (name, about) in zip((276, 446, 652), boxes, strict=True):
            _box(picture, place, y, 130 if place == 276 else 196, name, about, "cool")
    _box(picture, 92, middle - _HIGH / 2, 176, f"IT {_short(hall.it)}", f"{plan.nodes:,} nodes, switches", "node")
    _box(picture, 860, middle - _HIGH / 2, 152, *_outside(plan, hall), "cool")
    return picture


_Boxes = tuple[tuple[str, str], tuple[str, str], tuple[str, str]]


def _ways(plan: Plan, hall: FacilityPlan) -> list[_Boxes]:
    """Each way heat takes: how much, through what in the rack, and what carries it on."""
    heat = hall.heat
    cooling = plan.spec.facility.cooling if plan.spec.facility else None
    supply = f"supply {cooling.supply}" if cooling and cooling.supply else "supply not declared"
    if heat is None:
        return [(("heat", _short(hall.it)), (hall.cooling, supply), ("to the building", ""))]
    found: list[_Boxes] = []
    loop = heat.loop
    if heat.heat.liquid or heat.heat.door:
        flow = f"{loop.flow.to('L/min'):,.0f} L/min" if loop and loop.flow else "flow not known"
        back = (
            f"{loop.supply.to('°C'):.3g} to {loop.returned.to('°C'):.3g} °C"
            if loop and loop.supply and loop.returned
            else supply
        )
        units = f"{loop.units} × {loop.cdu.name}" if loop and loop.cdu else "distribution units"
        building = f"building at {loop.building.to('°C'):.3g} °C" if loop and loop.building else flow
        name = "cold plates" if heat.heat.liquid else "rear doors"
        amount = heat.heat.liquid + heat.heat.door
        found.append((("in liquid", _short(amount)), (f"{name}, {flow}", back), (units, building)))
    if heat.heat.air or not found:
        flow = f"{heat.airflow.to('m3/h'):,.0f} m³/h" if heat.airflow else "airflow not known"
        given = supply if cooling is None or cooling.kind == "air" else "of the hall"
        found.append((("in air", _short(heat.heat.air)), (f"air, {flow}", given), ("air handlers", "to the building")))
    return found


def _outside(plan: Plan, hall: FacilityPlan) -> tuple[str, str]:
    heat = hall.heat
    where = heat.rejection.name if heat and heat.rejection else "outside"
    pue = heat.pue if heat else plan.spec.facility.pue if plan.spec.facility else None
    return where, f"PUE {pue:.3g}" if pue else "PUE not known"


def _box(picture: Picture, middle: float, y: float, width: float, name: str, about: str, kind: str) -> None:
    picture.rect(middle - width / 2, y, width, _HIGH, kind, f"{name}: {about}")
    shift = 9 if about else 0
    picture.text(middle, y + _HIGH / 2 - shift, cut(name, width - 6, 12), "on strong", 12, "middle")
    if about:
        picture.text(middle, y + _HIGH / 2 + shift, cut(about, width - 6, 11), "on", 11, "middle")
