"""Energy of a year: the mix of the declared sources and the grid, its price and its carbon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ....facility import (
    EnergyShare,
    compute_hourly_averages,
    compute_mix_carbon,
    compute_mix_price,
    parse_column,
)
from ....primitives.quantity import CarbonIntensity, Power, UnitPrice
from ....spec.facility import Facility
from ...model.hall import EnergyPlan, SourcePlan
from ...model.plan import SitePlan
from ..inputs import BuildInputs
from .files import read_hourly_file

__all__ = ["build_energy_plan", "with_site_power"]


@dataclass(frozen=True)
class _Source:
    """A part of the energy mix."""

    name: str
    kind: str
    share: Fraction
    power_limit: Power | None
    """Average power: that of an intermittent source is below its rated power."""
    price: UnitPrice | None
    carbon: CarbonIntensity | None


def build_energy_plan(inputs: BuildInputs, facility: Facility, site: SitePlan, it_power: Power) -> EnergyPlan:
    """The energy mix of a year: the remainder of the sources comes from the grid."""
    supply = facility.energy
    hours = read_hourly_file(
        supply.carbon_hours,
        inputs.folder,
        "facility.energy.carbon_hours",
        lambda text: parse_column(text, "carbon", "gco2e_per_kwh", "carbon_intensity"),
        inputs.problems,
    )
    sources = _list_sources(facility, _find_grid_carbon(facility, site, hours))
    mix = [EnergyShare(item.share, item.price, item.carbon) for item in sources]
    return EnergyPlan(
        sources=tuple(
            SourcePlan(
                item.name,
                item.kind,
                float(item.share),
                it_power * item.share,
                item.power_limit,
                item.price,
                item.carbon,
            )
            for item in sources
        )
        if supply.sources
        else (),
        price=compute_mix_price(mix),
        carbon=compute_mix_carbon(mix),
        carbon_by_hour=compute_hourly_averages(hours) if hours else (),
    )


def _find_grid_carbon(facility: Facility, site: SitePlan, hours: Sequence[float] | None) -> CarbonIntensity | None:
    """Carbon intensity of the grid: declared, else the average of the file, else that of the location."""
    if facility.energy.carbon is not None:
        return facility.energy.carbon
    if hours:
        return CarbonIntensity(sum(hours) / len(hours), "gCO2e/kWh")
    return site.location.carbon if site.location else None


def _list_sources(facility: Facility, grid: CarbonIntensity | None) -> list[_Source]:
    """The declared sources, and the grid for the remainder."""
    supply = facility.energy
    found: list[_Source] = []
    for item in supply.sources:
        own = (supply.price, grid) if item.kind == "grid" else (None, None)
        average = item.power * item.capacity_factor if item.power and item.capacity_factor else item.power
        price, carbon = item.price or own[0], item.carbon or own[1]
        found.append(_Source(item.name, item.kind, Fraction(repr(item.share)), average, price, carbon))
    left = 1 - sum((item.share for item in found), Fraction(0))
    if left > 0:
        found.append(_Source("grid", "grid", left, None, supply.price, grid))
    return found


def with_site_power(energy: EnergyPlan, power: Power) -> EnergyPlan:
    """The same with the power of the whole site, which includes cooling and losses."""
    return replace(energy, sources=tuple(replace(item, average_power=power * item.share) for item in energy.sources))
