"""Filling racks, and distributing unequal items among them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supercloud.facility import EquipmentRun, RackFit, RackLimits, compute_rack_fit, count_racks, distribute
from supercloud.primitives.quantity import Mass, Power

pytestmark = pytest.mark.slow


def test_the_tightest_limit_decides_the_count_per_rack() -> None:
    def fit_dgx(units: int, power: str | None, load: str | None) -> RackFit | None:
        return compute_rack_fit(
            units=8,
            power=Power("10.2 kW"),
            weight=Mass("130.45 kg"),
            rack_units=units,
            rack_power=Power(power) if power else None,
            rack_max_weight=Mass(load) if load else None,
        )

    assert fit_dgx(48, None, None) == RackFit(6, "units")
    assert fit_dgx(48, "45 kW", None) == RackFit(4, "power")
    assert fit_dgx(48, "45 kW", "400 kg") == RackFit(3, "weight")
    assert fit_dgx(7, None, None) == RackFit(0, "units")
    assert (
        compute_rack_fit(units=None, power=None, weight=None, rack_units=48, rack_power=None, rack_max_weight=None)
        is None
    )


def _build_runs(items: list[tuple[int, int, int]]) -> list[EquipmentRun]:
    return [
        EquipmentRun(index, 0, count, units, Power(watts, "W")) for index, (count, units, watts) in enumerate(items)
    ]


THING = st.tuples(st.integers(1, 40), st.integers(1, 8), st.integers(0, 3000))
RUNS = st.lists(THING, min_size=1, max_size=6).map(_build_runs)


@given(RUNS, st.integers(1, 50))
def test_distribution_keeps_all_items_and_their_order(runs: list[EquipmentRun], racks: int) -> None:
    shared = distribute(runs, racks)
    assert len(shared) == racks
    things = [(run.key, run.first + index) for rack in shared for run in rack for index in range(run.count)]
    assert things == [(run.key, index) for run in runs for index in range(run.count)]
    sizes = [sum(run.count for run in rack) for rack in shared]
    assert max(sizes) - min(sizes) <= 1


@given(
    RUNS, st.integers(8, 60), st.none() | st.integers(1000, 40_000), st.none() | st.integers(1, 30), st.integers(0, 3)
)
def test_racks_stay_within_their_limits(
    runs: list[EquipmentRun], units: int, watts: int | None, things: int | None, more: int
) -> None:
    limits = RackLimits(units, Power(watts, "W") if watts else None, things)
    total = sum(run.count for run in runs)
    count = min(count_racks(runs, limits) + more, total)
    shared = distribute(runs, count, limits)
    assert all(map(limits.can_hold, shared)) and all(shared)
    assert [(run.key, run.first + at) for rack in shared for run in rack for at in range(run.count)] == [
        (run.key, at) for run in runs for at in range(run.count)
    ]
    assert len(shared) <= count and distribute(runs, len(shared), limits) == shared
    assert count >= -(-sum(run.units * run.count for run in runs) // units)


@given(RUNS, st.integers(8, 60), st.integers(3000, 40_000))
def test_the_number_of_racks_is_minimal(runs: list[EquipmentRun], units: int, watts: int) -> None:
    """In their order: what is put into a rack as long as there is room is never put better."""
    limits = RackLimits(units, Power(watts, "W"))
    count = count_racks(runs, limits)
    things = [run for run in runs for _ in range(run.count)]
    best = [0] + [len(things)] * len(things)
    for stop in range(1, len(things) + 1):
        for start in range(stop - 1, -1, -1):
            held = [EquipmentRun(run.key, 0, 1, run.units, run.power) for run in things[start:stop]]
            if not limits.can_hold(held):
                break
            best[stop] = min(best[stop], best[start] + 1)
    assert count == best[-1]
