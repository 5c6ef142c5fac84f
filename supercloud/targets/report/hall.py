"""The data hall in tables: kinds of racks with headroom, feeds and losses, heat, coolant loop and free cooling."""

from __future__ import annotations

from ...facility import LiquidLoop
from ...plan.model.hall import CoolingPlan
from ...plan.model.plan import FacilityPlan, Plan, RackGroup
from ...primitives.counts import format_count
from ...primitives.quantity import Power, TemperatureDifference
from .facts import render_pairs, render_table
from .names import format_power, format_rack_power

__all__ = ["render_cooling", "render_power", "render_racks"]


def render_racks(plan: Plan) -> str:
    """Render the kinds of racks: contents, power draw and weight of a full one, and its headroom."""
    hall = plan.facility
    rows = [
        (
            group.pool or {"network": "switches, services", "storage": "storage servers"}.get(group.kind, group.kind),
            f"{group.count:,}",
            group.rack.name if group.rack else "",
            f"{group.nodes_per_rack} nodes" if group.nodes_per_rack else "shared",
            f"{group.units} of {group.rack.units}" if group.rack else str(group.units),
            format_rack_power(group),
            format_power(group.headroom) if group.headroom is not None else "unknown" if group.power_limit else "",
            f"{group.weight.to('kg'):,.0f} kg" if group.weight else "",
            group.cooling,
            _describe_feeds(group),
        )
        for group in (hall.racks if hall else ())
    ]
    head = ("racks of", "racks", "type", "in each", "units", "full draw", "headroom", "weight", "cooled by", "fed by")
    return render_table(head, rows, number_columns=(1, 4, 5, 6, 7)) if rows else ""


def _describe_feeds(group: RackGroup) -> str:
    parts = []
    if group.shelves:
        parts.append(
            format_count(group.shelves, "power shelf") + (f" of {group.shelf_power}" if group.shelf_power else "")
        )
    if group.circuits:
        each = f" of {format_power(group.circuits.circuit_power)}" if group.circuits.circuit_power else ""
        parts.append(format_count(group.circuits.count, "circuit") + each + (f" ({group.pdu})" if group.pdu else ""))
    return ", ".join(parts)


def render_power(plan: Plan) -> str:
    """Render feeds, losses, load swings, and the headroom of racks, rows and hall."""
    hall = plan.facility
    if hall is None or hall.power_plan is None:
        return ""
    power, feeds = hall.power_plan, hall.power_plan.feeds
    after = format_power(feeds.load_after_loss) if feeds.load_after_loss else "interrupted"
    rows = plan.layout.compute_row_power() if plan.layout else []
    data = [
        ("load of each feed", _format_part(feeds.feed_load, feeds.capacity)),
        ("load of each feed after the loss of a path", after),
        ("UPS losses", _format_loss(power.ups_loss.base, format_power(power.ups_loss), "UPS")),
        (
            "distribution losses",
            _format_loss(power.distribution_loss.base, format_power(power.distribution_loss), "efficiency"),
        ),
        ("IT power at the building's meter", format_power(power.meter_power)),
        (
            "maximum load swing",
            "not declared" if power.load_swing is None else _format_part(power.load_swing, power.swing_limit),
        ),
        ("fullest row", _format_part(max(rows), power.row_limit) if rows else ""),
        ("headroom of the hall", _describe_headroom(hall)),
    ]
    return render_pairs(data)


def _format_part(power: Power, limit: Power | None) -> str:
    return format_power(power) + (f" of {format_power(limit)}" if limit else "")


def _describe_headroom(hall: FacilityPlan) -> str:
    if not hall.power_budget:
        return "no budget declared"
    if hall.power_budget < hall.it_power:
        return "none"
    return "not known" if hall.headroom is None else format_power(hall.headroom)


def _format_loss(value: object, text: str, source: str) -> str:
    return text if value else f"unknown: no {source} declared"


def render_cooling(plan: Plan) -> str:
    """Render heat, coolant loop, temperatures from the machines to the outdoor air, and efficiency."""
    hall = plan.facility
    heat = hall.cooling_plan if hall else None
    if hall is None or heat is None:
        return ""
    data = [
        ("heat into liquid", format_power(heat.heat.liquid)),
        ("heat into rear doors", format_power(heat.heat.door)),
        ("heat into room air", format_power(heat.heat.air)),
    ]
    data = [row for row in data if not row[1].startswith("0 ")]
    if heat.loop:
        data += _list_loop_rows(hall, heat.loop)
    return render_pairs([*data, *_list_free_cooling_rows(heat), *_list_efficiency_rows(heat)])


def _list_loop_rows(hall: FacilityPlan, loop: LiquidLoop) -> list[tuple[str, str]]:
    """Return flow and temperatures of the coolant, and the distribution units."""
    data = []
    if loop.flow:
        rise = _format_rise(loop.temperature_rise)
        data.append(("coolant flow", f"{loop.flow.to('L/min'):,.0f} L/min with a rise of {rise}"))
        data += _list_rack_flows(hall)
    if loop.supply is not None:
        back = f", return {loop.return_temperature.to('°C'):.3g} °C" if loop.return_temperature is not None else ""
        data.append(("supply to racks", f"{loop.supply.to('°C'):.3g} °C{back}"))
    if loop.building_supply is not None:
        data.append(("building supply", f"{loop.building_supply.to('°C'):.3g} °C (approach of the unit)"))
    if loop.cdu and loop.zone_cdus:
        needed, spare = (sum(zone[place] for zone in loop.zone_cdus) for place in (0, 1))
        zones = f" in {format_count(len(loop.zone_cdus), 'zone')}" if len(loop.zone_cdus) > 1 else ""
        data.append(("coolant distribution units", f"{needed} needed and {spare} spare × {loop.cdu.name}{zones}"))
    return data


def _list_free_cooling_rows(heat: CoolingPlan) -> list[tuple[str, str]]:
    data = []
    if heat.outdoor_limit is not None and heat.rejection:
        bulb = (heat.rejection.reference or "").replace("-", " ")
        data.append(("free cooling up to", f"{heat.outdoor_limit.to('°C'):.3g} °C {bulb}"))
    if heat.free_hours is not None and heat.weather_hours:
        part = heat.free_hours / heat.weather_hours
        data.append(("free hours", f"{heat.free_hours:,} of {heat.weather_hours:,}, {part:.1%}"))
    return data


def _list_efficiency_rows(heat: CoolingPlan) -> list[tuple[str, str]]:
    data = [("PUE", f"{heat.pue:.4g}, {heat.pue_basis}" if heat.pue else "unknown")]
    if heat.pue and heat.overhead.missing and not heat.is_pue_declared:
        data.append(("not included in the PUE", ", ".join(heat.overhead.missing)))
    if heat.wue is not None:
        data.append(("WUE", f"{heat.wue:.3g} L/kWh"))
    if heat.cue is not None:
        data.append(("CUE", f"{heat.cue:.3g} kg CO₂e/kWh"))
    return data


def _format_rise(rise: TemperatureDifference | None) -> str:
    return str(rise) if rise is None else f"{rise.to('K'):.3g} K"


def _list_rack_flows(hall: FacilityPlan) -> list[tuple[str, str]]:
    """Return the coolant flow of each kind of rack: its share of the loop."""
    loop = hall.cooling_plan.loop if hall.cooling_plan else None
    if loop is None or loop.flow is None or not loop.heat:
        return []
    found = []
    for group in hall.racks:
        wet = group.heat.liquid + group.heat.door
        if wet:
            flow = loop.flow.to("L/min") * float(wet.base / loop.heat.base)
            found.append((f"each rack of {group.pool or group.kind}", f"{flow:.4g} L/min for {format_power(wet)}"))
    return found
