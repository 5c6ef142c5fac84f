"""Three-phase circuits: the power of a breaker, and the rating that a load requires.

Symbols: V is line to line, I per line, pf the power factor, k the fraction of a breaker's rating that is allowed for
continuous load (0.8 in North America: NFPA 70, 210.20(A) and 215.3; elsewhere often 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from ..primitives.quantity import Current, Power, Voltage

__all__ = ["Circuits", "interpolate_efficiency", "compute_breaker_rating", "compute_circuit_power", "compute_losses"]

_SQRT3 = math.sqrt(3)


def compute_circuit_power(
    voltage: Voltage, current: Current, power_factor: float = 1.0, continuous_factor: float = 0.8, phases: int = 3
) -> Power:
    """Power of a circuit: P = √3 · V · I · pf · k (single phase: V · I · pf · k).

    Args:
        voltage: Between phases; with a single phase, of the phase.
        current: Rating of the breaker.
        power_factor: pf, from 0 to 1.
        continuous_factor: k, the fraction of the rating that continuous loads may use.
        phases: 1 or 3.

    >>> compute_circuit_power(Voltage("415 V"), Current("60 A")).to("kW").__round__(2)
    34.5
    """
    root = _SQRT3 if phases == 3 else 1.0
    return Power.from_base(root * float(voltage.base) * float(current.base) * power_factor * continuous_factor)


def compute_breaker_rating(
    power: Power, voltage: Voltage, power_factor: float = 1.0, continuous_factor: float = 0.8
) -> Current:
    """Minimum rating of one three-phase breaker: I = P / (√3 · V · pf · k); pf and k are fractions, as in
    :func:`compute_circuit_power`.
    """
    return Current.from_base(float(power.base) / (_SQRT3 * float(voltage.base) * power_factor * continuous_factor))


def compute_losses(power: Power, efficiency: float) -> Power:
    """Losses of a device of this efficiency (a fraction) at an output of ``power``: P / η − P."""
    return Power.from_base(power.base / Fraction(repr(efficiency)) - power.base)


def interpolate_efficiency(points: Sequence[tuple[float, float]], load: float) -> float | None:
    """Efficiency at a fraction of rated load, linear between (load, efficiency) pairs and constant beyond their ends.

    The losses of a UPS are a larger part of its output at light load, and in 2N each UPS carries less than a half.
    """
    rows = sorted(points)
    if not rows:
        return None
    for (low, one), (high, other) in pairwise(rows):
        if low <= load <= high:
            return one + (other - one) * (load - low) / (high - low) if high > low else other
    return rows[0][1] if load < rows[0][0] else rows[-1][1]


@dataclass(frozen=True, slots=True)
class Circuits:
    """The circuits of one rack, one per distribution unit, spread as evenly as possible over the feeds."""

    count: int
    feeds: int
    circuit_power: Power | None
    """Continuous power of one circuit; None if neither breaker nor distribution unit has a rating."""
    paths: int | None = None
    """Number of groups of feeds that fail together; None if each feed is a separate group."""

    @property
    def circuits_lost(self) -> int:
        """Circuits of the path with the most circuits, which are lost together."""
        paths = self.paths or self.feeds
        return -(-self.count // paths) if paths > 1 else self.count

    @property
    def total_power(self) -> Power | None:
        """Continuous power of all circuits."""
        return self.circuit_power * self.count if self.circuit_power else None

    @property
    def power_after_loss(self) -> Power | None:
        """Continuous power after the loss of the path with the most circuits."""
        return self.circuit_power * (self.count - self.circuits_lost) if self.circuit_power else None
