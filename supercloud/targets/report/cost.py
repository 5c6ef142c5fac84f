"""Cost: on-prem the energy and carbon of a year, on a cloud the hourly price of all priced items."""

from __future__ import annotations

from ...plan.build.cloud.cost import HOURS_PER_MONTH
from ...plan.build.cloud.region import compute_accelerator_carbon
from ...plan.model.plan import FacilityPlan, Plan
from .facts import render_pairs, render_table
from .names import format_carbon, format_energy, format_money, format_power

__all__ = ["render_cost"]


def render_cost(plan: Plan) -> str:
    """Render energy, cost and carbon, with unknown values listed."""
    parts = [_render_cloud_cost(plan)] if plan.cloud else []
    if plan.facility:
        parts.append(_render_year(plan, plan.facility))
    return "".join(parts) or "<p>No prices are known for this plan.</p>"


def _render_cloud_cost(plan: Plan) -> str:
    assert plan.cloud
    found = plan.cloud.cost
    rows = [
        (
            line.item,
            f"{line.count:,}",
            f"{format_money(line.unit_price)}" if line.unit_price else "",
            format_money(line.total_price) if line.total_price is not None else "unknown",
            line.source,
        )
        for line in found.lines
    ]
    month = format_money(found.known_total * HOURS_PER_MONTH)
    least = " at least, without unpriced items" if found.unpriced_items else ""
    rows.append(("sum of known prices", "", "", format_money(found.known_total), ""))
    summary = f"<p>{month} per month with everything running{least}. Prices are list prices as of the date shown.</p>"
    if plan.accelerators:
        carbon = compute_accelerator_carbon(plan)
        summary += (
            f"<p>Carbon: {format_carbon(carbon)} per hour with the accelerators at their TDP.</p>"
            if carbon is not None
            else ""
        )
    return summary + render_table(
        ("item", "number", "each, per hour", "per hour", "source of price"), rows, number_columns=(1, 2, 3)
    )


def _render_year(plan: Plan, hall: FacilityPlan) -> str:
    energy, heat = hall.energy_plan, hall.cooling_plan
    price = energy.price if energy else None
    carbon = energy.carbon if energy else None
    pue = f"{heat.pue:.4g}, {heat.pue_basis}" if heat and heat.pue else "unknown: the cost is for IT only"
    rows = [
        ("IT power, all machines at maximum", format_power(hall.it_power)),
        ("IT energy per year", format_energy(hall.annual_energy)),
        ("PUE", pue),
        ("energy price", f"{price.to('USD/kWh'):.4g} USD/kWh" if price is not None else "not declared"),
        ("energy cost per year", format_money(hall.annual_cost) if hall.annual_cost else "unknown: no energy price"),
        (
            "carbon intensity",
            f"{carbon.to('gCO2e/kWh'):.4g} g CO₂e/kWh"
            if carbon is not None
            else f"unknown for {plan.site.location_name}",
        ),
        ("carbon per year", format_carbon(hall.annual_carbon) if hall.annual_carbon else "unknown"),
        *(("not included", text) for text in hall.unknown_power),
    ]
    return "<h3>A year at full power</h3>" + render_pairs(rows) + _render_sources(hall) + _render_hours(hall)


def _render_sources(hall: FacilityPlan) -> str:
    rows = [
        (
            item.name,
            item.kind,
            f"{item.share:.0%}",
            format_power(item.average_power),
            format_power(item.power_limit) if item.power_limit else "",
            f"{item.price.to('USD/kWh'):.4g}" if item.price else "",
            f"{item.carbon.to('gCO2e/kWh'):.4g}" if item.carbon else "",
        )
        for item in (hall.energy_plan.sources if hall.energy_plan else ())
    ]
    if not rows:
        return ""
    head = ("source", "kind", "share", "average", "maximum", "USD/kWh", "g CO₂e/kWh")
    return "<h3>Energy sources</h3>" + render_table(head, rows, number_columns=(2, 3, 4, 5, 6))


def _render_hours(hall: FacilityPlan) -> str:
    """Render the carbon intensity of the grid by hour of the day, as bars."""
    hours = hall.energy_plan.carbon_by_hour if hall.energy_plan else ()
    if not hours:
        return ""
    top = max(hours) or 1.0
    bars = "".join(
        f'<i style="height:{value / top:.0%}" title="{hour:02d}:00, {value:.4g} g/kWh"></i>'
        for hour, value in enumerate(hours)
    )
    low, high = min(range(len(hours)), key=hours.__getitem__), max(range(len(hours)), key=hours.__getitem__)
    summary = (
        f"lowest {hours[low]:.4g} g/kWh at {low:02d}:00, highest {hours[high]:.4g} g/kWh at {high:02d}:00 "
        "(average of each hour of the day)"
    )
    return f'<h3>Carbon intensity of the grid by hour</h3><div class="bars">{bars}</div><p class="quiet">{summary}</p>'
