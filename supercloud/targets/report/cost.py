"""What it costs: on one's own site a year of energy and carbon, on a cloud the hour of everything that has a price."""

from __future__ import annotations

from ...plan.build.cloud.cost import HOURS_OF_A_MONTH
from ...plan.build.cloud.place import accelerator_carbon
from ...plan.model.plan import FacilityPlan, Plan
from .facts import pairs, table
from .names import carbon_text, energy_text, money_text, power_text

__all__ = ["cost"]


def cost(plan: Plan) -> str:
    """Energy, money and carbon, with what is not known said."""
    parts = [_cloud(plan)] if plan.cloud else []
    if plan.facility:
        parts.append(_year(plan, plan.facility))
    return "".join(parts) or "<p>Nothing of this plan has a price.</p>"


def _cloud(plan: Plan) -> str:
    assert plan.cloud
    found = plan.cloud.cost
    rows = [
        (
            line.what,
            f"{line.count:,}",
            f"{money_text(line.each_hour)}" if line.each_hour else "",
            money_text(line.hour) if line.hour is not None else "not known",
            line.source,
        )
        for line in found.lines
    ]
    month = money_text(found.known * HOURS_OF_A_MONTH)
    least = " at least: what has no price is not in it" if found.unknown else ""
    rows.append(("sum of what has a price", "", "", money_text(found.known), ""))
    said = f"<p>{month} a month with everything running{least}. Prices are list prices of the date given.</p>"
    if plan.accelerators:
        carbon = accelerator_carbon(plan)
        said += f"<p>Carbon: {carbon_text(carbon)} an hour with the accelerators at their TDP.</p>" if carbon else ""
    return said + table(("what", "number", "each, an hour", "an hour", "price read from"), rows, numbers=(1, 2, 3))


def _year(plan: Plan, hall: FacilityPlan) -> str:
    energy, heat = hall.energy, hall.heat
    price = energy.price if energy else None
    carbon = energy.carbon if energy else None
    pue = f"{heat.pue:.4g}, {heat.pue_is}" if heat and heat.pue else "not known: the bill is of IT alone"
    rows = [
        ("IT power, all machines at their highest", power_text(hall.it)),
        ("energy of IT in a year", energy_text(hall.energy_year)),
        ("PUE", pue),
        ("price of energy", f"{price.to('USD/kWh'):.4g} USD/kWh" if price else "not declared"),
        ("bill of a year", money_text(hall.cost_year) if hall.cost_year else "unknown: no price of energy"),
        ("carbon of energy", f"{carbon.to('gCO2e/kWh'):.4g} g CO₂e/kWh" if carbon else
         f"not known for {plan.site.place}"),
        ("carbon of a year", carbon_text(hall.carbon_year) if hall.carbon_year else "unknown"),
        *(("not counted", text) for text in hall.unknown),
    ]  # fmt: skip
    return "<h3>A year at full power</h3>" + pairs(rows) + _sources(hall) + _hours(hall)


def _sources(hall: FacilityPlan) -> str:
    rows = [
        (
            item.name,
            item.kind,
            f"{item.share:.0%}",
            power_text(item.average),
            power_text(item.limit) if item.limit else "",
            f"{item.price.to('USD/kWh'):.4g}" if item.price else "",
            f"{item.carbon.to('gCO2e/kWh'):.4g}" if item.carbon else "",
        )
        for item in (hall.energy.sources if hall.energy else ())
    ]
    if not rows:
        return ""
    head = ("source", "kind", "share", "on average", "gives at most", "USD/kWh", "g CO₂e/kWh")
    return "<h3>Sources of energy</h3>" + table(head, rows, numbers=(2, 3, 4, 5, 6))


def _hours(hall: FacilityPlan) -> str:
    """Carbon of the grid by hour of the day, as bars."""
    hours = hall.energy.carbon_by_hour if hall.energy else ()
    if not hours:
        return ""
    top = max(hours) or 1.0
    bars = "".join(
        f'<i style="height:{value / top:.0%}" title="{hour:02d}:00, {value:.4g} g/kWh"></i>'
        for hour, value in enumerate(hours)
    )
    low, high = min(range(len(hours)), key=hours.__getitem__), max(range(len(hours)), key=hours.__getitem__)
    said = (
        f"lowest {hours[low]:.4g} g/kWh at {low:02d}:00, highest {hours[high]:.4g} g/kWh at {high:02d}:00 "
        "(averages of each hour of the day)"
    )
    return f'<h3>Carbon of the grid by hour</h3><div class="bars">{bars}</div><p class="quiet">{said}</p>'
