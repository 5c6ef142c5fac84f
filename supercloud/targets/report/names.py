"""Names and number formats of the report."""

from __future__ import annotations

from ...plan.model.plan import Plan, RackGroup
from ...primitives.quantity import Carbon, Energy, Money, Power, Quantity, Size

__all__ = [
    "format_size",
    "format_carbon",
    "format_energy",
    "format_money",
    "format_power",
    "format_rack_power",
    "count_switch_digits",
    "format_switch_name",
]


def count_switch_digits(count: int) -> int:
    """Return the digits in the names of that many switches, as in ``plan.cable_ends``."""
    return max(3, len(str(count)))


def format_switch_name(plan: Plan, fabric: str, tier: str, index: int) -> str:
    """Format the name of a switch by its index in its tier, from 0."""
    count = next((item.count_switches(tier) for item in plan.fabrics if item.name == fabric), 0)
    return f"{fabric}-{tier}-{index + 1:0{count_switch_digits(count)}d}"


def format_size(size: Size) -> str:
    """Format a size in the largest binary unit, with four digits: 10.37 PiB."""
    return _format_in_unit(size, "EiB", "PiB", "TiB", "GiB") if size.to("GiB") >= 1 else str(size)


def format_power(power: Power) -> str:
    """Format a power with four digits: 40.8 kW, 1.413 MW."""
    return _format_in_unit(power, "GW", "MW", "kW")


def format_rack_power(group: RackGroup) -> str:
    """Format the power of the fullest of these racks; a lower bound if the power of a part is unknown."""
    least = "≥ " if group.is_power_lower_bound else ""  # limited space
    return f"{least}{format_power(group.fullest_power)}" if group.fullest_power else "unknown"


def format_energy(energy: Energy) -> str:
    """Format an energy with four digits: 12.38 GWh."""
    return _format_in_unit(energy, "GWh", "MWh")


def format_carbon(carbon: Carbon) -> str:
    """Format a mass of carbon dioxide: 33.79 t CO₂e."""
    tonnes = carbon.to("tCO2e")
    if tonnes < 1:
        return f"{tonnes * 1000:.4g} kg CO₂e"
    return f"{tonnes:,.0f} t CO₂e" if tonnes >= 1000 else f"{tonnes:.4g} t CO₂e"


def format_money(money: Money) -> str:
    """Format an amount with thousands separators: 3,540,920 USD."""
    dollars = money.to("USD")
    return f"{dollars:,.0f} USD" if dollars >= 1000 else f"{dollars:,.2f} USD"


def _format_in_unit(quantity: Quantity, *units: str) -> str:
    """Format in the first unit with a value of at least one, else in the last."""
    unit = next((unit for unit in units if quantity.to(unit) >= 1), units[-1])
    return f"{quantity.to(unit):.4g} {unit}"
