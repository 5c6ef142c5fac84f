"""Decisions about power, cooling and energy of the data hall. The arithmetic is in ``supercloud.facility``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...catalog import HeatRejection, Machine, Ups
from ...facility import Feeds, Heat, LiquidLoop, SiteOverhead
from ...primitives.quantity import CarbonIntensity, Flow, Power, Temperature, UnitPrice

__all__ = ["CoolingPlan", "EnergyPlan", "MachineGroup", "PowerPlan", "ServiceGroup", "SourcePlan"]


class MachineGroup(Protocol):
    """Equal machines that occupy rack space and draw power: storage servers and service machines."""

    @property
    def name(self) -> str:
        """Host names."""

    @property
    def machine(self) -> Machine:
        """The machine's facts."""

    @property
    def count(self) -> int:
        """Number of machines."""


@dataclass(frozen=True)
class ServiceGroup:
    """Machines outside of the pools that are not storage servers."""

    name: str
    machine: Machine
    count: int


@dataclass(frozen=True)
class PowerPlan:
    """Power distribution from the meter to the racks."""

    feeds: Feeds
    ups: Ups | None
    distribution_loss: Power
    """0 if its efficiency is unknown."""
    ups_loss: Power
    load_swing: Power | None
    """Load that can be switched on or off at once."""
    row_limit: Power | None = None
    """Capacity of the distribution of one row."""
    swing_limit: Power | None = None
    """Maximum load step of the supply."""

    @property
    def total_loss(self) -> Power:
        """Total distribution losses."""
        return self.distribution_loss + self.ups_loss

    @property
    def meter_power(self) -> Power:
        """Power that IT draws from the building, with losses."""
        return self.feeds.load + self.total_loss


@dataclass(frozen=True)
class CoolingPlan:
    """Heat removal."""

    heat: Heat
    """Heat of all machines and switches; its total is the IT power."""
    assumed_machines: tuple[str, ...]
    """Machines whose liquid-cooled share is unknown: all of their heat is counted as liquid, an upper bound."""
    loop: LiquidLoop | None
    """The liquid loop to the racks; None for a purely air-cooled hall."""
    airflow: Flow | None
    """Airflow through the machines; None if that of any machine is unknown."""
    rejection: HeatRejection | None
    outdoor_limit: Temperature | None
    """Maximum outdoor temperature without a chiller."""
    weather_hours: int | None
    """Hours in the weather file."""
    free_hours: int | None
    overhead: SiteOverhead
    pue: float | None
    """Declared, or computed: then a lower bound if ``overhead.missing`` is not empty."""
    is_pue_declared: bool
    wue: float | None
    """Liters per kWh of IT energy."""
    cue: float | None
    """kgCO2e per kWh of IT energy."""

    @property
    def pue_basis(self) -> str:
        """declared, computed, at least (a part is missing), unknown."""
        if self.is_pue_declared:
            return "declared"
        if self.pue is None:
            return "unknown"
        return "at least" if self.overhead.missing else "computed"


@dataclass(frozen=True)
class SourcePlan:
    """A source of part of the annual energy."""

    name: str
    kind: str
    """grid, contract, on-site."""
    share: float
    average_power: Power
    """Average power with the site at full load all year."""
    power_limit: Power | None
    """Maximum average power."""
    price: UnitPrice | None
    carbon: CarbonIntensity | None


@dataclass(frozen=True)
class EnergyPlan:
    """The energy sources of the site."""

    sources: tuple[SourcePlan, ...]
    price: UnitPrice | None
    carbon: CarbonIntensity | None
    """Carbon intensity of the mix."""
    carbon_by_hour: tuple[float, ...]
    """Hourly averages over the day for the grid, in g/kWh; empty without an hourly file."""


def find_largest_power(powers: Iterable[Power] | Sequence[Power]) -> Power:
    """Return the highest of several powers, 0 if there are none."""
    return max(powers, default=Power(0, "W"))
