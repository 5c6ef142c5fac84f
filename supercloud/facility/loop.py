"""The liquid loop: distribution units, temperatures from the chips to the weather, classes of supply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..catalog import Cdu, HeatRejection, ThermalClass
from ..primitives.quantity import Flow, Power, Temperature, TemperatureStep

__all__ = ["LiquidLoop", "find_thermal_class", "compute_outdoor_limit", "count_cdus"]


def count_cdus(liquid_heat: Power, flow: Flow | None, cdu: Cdu) -> int:
    """Distribution units that are needed, without a spare: the most that heat and flow ask for.

    N = max(⌈Q / capacity⌉, ⌈flow / flow of one⌉); a number the unit's file does not have does not count.
    """
    by_heat = -(-liquid_heat.base // cdu.capacity.base) if cdu.capacity else 0
    by_flow = -(-flow.base // cdu.flow.base) if cdu.flow and flow else 0
    return int(max(by_heat, by_flow))


@dataclass(frozen=True, slots=True)
class LiquidLoop:
    """The racks' loop of the hall: its heat, its flow, its temperatures, its distribution units."""

    heat: Power
    flow: Flow | None
    """None where the rise is not known."""
    supply: Temperature | None
    temperature_rise: TemperatureStep | None
    cdu: Cdu | None
    zone_cdus: tuple[tuple[int, int], ...]
    """Of each zone: distribution units that are needed, and those beside them."""
    zone_heats: tuple[Power, ...] = ()
    """Of each zone, in the liquid."""
    racks_per_zone: int | None = None
    """None where all racks are one zone."""

    @property
    def return_temperature(self) -> Temperature | None:
        """Supply plus rise."""
        return None if self.supply is None or self.temperature_rise is None else self.supply + self.temperature_rise

    @property
    def cdu_count(self) -> int:
        """Distribution units of the hall, spares included."""
        return sum(needed + spare for needed, spare in self.zone_cdus)

    @property
    def building_supply(self) -> Temperature | None:
        """Supply the building must give: that of the racks less the approach of the distribution unit."""
        approach = self.cdu.approach if self.cdu else None
        return None if self.supply is None or approach is None else self.supply - approach


def compute_outdoor_limit(supply: Temperature, rejection: HeatRejection, cdu: Cdu | None) -> Temperature | None:
    """The highest outdoor temperature that still cools to ``supply``: supply less both approaches, at their worst.

    None where an approach is not known, or the device has none of its own (a chiller).
    """
    approach = rejection.approach_from if rejection.approach_to is None else rejection.approach_to
    if approach is None or (cdu is not None and cdu.approach is None):
        return None
    step = approach + cdu.approach if cdu is not None and cdu.approach is not None else approach
    limit: Temperature = supply - step
    return limit


def find_thermal_class(supply: Temperature, classes: Iterable[ThermalClass], medium: str) -> ThermalClass | None:
    """The narrowest class of a medium that holds a supply temperature; None above all of them (W+)."""
    fitting = [item for item in classes if item.medium == medium and item.supply_from <= supply <= item.supply_to]
    return min(fitting, key=lambda item: (item.supply_to, item.name), default=None)
