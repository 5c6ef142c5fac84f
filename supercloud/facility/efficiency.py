"""Efficiency of the site: PUE, WUE and CUE, with known and unknown powers.

PUE = facility energy / IT energy (ISO/IEC 30134-2), WUE = water in liters / IT kWh (ISO/IEC 30134-9),
CUE = kgCO2e / IT kWh = PUE × carbon of the supply (ISO/IEC 30134-8).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..catalog import HeatRejection
from ..primitives.quantity import CarbonIntensity, Power

__all__ = ["SiteOverhead", "compute_chiller_power", "compute_cue", "compute_wue"]


@dataclass(frozen=True, slots=True)
class SiteOverhead:
    """Average annual power of the site's infrastructure, without IT."""

    it_power: Power
    conversion_loss: Power
    """Losses of UPS and power distribution."""
    cooling_power: Power
    """Power of pumps, fans and chillers."""
    missing: tuple[str, ...] = ()
    """Names of the unknown parts, counted as 0."""

    @property
    def facility_power(self) -> Power:
        """Power at the meter: IT and overhead."""
        return self.it_power + self.conversion_loss + self.cooling_power

    @property
    def pue(self) -> float | None:
        """Facility power over IT power; a lower bound if ``missing`` is not empty."""
        return float(self.facility_power.base / self.it_power.base) if self.it_power else None


def compute_chiller_power(heat: Power, cop: float, running_hours: float, total_hours: float) -> Power:
    """Average electric power of a chiller that runs ``running_hours`` of ``total_hours``: Q / COP · fraction of the
    time. ``cop`` is heat removed over electric power.
    """
    return Power.from_base(float(heat.base) / cop * running_hours / total_hours)


def compute_wue(heat: Power, it_power: Power, tower: HeatRejection) -> float | None:
    """WUE of a cooling tower in L/kWh: evaporation · c / (c − 1) over IT energy; None if the tower's file lacks a
    number.

    1.8 L/min for 100 kW are 1.08 L/kWh of heat; with five cycles of concentration 1.35 L/kWh.
    """
    if tower.evaporation is None or not tower.cycles or tower.cycles <= 1 or not it_power:
        return None
    per_kwh_of_heat = float(tower.evaporation.base) * 60 / 100
    return per_kwh_of_heat * tower.cycles / (tower.cycles - 1) * float(heat.base / it_power.base)


def compute_cue(pue: float, carbon: CarbonIntensity) -> float:
    """CUE in kgCO2e per kWh of IT energy: PUE, a ratio, times the carbon intensity of the supply."""
    return pue * carbon.to("gCO2e/kWh") / 1000
