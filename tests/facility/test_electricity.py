"""Circuits, feeds and losses against manual calculations, with units."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supercloud.facility import (
    SCHEMES,
    Circuits,
    Feeds,
    compute_breaker_rating,
    compute_circuit_power,
    compute_losses,
    count_paths,
    count_remaining_supplies,
    interpolate_efficiency,
)
from supercloud.primitives.quantity import Current, Power, Voltage


@pytest.mark.parametrize(
    "voltage, current, kw",
    [
        # √3 · 380 V · 32 A · 0.8 = 1.7320508 · 9728 W
        ("380 V", "32 A", 16.849),
        ("415 V", "60 A", 34.503),
        ("400 V", "63 A", 34.918),
        ("208 V", "30 A", 8.646),
    ],
)
def test_circuit_power_follows_voltage_and_current(voltage: str, current: str, kw: float) -> None:
    power = compute_circuit_power(Voltage(voltage), Current(current))
    assert power.to("kW") == pytest.approx(kw, abs=0.001)
    assert compute_breaker_rating(power, Voltage(voltage)).to("A") == pytest.approx(Current(current).to("A"))


def test_power_factor_and_continuous_load_limit_a_circuit() -> None:
    whole = compute_circuit_power(Voltage("400 V"), Current("100 A"), continuous_factor=1.0)
    assert whole.to("kW") == pytest.approx(69.282, abs=0.001)
    assert compute_circuit_power(Voltage("400 V"), Current("100 A"), 0.95, 0.8).to("kW") == pytest.approx(
        69.282 * 0.76, abs=0.001
    )
    assert compute_circuit_power(Voltage("230 V"), Current("16 A"), phases=1).to("W") == pytest.approx(230 * 16 * 0.8)


def test_circuits_of_dgx_b200_racks_match_the_publication() -> None:
    """Two per rack of two at 380 V and 32 A; two per rack of four at 415 V and 60 A: each half of the peak."""
    two = compute_circuit_power(Voltage("380 V"), Current("32 A"))
    four = compute_circuit_power(Voltage("415 V"), Current("60 A"))
    assert two * 2 >= Power("28.6 kW") and two < Power("28.6 kW")
    assert four * 2 >= Power("57.2 kW") and four < Power("57.2 kW")
    assert two >= Power("14.3 kW") and four >= Power("28.6 kW")


def test_redundant_paths_share_the_load() -> None:
    assert [count_paths(*pair) for pair in (("2N", 4), ("3N/2", 6), ("N+1", 5), ("2N", 2), ("N", 1))] == [2, 3, 5, 2, 1]
    assert Circuits(4, 4, Power("10 kW"), count_paths("2N", 4)).power_after_loss == Power("20 kW")
    assert Circuits(4, 4, Power("10 kW")).power_after_loss == Power("30 kW")
    curve = ((0.25, 0.94), (0.5, 0.96), (1.0, 0.95))
    loads = (0.0, 0.25, 0.4, 0.75, 1.2)
    assert [interpolate_efficiency(curve, load) for load in loads] == pytest.approx([0.94, 0.94, 0.952, 0.955, 0.95])
    assert interpolate_efficiency((), 0.5) is None


def test_power_supplies_remain_after_the_loss_of_a_feed() -> None:
    assert count_remaining_supplies(6, 2) == 3  # of a 4+2 supply: not 2N
    assert count_remaining_supplies(6, 3) == 4  # one of three units gone: what three rack units are for
    assert count_remaining_supplies(12, 2) == 6  # N+N
    assert (
        count_remaining_supplies(8, 2) == 4
        and count_remaining_supplies(5, 2) == 2
        and count_remaining_supplies(6, 1) == 0
    )


@pytest.mark.parametrize(
    "scheme, count, share, after",
    [
        ("N", 2, 500, None),
        ("N+1", 4, 250, Fraction(1000, 3)),
        ("2N", 2, 500, 1000),
        ("2N", 4, 250, 500),
        ("3N/2", 3, Fraction(1000, 3), 500),
        ("3N/2", 6, Fraction(500, 3), 250),
    ],
)
def test_each_redundancy_scheme_divides_the_load_before_and_after_a_loss(
    scheme: str, count: int, share: Fraction, after: Fraction | None
) -> None:
    feeds = Feeds(count, scheme, Power("1000 kW"), None)
    assert feeds.feed_load == Power(share, "kW")
    assert feeds.load_after_loss == (None if after is None else Power(after, "kW"))


def test_an_overload_after_the_loss_of_a_feed_is_computed() -> None:
    feeds = Feeds(2, "2N", Power("1000 kW"), Power("900 kW"))
    assert feeds.overload == Power("100 kW")
    assert Feeds(2, "N", Power("1000 kW"), Power("900 kW")).overload is None
    assert Feeds(2, "2N", Power("900 kW"), Power("900 kW")).overload is None
    assert Feeds(2, "2N", Power("900 kW"), None).overload is None


def test_circuits_of_a_rack_have_a_power_after_a_loss() -> None:
    circuits = Circuits(3, 2, Power("10 kW"))
    assert (
        circuits.circuits_lost == 2
        and circuits.total_power == Power("30 kW")
        and circuits.power_after_loss == Power("10 kW")
    )
    assert Circuits(3, 3, Power("10 kW")).power_after_loss == Power("20 kW")
    assert Circuits(2, 1, Power("10 kW")).power_after_loss == Power("0 W")


def test_ups_losses_follow_efficiency() -> None:
    # 1000 kW at 95 %: 1052.63 kW in
    assert compute_losses(Power("1000 kW"), 0.95).to("kW") == pytest.approx(52.632, abs=0.001)
    assert not compute_losses(Power("1000 kW"), 1.0)


powers = st.integers(1, 10**9).map(Power.from_base)


@pytest.mark.slow
@given(powers, st.floats(0.5, 1), st.floats(0.5, 1))
def test_input_power_is_used_power_plus_losses(used: Power, ups: float, distribution: float) -> None:
    below = compute_losses(used, distribution)
    above = compute_losses(used + below, ups)
    meter = used + below + above
    assert meter.base * Fraction(repr(ups)) * Fraction(repr(distribution)) == used.base


@pytest.mark.slow
@given(powers, st.sampled_from(sorted(SCHEMES)), st.integers(1, 12))
def test_feeds_conserve_the_load(load: Power, scheme: str, count: int) -> None:
    feeds = Feeds(count, scheme, load, None)
    assert feeds.feed_load * count == load
    after = feeds.load_after_loss
    assert after is None or (after > feeds.feed_load and (load.base / after.base).denominator == 1)
