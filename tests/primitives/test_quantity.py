from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supercloud.errors import QuantityError
from supercloud.primitives import quantity
from supercloud.primitives.quantity import (
    Carbon,
    CarbonIntensity,
    Duration,
    Energy,
    Flow,
    Money,
    Power,
    Price,
    Quantity,
    Rate,
    Size,
    Temperature,
    TemperatureDifference,
)

DIMENSIONS = [getattr(quantity, name) for name in quantity.__all__ if name != "Quantity"]


@pytest.mark.parametrize(
    "kind, text, unit, number",
    [
        (Size, "2 PiB", "TiB", 2048),
        (Size, "80GiB", "MiB", 81920),
        (Size, "1.5 TB", "GB", 1500),
        (Rate, "400 Gb/s", "GB/s", 50),
        (Rate, "250 MB/s", "Gb/s", 2),
        (Rate, "1 GiB/s", "b/s", 8 * 2**30),
        (Power, "120 kW", "W", 120_000),
        (Duration, "7 d", "h", 168),
        (Duration, "1_000 ms", "s", 1),
        (Temperature, "32 °C", "C", 32),
        (Price, "60 USD/h", "USD/d", 1440),
        (Flow, "60 m3/h", "L/s", 60 / 3.6),
        (Size, "1e3 B", "kB", 1),
        (Size, ".5 KiB", "B", 512),
    ],
)
def test_values_are_converted_between_units(kind: type[Quantity], text: str, unit: str, number: float) -> None:
    assert kind(text).to(unit) == pytest.approx(number)


@pytest.mark.parametrize(
    "text", ["", "PiB", "2", "2 PB/s", "two PiB", "2 PiB PiB", "nan B", "1e999999 B", "--1 B", "9" * 80 + " B"]
)
def test_invalid_sizes_are_rejected(text: str) -> None:
    with pytest.raises(QuantityError):
        Size(text)


@pytest.mark.parametrize("text", ["1e999 W", "-1e999 W", "1e61 W"])
def test_values_beyond_a_float_are_too_large(text: str) -> None:
    with pytest.raises(QuantityError, match="too large for a power"):
        Power(text)


def test_values_below_a_fraction_are_too_small() -> None:
    with pytest.raises(QuantityError, match="too small for a duration"):
        Duration("1e-999 s")
    assert not Duration("0 s")


def test_products_and_quotients_have_their_dimensions() -> None:
    assert Power("2 kW") * Duration("3 h") == Energy("6 kWh")
    assert Duration("3 h") * Power("2 kW") == Energy("6 kWh")
    assert Energy("6 kWh") / Power("2 kW") == Duration("3 h")
    assert Price("60 USD/h") * Duration("1 d") == Money("1440 USD")
    assert Rate("8 Gb/s") * Duration("1 s") == Size("1 GB")
    assert Size("1 GB") / Duration("1 s") == Rate("8 Gb/s")
    assert CarbonIntensity("100 gCO2e/kWh") * Energy("1 MWh") == Carbon("100 kgCO2e")
    assert Power("3 kW") / Power("2 kW") == 1.5
    assert Temperature("32 °C") - Temperature("22 °C") == TemperatureDifference("10 K")
    assert sum([Power("1 kW"), Power("2 kW")]) == Power("3 kW")


def test_dimensions_do_not_mix() -> None:
    assert Power("1 W") != Energy("1 J")
    with pytest.raises(TypeError):
        Power("1 W") + Energy("1 J")  # type: ignore[operator]
    with pytest.raises(TypeError):
        assert Power("1 W") < Energy("1 J")  # type: ignore[operator]
    with pytest.raises(ZeroDivisionError):
        Power("1 W") / Power("0 W")


def test_inexact_conversions_are_errors() -> None:
    assert Size("3 GiB").to_whole("MiB") == 3072
    with pytest.raises(QuantityError, match="whole number"):
        Size("1 GB").to_whole("MiB")
    assert (Size("1 GB").floor("MiB"), Size("1 GB").ceil("MiB")) == (953, 954)
    with pytest.raises(AttributeError):
        Size("1 GB").base = 3  # type: ignore[misc, assignment]


@pytest.mark.slow
@given(st.sampled_from(DIMENSIONS), st.integers(-(10**12), 10**12), st.data())
def test_text_can_be_parsed_again(kind: type[Quantity], number: int, data: st.DataObject) -> None:
    unit = data.draw(st.sampled_from(sorted(kind.units)))
    value = kind(number, unit)
    assert kind(f"{number} {unit}") == value
    assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)
    assert hash(kind(f"{number} {unit}")) == hash(value)
    again = kind(str(value))  # what is shown reads as the same, to the six digits that are shown
    assert float(again.base) == pytest.approx(float(value.base), rel=1e-5, abs=1e-12)


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_arithmetic_follows_the_laws_of_algebra(a: int, b: int, c: int) -> None:
    x, y, z = (Power(number, "W") for number in (a, b, c))
    assert (x + y) + z == x + (y + z)
    assert x + y - y == x
    assert (x + y) * 2 == x * 2 + y * 2
    assert (x < y) == (a < b) and (x >= y) == (a >= b)
    assert bool(x) == bool(a)


@pytest.mark.parametrize("text", ["2 PiB", "80 GiB", "100 GB", "1 TB", "1.5 TB", "512 B", "81920 MiB"])
def test_sizes_have_their_usual_units(text: str) -> None:
    assert str(Size(text)) == text.replace("81920 MiB", "80 GiB")


@pytest.mark.slow
@given(st.fractions(min_value=8, max_value=10**17))
def test_a_minimum_rate_is_rounded_up(number: Fraction) -> None:
    rate = Rate.from_base(number)
    assert rate <= Rate(rate.minimum_bytes_text) <= rate * Fraction(100_001, 100_000)


@pytest.mark.parametrize(
    "text, hint", [("1e308 y", "a year is 365 d"), ("3 years", "a year is 365 d"), ("2 months", "a month is 30 d")]
)
def test_an_unknown_unit_of_time_has_its_length_in_known_ones(text: str, hint: str) -> None:
    unit = text.split()[1]
    with pytest.raises(QuantityError, match=f"unknown unit '{unit}' of duration; {hint}; units are ms, s,"):
        Duration(text)
    assert Duration(hint.split(" is ")[1]).to("d") > 29
