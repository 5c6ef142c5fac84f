"""What a load costs and emits in a year of full power."""

from __future__ import annotations

from dataclasses import dataclass

from ..primitives.quantity import Carbon, CarbonIntensity, Duration, Energy, Money, Power, UnitPrice

__all__ = ["Year", "year_of"]

_YEAR = Duration(365, "d")


@dataclass(frozen=True, slots=True)
class Year:
    """A year: energy of the machines, and money and carbon of the whole building where the factors are known."""

    energy: Energy
    cost: Money | None
    carbon: Carbon | None


def year_of(it: Power, pue: float | None, price: UnitPrice | None, intensity: CarbonIntensity | None) -> Year:
    """Energy = power × 365 d; cost and carbon = energy × PUE × factor.

    PUE is facility energy over IT energy (ISO/IEC 30134-2). Where it is not given, cost and carbon are of the IT load
    alone: a lower bound.
    """
    energy: Energy = it * _YEAR
    facility = energy * (pue or 1)
    return Year(energy, price * facility if price else None, intensity * facility if intensity else None)
