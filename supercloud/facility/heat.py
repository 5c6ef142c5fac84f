"""Where heat goes, and the flow that carries it.

Heat in is heat out: everything a machine draws leaves it as heat, part in the liquid, the rest in the air. The flow
that carries heat Q at a rise ΔT is Q / (ρ · c · ΔT); a coolant's file has the flow of 1 kW at 1 K.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..primitives.quantity import Flow, Power, TemperatureStep

__all__ = ["Heat", "compute_flow", "split_heat"]

_NO_POWER = Power(0, "W")


@dataclass(frozen=True, slots=True)
class Heat:
    """Heat by the way it leaves."""

    liquid: Power = _NO_POWER
    """Through cold plates or a bath, to the distribution units."""
    door: Power = _NO_POWER
    """Through air to the water of rear doors."""
    air: Power = _NO_POWER
    """Into the room."""

    @property
    def total(self) -> Power:
        """All of it."""
        return self.liquid + self.door + self.air

    def __add__(self, other: Heat) -> Heat:
        return Heat(self.liquid + other.liquid, self.door + other.door, self.air + other.air)

    def __mul__(self, count: int | Fraction) -> Heat:
        return Heat(self.liquid * count, self.door * count, self.air * count)


def split_heat(power: Power, cooling: str, can_take_liquid: bool, liquid_share: float | None) -> tuple[Heat, bool]:
    """The heat of a machine in a hall that cools by ``cooling``, and whether the split is known.

    In a hall of cold plates, a machine made for them gives ``liquid_share`` to the liquid; where its share is not known
    all of it is counted there, the most the loop may have to carry. Immersion takes all, rear doors take all that is in
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


def compute_flow(heat: Power, coolant: Flow, temperature_rise: TemperatureStep) -> Flow:
    """Flow = (flow of 1 kW at 1 K) · Q / ΔT; for water 14.34 L/min · Q[kW] / ΔT[K].

    >>> flow_for(Power("100 kW"), Flow("14.34 L/min"), TemperatureStep("10 K")).to("L/min")
    143.4
    """
    return Flow.from_base(coolant.base * (heat.base / 1000) / temperature_rise.base)
