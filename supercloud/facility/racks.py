"""How many equal things a rack holds, and what ends the filling."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..primitives.quantity import Mass, Power

__all__ = ["Fit", "fit"]


@dataclass(frozen=True, slots=True)
class Fit:
    """How many things go into one rack; 0 where not one does."""

    count: int
    limited_by: str
    """units, power, weight: the limit that is reached first."""


def fit(
    *,
    units: int | None,
    power: Power | None,
    weight: Mass | None,
    rack_units: int | None,
    rack_power: Power | None,
    rack_load: Mass | None,
) -> Fit | None:
    """The number of equal things that fit a rack by units, power and weight; a limit that is not known does not count.

    Units are whole, power and weight are compared exactly. None where no limit is known on both sides.
    """
    limits: list[tuple[int, str]] = []
    if units and rack_units:
        limits.append((rack_units // units, "units"))
    if power and rack_power:
        limits.append((_times(rack_power.base, power.base), "power"))
    if weight and rack_load:
        limits.append((_times(rack_load.base, weight.base), "weight"))
    return Fit(*min(limits)) if limits else None


def _times(whole: Fraction, part: Fraction) -> int:
    return int(whole // part)
