"""The liquid loop: distribution units, temperatures from the chips to the outdoor air, classes of supply
temperature.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..catalog import Cdu, HeatRejection, ThermalClass
from ..primitives.quantity import Flow, Power, Temperature, TemperatureDifference

__all__ = ["LiquidLoop", "find_thermal_class", "compute_outdoor_limit", "count_cdus"]


def count_cdus(liquid_heat: Power, flow: Flow | None, cdu: Cdu) -> int:
    """Required number of distribution units without spares: the larger of the numbers for heat and for flow.

    N = max(⌈Q / capacity⌉, ⌈flow / flow of one⌉); a value that the unit's file does not have is ignored.
    """
    by_heat = -(-liquid_heat.base // cdu.capacity.base) if cdu.capacity else 0
    by_flow = -(-flow.base // cdu.flow.base) if cdu.flow and flow else 0
    return int(max(by_heat, by_flow))


@dataclass(frozen=True, slots=True)
class LiquidLoop:
    """The liquid loop of the hall: heat, flow, temperatures, distribution units."""

    heat: Power
    flow: Flow | None
    """None if the temperature rise is unknown."""
    supply: Temperature | None
    temperature_rise: TemperatureDifference | None
    cdu: Cdu | None
    zone_cdus: tuple[tuple[int, int], ...]
    """Per zone: required distribution units, and spares."""
    zone_heats: tuple[Power, ...] = ()
    """Per zone: heat in the liquid."""
    racks_per_zone: int | None = None
    """None if all racks are one zone."""

    @property
    def return_temperature(self) -> Temperature | None:
        """Supply temperature plus temperature rise."""
        return None if self.supply is None or self.temperature_rise is None else self.supply + self.temperature_rise

    @property
    def cdu_count(self) -> int:
        """Number of distribution units of the hall with spares."""
        return sum(needed + spare for needed, spare in self.zone_cdus)

    @property
    def building_supply(self) -> Temperature | None:
        """Supply temperature of the building: that of the racks less the approach of the distribution unit."""
        approach = self.cdu.approach if self.cdu else None
        return None if self.supply is None or approach is None else self.supply - approach


def compute_outdoor_limit(supply: Temperature, rejection: HeatRejection, cdu: Cdu | None) -> Temperature | None:
    """Maximum outdoor temperature that still cools to ``supply``: supply less the worst case of both approaches.

    None if an approach is unknown, or if the device has none (a chiller).
    """
    approach = rejection.approach_from if rejection.approach_to is None else rejection.approach_to
    if approach is None or (cdu is not None and cdu.approach is None):
        return None
    step = approach + cdu.approach if cdu is not None and cdu.approach is not None else approach
    limit: Temperature = supply - step
    return limit


def find_thermal_class(supply: Temperature, classes: Iterable[ThermalClass], medium: str) -> ThermalClass | None:
    """The narrowest class of a medium that contains a supply temperature; None above all of them (W+)."""
    fitting = [item for item in classes if item.medium == medium and item.supply_from <= supply <= item.supply_to]
    return min(fitting, key=lambda item: (item.supply_to, item.name), default=None)
