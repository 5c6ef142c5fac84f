"""Where heat goes, and the flow that carries it.

Heat in is heat out: everything a machine draws leaves it as heat, part in the liquid, the rest in the air. The flow
that carries heat Q at a rise ΔT is Q / (ρ · c · ΔT); a coolant's file has the flow of 1 kW at 1 K.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..primitives.quantity import Flow, Power, TemperatureStep

__all__ = ["Heat", "flow_for", "split"]

_NONE = Power(0, "W")


@dataclass(frozen=True, slots=True)
class Heat:
    """Heat by the way it leaves."""

    liquid: Power = _NONE
    """Through cold plates or a bath, to the distribution units."""
    door: Power = _NONE
    """Through air to the water of rear doors."""
    air: Power = _NONE
    """Into the room."""

    @property
    def total(self) -> Power:
        """All of it."""
        return self.liquid + self.door + self.air

    def __add__(self, other: Heat) -> Heat:
        return Heat(self.liquid + other.liquid, self.door + other.door, self.air + other.air)

    def __mul__(self, count: int | Fraction) -> Heat:
        return Heat(self.liquid * count, self.door * count, self.air * count)


def split(power: Power, hall: str, takes_liquid: bool, share: float | None) -> tuple[Heat, bool]:
    """The heat of a machine in a hall that cools by ``hall``, and whether the split is known.

    In a hall of cold plates, a machine made for them gives ``share`` to the liquid; where its share is not known all of
    it is counted there, the most the loop may have to carry. Immersion takes all, rear doors take all that is in air.
    """
    if hall == "immersion":
        return Heat(liquid=power), True
    if hall == "rear-door":
        return Heat(door=power), True
    if hall == "direct-liquid" and takes_liquid:
        if share is None:
            return Heat(liquid=power), False
        liquid = Power.of_base(power.base * Fraction(repr(share)))
        return Heat(liquid=liquid, air=power - liquid), True
    return Heat(air=power), True


def flow_for(heat: Power, coolant: Flow, step: TemperatureStep) -> Flow:
    """Flow = (flow of 1 kW at 1 K) · Q / ΔT; for water 14.34 L/min · Q[kW] / ΔT[K].

    >>> flow_for(Power("100 kW"), Flow("14.34 L/min"), TemperatureStep("10 K")).to("L/min")
    143.4
    """
    return Flow.of_base(coolant.base * (heat.base / 1000) / step.base)
