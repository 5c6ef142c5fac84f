"""The heat of machines by cooling path, and the flow that removes it.

The electric power of a machine leaves it as heat, partly in the liquid, the rest in the air. The flow for heat Q at a
temperature rise ΔT is Q / (ρ · c · ΔT); a coolant's file has the flow for 1 kW at 1 K.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..primitives.quantity import Flow, Power, TemperatureDifference

__all__ = ["Heat", "compute_flow", "split_heat"]

_NO_POWER = Power(0, "W")


@dataclass(frozen=True, slots=True)
class Heat:
    """Heat by cooling path."""

    liquid: Power = _NO_POWER
    """Cold plates or immersion: heat to the coolant distribution units."""
    door: Power = _NO_POWER
    """Rear doors: heat from air to water."""
    air: Power = _NO_POWER
    """Heat to the room air."""

    @property
    def total(self) -> Power:
        """Total heat."""
        return self.liquid + self.door + self.air

    def __add__(self, other: Heat) -> Heat:
        return Heat(self.liquid + other.liquid, self.door + other.door, self.air + other.air)

    def __mul__(self, count: int | Fraction) -> Heat:
        return Heat(self.liquid * count, self.door * count, self.air * count)


def split_heat(power: Power, cooling: str, can_take_liquid: bool, liquid_share: float | None) -> tuple[Heat, bool]:
    """Compute the heat of a machine in a hall with the method ``cooling``, and whether the split is known.

    With cold plates, a liquid-cooled machine gives ``liquid_share`` to the liquid; if its share is unknown, all of its
    heat is counted as liquid, the maximum load of the loop. Immersion takes all heat, rear doors take all heat in the
    air.
    """
    if cooling == "immersion":
        return Heat(liquid=power), True
    if cooling == "rear-door":
        return Heat(door=power), True
    if cooling == "direct-liquid" and can_take_liquid:
        if liquid_share is None:
            return Heat(liquid=power), False
        liquid = Power.from_base(power.base * Fraction(repr(liquid_share)))
        return Heat(liquid=liquid, air=power - liquid), True
    return Heat(air=power), True


def compute_flow(heat: Power, coolant: Flow, temperature_rise: TemperatureDifference) -> Flow:
    """Flow = (flow for 1 kW at 1 K) · Q / ΔT; for water 14.34 L/min · Q[kW] / ΔT[K].

    >>> compute_flow(Power("100 kW"), Flow("14.34 L/min"), TemperatureDifference("10 K")).to("L/min")
    143.4
    """
    return Flow.from_base(coolant.base * (heat.base / 1000) / temperature_rise.base)
