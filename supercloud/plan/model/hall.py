"""What was decided about power, cooling and energy of the hall. The arithmetic is in ``supercloud.facility``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...catalog import HeatRejection, Machine, Ups
from ...facility import Feeds, Heat, LiquidLoop, SiteOverhead
from ...primitives.quantity import CarbonIntensity, Flow, Power, Temperature, UnitPrice

__all__ = ["CoolingPlan", "EnergyPlan", "MachineGroup", "PowerPlan", "ServiceGroup", "SourcePlan"]


class MachineGroup(Protocol):
    """Equal machines that take rack space and power: those of storage, and service machines."""

    @property
    def name(self) -> str:
        """What they are called."""

    @property
    def machine(self) -> Machine:
        """What they are."""

    @property
    def count(self) -> int:
        """How many there are."""


@dataclass(frozen=True)
class ServiceGroup:
    """Machines that are in no pool and not those of storage."""

    name: str
    machine: Machine
    count: int


@dataclass(frozen=True)
class PowerPlan:
    """From the meter to the racks."""

    feeds: Feeds
    ups: Ups | None
    distribution_loss: Power
    """0 where its efficiency is not known."""
    ups_loss: Power
    load_swing: Power | None
    """What comes and goes at once."""

    @property
    def total_loss(self) -> Power:
        """All that is lost on the way."""
        return self.distribution_loss + self.ups_loss

    @property
    def meter_power(self) -> Power:
        """What IT takes from the building: used and lost."""
        return self.feeds.load + self.total_loss


@dataclass(frozen=True)
class CoolingPlan:
    """How the heat leaves."""

    heat: Heat
    """Of all machines and switches; its total is the power of IT."""
    assumed_machines: tuple[str, ...]
    """Machines whose liquid share is not known: all of their heat is counted in the liquid, an upper bound."""
    loop: LiquidLoop | None
    """Water to the racks; None where only air cools."""
    airflow: Flow | None
    """Through the machines, where theirs is known; None where one is not."""
    rejection: HeatRejection | None
    outdoor_limit: Temperature | None
    """Highest outdoor temperature without a chiller."""
    weather_hours: int | None
    """In the weather file."""
    free_hours: int | None
    overhead: SiteOverhead
    pue: float | None
    """Declared, or computed: then a lower bound where ``overhead.missing`` is not empty."""
    is_pue_declared: bool
    wue: float | None
    """Litres for each kWh of IT."""
    cue: float | None
    """kgCO2e for each kWh of IT."""

    @property
    def pue_basis(self) -> str:
        """declared, computed, at least (something is missing), unknown."""
        if self.is_pue_declared:
            return "declared"
        if self.pue is None:
            return "unknown"
        return "at least" if self.overhead.missing else "computed"


@dataclass(frozen=True)
class SourcePlan:
    """A part of the year's energy."""

    name: str
    kind: str
    """grid, contract, on-site."""
    share: float
    average_power: Power
    """At full power of the site, evenly over the year."""
    power_limit: Power | None
    """The most it gives on average."""
    price: UnitPrice | None
    carbon: CarbonIntensity | None


@dataclass(frozen=True)
class EnergyPlan:
    """Where the energy comes from."""

    sources: tuple[SourcePlan, ...]
    price: UnitPrice | None
    carbon: CarbonIntensity | None
    """Of the mix."""
    carbon_by_hour: tuple[float, ...]
    """Of the grid, g/kWh, average of each hour of the day; empty where no hourly file is given."""


def find_largest_power(powers: Iterable[Power] | Sequence[Power]) -> Power:
    """The largest of several powers, 0 of none."""
    return max(powers, default=Power(0, "W"))
