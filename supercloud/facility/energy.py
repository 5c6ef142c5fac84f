"""What a load costs and emits in a year of full power, and what a mix of sources costs and emits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..primitives.quantity import Carbon, CarbonIntensity, Duration, Energy, Money, Power, UnitPrice

__all__ = ["Part", "Year", "by_hour_of_day", "mixed_carbon", "mixed_price", "year_of"]

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


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the energy of a year."""

    share: Fraction
    price: UnitPrice | None
    carbon: CarbonIntensity | None


def mixed_carbon(parts: Iterable[Part]) -> CarbonIntensity | None:
    """Σ share · carbon; None where one of them is not known."""
    total = Fraction(0)
    for part in parts:
        if part.carbon is None:
            return None
        total += part.share * part.carbon.base
    return CarbonIntensity.of_base(total)


def mixed_price(parts: Iterable[Part]) -> UnitPrice | None:
    """Σ share · price; None where one of them is not known."""
    total = Fraction(0)
    for part in parts:
        if part.price is None:
            return None
        total += part.share * part.price.base
    return UnitPrice.of_base(total)


def by_hour_of_day(values: Sequence[float]) -> tuple[float, ...]:
    """The average of each hour of the day, of values that begin at midnight and go on hour by hour."""
    days = [values[hour::24] for hour in range(min(24, len(values)))]
    return tuple(sum(day) / len(day) for day in days)
