"""The hall in tables: kinds of rack with their headroom, feeds and losses, heat, loop and what the weather gives."""

from __future__ import annotations

from ...plan.model.plan import FacilityPlan, Plan, RackGroup
from ...primitives.quantity import TemperatureStep
from .facts import pairs, table
from .names import plural, power_text, rack_power_text

__all__ = ["cooling", "power", "racks"]


def racks(plan: Plan) -> str:
    """What kinds of rack there are, what a full one holds, draws and weighs, and what it leaves."""
    hall = plan.facility
    rows = [
        (
            group.pool or {"network": "switches, services", "storage": "storage servers"}.get(group.kind, group.kind),
            f"{group.count:,}",
            group.rack.name if group.rack else "",
            f"{group.nodes_per_rack} nodes" if group.nodes_per_rack else "shared",
            f"{group.units} of {group.rack.units}" if group.rack else str(group.units),
            rack_power_text(group),
            power_text(group.headroom) if group.headroom is not None else "not known" if group.limit else "",
            f"{group.weight.to('kg'):,.0f} kg" if group.weight else "",
            group.cooling,
            _fed(group),
        )
        for group in (hall.racks if hall else ())
    ]
    head = ("racks of", "racks", "type", "in each", "units", "full draw", "headroom", "weight", "cooled by", "fed by")
    return table(head, rows, numbers=(1, 4, 5, 6, 7)) if rows else ""


def _fed(group: RackGroup) -> str:
    parts = []
    if group.shelves:
        parts.append(plural(group.shelves, "power shelf") + (f" of {group.shelf_power}" if group.shelf_power else ""))
    if group.circuits:
        each = f" of {power_text(group.circuits.each)}" if group.circuits.each else ""
        parts.append(plural(group.circuits.count, "circuit") + each + (f" ({group.pdu})" if group.pdu else ""))
    return ", ".join(parts)


def power(plan: Plan) -> str:
    """Feeds, losses, swings, and what racks, rows and hall leave."""
    hall = plan.facility
    if hall is None or hall.power is None:
        return ""
    feeds, supply = hall.power.feeds, plan.spec.facility.power if plan.spec.facility else None
    after = power_text(feeds.after_loss) if feeds.after_loss else "does not go on"
    rows = plan.layout.row_power() if plan.layout else []
    limit = supply.row if supply else None
    data = [
        ("each feed, all there", power_text(feeds.share) + (f" of {power_text(feeds.capacity)}" if feeds.capacity
                                                            else "")),
        ("each feed after the loss of a path", after),
        ("lost in the UPS", _lost(hall.power.ups_loss.base, power_text(hall.power.ups_loss), "UPS")),
        ("lost in distribution", _lost(hall.power.distribution_loss.base, power_text(hall.power.distribution_loss),
                                       "efficiency")),
        ("taken from the building by IT", power_text(hall.power.meter)),
        ("comes and goes at once", power_text(hall.power.swing) + (f" of {power_text(supply.swing_limit)}" if supply
         and supply.swing_limit else "") if hall.power.swing is not None else "not declared"),
        ("fullest row", power_text(max(rows)) + (f" of {power_text(limit)}" if limit else "") if rows else ""),
        ("headroom of the hall", "no budget declared" if not hall.budget else "none" if hall.budget < hall.it else
         power_text(hall.headroom) if hall.headroom is not None else "not known"),
    ]  # fmt: skip
    return pairs(data)


def _lost(known: object, text: str, what: str) -> str:
    return text if known else f"not known: no {what} declared"


def cooling(plan: Plan) -> str:
    """Heat, loop, temperatures from the machines to the weather, and efficiency."""
    hall = plan.facility
    heat = hall.heat if hall else None
    if hall is None or heat is None:
        return ""
    data = [("into liquid", power_text(heat.heat.liquid)), ("into rear doors", power_text(heat.heat.door)),
            ("into the air of the room", power_text(heat.heat.air))]  # fmt: skip
    data = [row for row in data if not row[1].startswith("0 ")]
    loop = heat.loop
    if loop:
        if loop.flow:
            data.append(("flow of the loop", f"{loop.flow.to('L/min'):,.0f} L/min at a rise of {_step(loop.step)}"))
            data += _racks_flow(hall)
        if loop.supply is not None:
            back = f", back at {loop.returned.to('°C'):.3g} °C" if loop.returned is not None else ""
            data.append(("to the racks", f"{loop.supply.to('°C'):.3g} °C{back}"))
        if loop.building is not None:
            data.append(("asked of the building", f"{loop.building.to('°C'):.3g} °C, the unit's approach below"))
        if loop.cdu and loop.zones:
            needed, spare = (sum(zone[place] for zone in loop.zones) for place in (0, 1))
            zones = f" in {plural(len(loop.zones), 'zone')}" if len(loop.zones) > 1 else ""
            data.append(("distribution units", f"{needed} needed and {spare} spare × {loop.cdu.name}{zones}"))
    if heat.outdoor_limit is not None and heat.rejection:
        bulb = (heat.rejection.reference or "").replace("-", " ")
        data.append(("free cooling up to", f"{heat.outdoor_limit.to('°C'):.3g} °C {bulb}"))
    if heat.free_hours is not None and heat.hours:
        part = heat.free_hours / heat.hours
        data.append(("free hours", f"{heat.free_hours:,} of {heat.hours:,}, {part:.1%}"))
    data.append(("PUE", f"{heat.pue:.4g}, {heat.pue_is}" if heat.pue else "not known"))
    if heat.pue and heat.overhead.missing and not heat.declared_pue:
        data.append(("not in the PUE", ", ".join(heat.overhead.missing)))
    if heat.wue is not None:
        data.append(("WUE", f"{heat.wue:.3g} L/kWh"))
    if heat.cue is not None:
        data.append(("CUE", f"{heat.cue:.3g} kg CO₂e/kWh"))
    return pairs(data)


def _step(step: TemperatureStep | None) -> str:
    return str(step) if step is None else f"{step.to('K'):.3g} K"


def _racks_flow(hall: FacilityPlan) -> list[tuple[str, str]]:
    """Flow of each kind of rack: its part of the loop's."""
    loop = hall.heat.loop if hall.heat else None
    if loop is None or loop.flow is None or not loop.heat:
        return []
    found = []
    for group in hall.racks:
        wet = group.heat.liquid + group.heat.door
        if wet:
            flow = loop.flow.to("L/min") * float(wet.base / loop.heat.base)
            found.append((f"a rack of {group.pool or group.kind}", f"{flow:.4g} L/min for {power_text(wet)}"))
    return found
