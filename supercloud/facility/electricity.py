"""Three-phase circuits: what a breaker carries, and what a load asks of it.

Symbols: V is line to line, I per line, pf the power factor, k the part of a breaker that may be drawn continuously
(0.8 in North America: NFPA 70, 210.20(A) and 215.3; elsewhere often 1).
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
    """P = √3 · V · I · pf · k (single phase: V · I · pf · k).

    >>> circuit_power(Voltage("415 V"), Current("60 A")).to("kW").__round__(2)
    34.5
    """
    root = _SQRT3 if phases == 3 else 1.0
    return Power.from_base(root * float(voltage.base) * float(current.base) * power_factor * continuous_factor)


def compute_breaker_rating(
    power: Power, voltage: Voltage, power_factor: float = 1.0, continuous_factor: float = 0.8
) -> Current:
    """The least rating of one three-phase breaker: I = P / (√3 · V · pf · k)."""
    return Current.from_base(float(power.base) / (_SQRT3 * float(voltage.base) * power_factor * continuous_factor))


def compute_losses(power: Power, efficiency: float) -> Power:
    """What a device of this efficiency turns into heat while it gives ``power``: P / η − P."""
    return Power.from_base(power.base / Fraction(repr(efficiency)) - power.base)


def interpolate_efficiency(points: Sequence[tuple[float, float]], load: float) -> float | None:
    """Efficiency at a part of the rated load, linearly between (load, efficiency) pairs and flat beyond their ends.

    A UPS loses more of what it gives at light load, and in 2N each carries less than a half.
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
    """The circuits of one rack, one a distribution unit, spread over the feeds as evenly as can be."""

    count: int
    feeds: int
    circuit_power: Power | None
    """What one carries continuously; None where neither breaker nor unit is rated."""
    paths: int | None = None
    """Groups of feeds that are lost together; None means that each feed is one."""

    @property
    def circuits_lost(self) -> int:
        """Circuits that go with the path that has most of them."""
        paths = self.paths or self.feeds
        return -(-self.count // paths) if paths > 1 else self.count

    @property
    def total_power(self) -> Power | None:
        """What all of them carry."""
        return self.circuit_power * self.count if self.circuit_power else None

    @property
    def power_after_loss(self) -> Power | None:
        """What is left when the fullest path is gone."""
        return self.circuit_power * (self.count - self.circuits_lost) if self.circuit_power else None
