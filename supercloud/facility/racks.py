"""The number of equal items per rack and what limits it, and the division of unequal items among racks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, Generic, TypeVar

from ..primitives.quantity import Mass, Power

__all__ = ["RackFit", "RackLimits", "EquipmentRun", "compute_rack_fit", "count_racks", "distribute"]

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class RackFit:
    """Number of items per rack; 0 if not even one fits."""

    count: int
    limited_by: str
    """units, power or weight: the limit that is reached first."""


def compute_rack_fit(
    *,
    units: int | None,
    power: Power | None,
    weight: Mass | None,
    rack_units: int | None,
    rack_power: Power | None,
    rack_max_weight: Mass | None,
) -> RackFit | None:
    """Compute the number of equal items that fit a rack by units, power and weight; an unknown limit is ignored.

    Units are whole numbers, power and weight are compared exactly. None if no limit is known.
    """
    limits: list[tuple[int, str]] = []
    if units and rack_units:
        limits.append((rack_units // units, "units"))
    if power and rack_power:
        limits.append((_count_multiples(rack_power.base, power.base), "power"))
    if weight and rack_max_weight:
        limits.append((_count_multiples(rack_max_weight.base, weight.base), "weight"))
    return RackFit(*min(limits)) if limits else None


def _count_multiples(total: Fraction, unit: Fraction) -> int:
    return max(0, int(total // unit))


@dataclass(frozen=True, slots=True)
class EquipmentRun(Generic[Key]):
    """Equal items of one kind, in order."""

    key: Key
    """Identifier chosen by the caller."""
    first: int
    count: int
    units: int
    """Rack units of each item."""
    power: Power
    """Power of each item; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class RackLimits:
    """Limits of one rack; None for no limit."""

    units: int
    power: Power | None = None
    max_count: int | None = None

    def can_hold(self, content: Sequence[EquipmentRun[Any]]) -> bool:
        """Whether a rack with these items is within all limits; a single item may exceed the power limit."""
        count = sum(run.count for run in content)
        if sum(run.units * run.count for run in content) > self.units or (self.max_count and count > self.max_count):
            return False
        return not self.power or count == 1 or sum(run.power.base * run.count for run in content) <= self.power.base

    def scale(self, factor: Fraction) -> RackLimits:
        """Return a fraction of every limit."""
        return RackLimits(
            int(self.units * factor),
            Power.from_base(self.power.base * factor) if self.power else None,
            max(1, int(self.max_count * factor)) if self.max_count else None,
        )


def count_racks(runs: Sequence[EquipmentRun[Any]], limits: RackLimits) -> int:
    """Compute the minimum number of racks for items of different sizes in their order, by units, power and number.

    No rack is empty, and an item that exceeds the power of a rack has a rack alone.
    """
    if max((run.units for run in runs if run.count), default=0) > limits.units:
        return sum(run.count for run in runs)
    return _count_filled_racks(runs, limits)


def distribute(
    runs: Sequence[EquipmentRun[Key]], racks: int, limits: RackLimits | None = None
) -> list[list[EquipmentRun[Key]]]:
    """Divide the items in their order among a number of racks: evenly by number if that is within the limits, else so
    that the utilization of the fullest rack is minimal.
    """
    even = _distribute_evenly(runs, racks)
    if limits is None or all(map(limits.can_hold, even)):
        return even
    low, high = 1, _SEARCH_STEPS
    while low < high:
        middle = (low + high) // 2
        if _count_filled_racks(runs, limits.scale(Fraction(middle, _SEARCH_STEPS))) <= racks:
            high = middle
        else:
            low = middle + 1
    packed = _fill_racks(runs, limits.scale(Fraction(low, _SEARCH_STEPS)))
    return packed if len(packed) == racks else even if len(packed) > racks else distribute(runs, len(packed), limits)


# Resolution of the search for the most even division.
_SEARCH_STEPS = 256


def _count_filled_racks(runs: Sequence[EquipmentRun[Key]], limits: RackLimits) -> int:
    """Number of racks that :func:`_fill_racks` fills."""
    return sum(times for _, times in _pack_racks(runs, limits))


def _fill_racks(runs: Sequence[EquipmentRun[Key]], limits: RackLimits) -> list[list[EquipmentRun[Key]]]:
    """Fill one rack after the other as far as the limits allow; a rack has at least one item."""
    result: list[list[EquipmentRun[Key]]] = []
    for content, times in _pack_racks(runs, limits):
        if times == 1:
            result.append(content)
            continue
        run = content[0]
        firsts = range(run.first, run.first + times * run.count, run.count)
        result += ([EquipmentRun(run.key, first, run.count, run.units, run.power)] for first in firsts)
    return result


def _pack_racks(runs: Sequence[EquipmentRun[Key]], limits: RackLimits) -> list[tuple[list[EquipmentRun[Key]], int]]:
    """Merge racks: neighbors with the same number of items of one run, and nothing else, are one entry with a count.
    There may be tens of thousands of racks.
    """
    scale = lcm(*(run.power.base.denominator for run in runs))  # whole numbers are faster than fractions
    most = int(limits.power.base * scale) if limits.power else None
    result: list[tuple[list[EquipmentRun[Key]], int]] = []
    units = power = things = 0
    for run in runs:
        at, each = 0, int(run.power.base * scale)
        while at < run.count:
            free = limits.max_count - things if limits.max_count else None
            room = _count_fitting(
                run.count - at, run.units, each, limits.units - units, None if most is None else most - power, free
            )
            if not result or (room < 1 and things):
                result.append(([], 1))
                units = power = things = 0
                continue
            take = max(room, 1)
            if not things and (times := (run.count - at) // take) > 1:
                # the last rack remains open for the following items
                result[-1:] = [
                    ([EquipmentRun(run.key, run.first + at, take, run.units, run.power)], times - 1),
                    ([], 1),
                ]
                at += take * (times - 1)
            result[-1][0].append(EquipmentRun(run.key, run.first + at, take, run.units, run.power))
            at, things = at + take, things + take
            units, power = units + run.units * take, power + each * take
    return result


def _count_fitting(
    count: int, units: int, power: int, free_units: int, free_power: int | None, free_places: int | None
) -> int:
    """How many of equal items fit the rest of a rack; None for no limit."""
    if units:
        count = min(count, free_units // units)
    if free_power is not None and power > 0:
        count = min(count, free_power // power)
    elif free_power is not None and free_power < 0:
        count = 0  # an item over the limit has a rack alone
    return count if free_places is None else min(count, free_places)


def _distribute_evenly(runs: Sequence[EquipmentRun[Key]], racks: int) -> list[list[EquipmentRun[Key]]]:
    total = sum(run.count for run in runs)
    result: list[list[EquipmentRun[Key]]] = []
    queue = list(runs)
    at = offset = 0
    for rack in range(racks):
        want = total * (rack + 1) // racks - total * rack // racks
        content: list[EquipmentRun[Key]] = []
        while want and at < len(queue):
            run = queue[at]
            take = min(want, run.count - offset)
            content.append(EquipmentRun(run.key, run.first + offset, take, run.units, run.power))
            want -= take
            offset += take
            if offset == run.count:
                at, offset = at + 1, 0
        result.append(content)
    return result
