"""Cost and carbon of a load in a year at full power, and those of a mix of sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..primitives.quantity import Carbon, CarbonIntensity, Duration, Energy, Money, Power, UnitPrice

__all__ = [
    "EnergyShare",
    "AnnualEnergy",
    "compute_hourly_averages",
    "compute_mix_carbon",
    "compute_mix_price",
    "compute_annual_energy",
]

_YEAR = Duration(365, "d")


@dataclass(frozen=True, slots=True)
class AnnualEnergy:
    """Energy of the machines in a year, and cost and carbon of the whole building where the factors are known."""

    energy: Energy
    cost: Money | None
    carbon: Carbon | None


def compute_annual_energy(
    it_power: Power, pue: float | None, price: UnitPrice | None, carbon_intensity: CarbonIntensity | None
) -> AnnualEnergy:
    """Energy = power × 365 d; cost and carbon = energy × PUE × factor.

    PUE is facility energy over IT energy (ISO/IEC 30134-2). Without a PUE, cost and carbon are those of the IT load
    alone: a lower bound.
    """
    energy: Energy = it_power * _YEAR
    facility = energy * (pue or 1)
    return AnnualEnergy(
        energy,
        price * facility if price is not None else None,
        carbon_intensity * facility if carbon_intensity is not None else None,
    )


@dataclass(frozen=True, slots=True)
class EnergyShare:
    """A fraction of the annual energy."""

    share: Fraction
    price: UnitPrice | None
    carbon: CarbonIntensity | None


def compute_mix_carbon(shares: Iterable[EnergyShare]) -> CarbonIntensity | None:
    """Σ share · carbon; None where a factor is unknown."""
    total = Fraction(0)
    for part in shares:
        if part.carbon is None:
            return None
        total += part.share * part.carbon.base
    return CarbonIntensity.from_base(total)


def compute_mix_price(shares: Iterable[EnergyShare]) -> UnitPrice | None:
    """Σ share · price; None where a factor is unknown."""
    total = Fraction(0)
    for part in shares:
        if part.price is None:
            return None
        total += part.share * part.price.base
    return UnitPrice.from_base(total)


def compute_hourly_averages(values: Sequence[float]) -> tuple[float, ...]:
    """Average of each hour of the day, from hourly values that start at midnight."""
    days = [values[hour::24] for hour in range(min(24, len(values)))]
    return tuple(sum(day) / len(day) for day in days)
