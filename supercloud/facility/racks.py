"""How many equal things a rack holds, what ends the filling, and unequal things shared out over racks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from ..primitives.quantity import Mass, Power

__all__ = ["Fit", "Run", "fit", "racks_for", "share_out"]


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
    return max(0, int(whole // part))


@dataclass(frozen=True, slots=True)
class Run:
    """Equal things of one kind, in order."""

    key: object
    """Whatever the caller knows them by."""
    first: int
    count: int
    units: int
    """Of each."""
    power: Power
    """Of each; 0 where it is not known."""


def racks_for(runs: Sequence[Run], units: int, power: Power | None, things: int | None = None) -> int:
    """The fewest racks that hold things of different size by units, power, and number of things.

    Sums alone would let a thing be cut in two, so the number is looked for between what they give and what is enough
    even where all were as tall as the tallest. No rack is left empty: a thing beyond the power of a rack has one.
    """
    total = sum(run.count for run in runs)
    tallest = max((run.units for run in runs if run.count), default=0)
    if not total or tallest > units:
        return total
    draw = sum((run.power.base * run.count for run in runs), Fraction(0))
    least = max(
        -(-sum(run.units * run.count for run in runs) // units),
        ceil(draw / power.base) if power and power.base > 0 else 1,
        -(-total // things) if things else 1,
    )
    low, high = min(least, total), min(total, max(least, -(-total // max(1, units // max(tallest, 1)))))
    while low < high:
        middle = (low + high) // 2
        if all(sum(run.units * run.count for run in rack) <= units for rack in share_out(runs, middle)):
            high = middle
        else:
            low = middle + 1
    return high


def share_out(runs: Sequence[Run], racks: int) -> list[list[Run]]:
    """The same things in the same order over so many racks, as evenly by number as can be."""
    total = sum(run.count for run in runs)
    result: list[list[Run]] = []
    queue = list(runs)
    at = offset = 0
    for rack in range(racks):
        want = total * (rack + 1) // racks - total * rack // racks
        content: list[Run] = []
        while want and at < len(queue):
            run = queue[at]
            take = min(want, run.count - offset)
            content.append(Run(run.key, run.first + offset, take, run.units, run.power))
            want -= take
            offset += take
            if offset == run.count:
                at, offset = at + 1, 0
        result.append(content)
    return result
