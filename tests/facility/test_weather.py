"""Weather files, wet bulbs and free hours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supercloud.facility import (
    WeatherError,
    compute_hourly_averages,
    compute_wet_bulb,
    count_free_hours,
    parse_column,
    parse_weather,
)

EPW_HEAD = "LOCATION,Stockholm,-,SWE,IWEC,024640,59.65,17.95,1.0,61.0\n" + "X\n" * 7


def format_epw(*hours: tuple[float, float]) -> str:
    rows = [f"2001,1,1,{index + 1},0,?,{dry},-5,{humidity},101325,0,0" for index, (dry, humidity) in enumerate(hours)]
    return EPW_HEAD + "\n".join(rows) + "\n"


def test_wet_bulb_matches_the_example_of_stull() -> None:
    assert compute_wet_bulb(20, 50) == pytest.approx(13.7, abs=0.05)


@pytest.mark.parametrize("dry, humidity, wet", [(30, 50, 22.3), (25, 80, 22.4), (35, 20, 19.2), (10, 90, 9.1)])
def test_wet_bulb_is_close_to_the_psychrometric_chart(dry: float, humidity: float, wet: float) -> None:
    assert compute_wet_bulb(dry, humidity) == pytest.approx(wet, abs=1)


def test_csv_files_are_read() -> None:
    weather = parse_weather("time,dry_bulb,relative_humidity\n2026-01-01T00,20,50\n2026-01-01T01,-5,80\n")
    assert list(weather.dry_bulb) == [20, -5] and weather.hours == 2
    assert (
        weather.wet_bulb is not None
        and weather.wet_bulb[0] == pytest.approx(13.7, abs=0.05)
        and weather.wet_bulb[1] <= -5
    )
    assert parse_weather("dry_bulb\n1\n").wet_bulb is None
    assert list(parse_weather("dry_bulb,wet_bulb\n10,7\n").wet_bulb or ()) == [7]


@pytest.mark.parametrize(
    "text",
    [
        "Latitude: 59.3\n\ntime(UTC),T2m,RH,G(h)\n20200101:0000,20,50,0\n\nT2m: 2-m air temperature\n",  # PVGIS
        '690150,"TWENTYNINE PALMS",CA\nDate (MM/DD/YYYY),Dry-bulb (C),RHum (%)\n01/01/1988,20,50\n',  # TMY3
        "latitude,longitude\n52.5,13.4\n\ntime,temperature_2m (°C),relative_humidity_2m (%)\n2026-01-01T00:00,20,50\n",
        "date;temp;rhum\n2026-01-01;20;50\n",  # with semicolons
    ],
)
def test_files_of_weather_services_are_read(text: str) -> None:
    weather = parse_weather(text)
    assert (
        list(weather.dry_bulb) == [20]
        and weather.wet_bulb is not None
        and weather.wet_bulb[0] == pytest.approx(13.7, abs=0.05)
    )


def test_epw_files_are_read() -> None:
    weather = parse_weather(format_epw((20.0, 50), (35.0, 20)))
    assert (
        list(weather.dry_bulb) == [20, 35]
        and weather.wet_bulb is not None
        and weather.wet_bulb[1] == pytest.approx(19.2, abs=1)
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "dry_bulb"),
        ("time,heat\n0,1\n", "dry_bulb"),
        ("dry_bulb,rh\n20,50\n20,-3\n", "line 3: -3 % is not a valid relative humidity"),
        ("dry_bulb,wet_bulb\n20,25\n", "line 2: wet bulb 25 °C is higher than dry bulb 20 °C"),
        ("dry_bulb\n", "no hourly values"),
        ("dry_bulb\n1\nx\n", "line 3"),
        ("dry_bulb\n1\n200\n", "line 3: 200 °C"),
        ("dry_bulb\nnan\n", "line 2"),
        (EPW_HEAD, "no hourly values"),
        (EPW_HEAD + "2001,1\n", "line 9"),
        (format_epw((99.9, 50)), "missing"),
    ],
)
def test_invalid_weather_is_rejected(text: str, message: str) -> None:
    with pytest.raises(WeatherError, match=message):
        parse_weather(text)


def test_free_cooling_hours_match_a_manual_count() -> None:
    assert count_free_hours([10, 20, 24, 25, 30], 24) == 3


@pytest.mark.slow
@given(st.lists(st.floats(-50, 50), min_size=1), st.floats(-60, 60), st.floats(0, 20))
def test_warmer_supply_never_reduces_free_cooling_hours(hours: list[float], limit: float, more: float) -> None:
    assert 0 <= count_free_hours(hours, limit) <= count_free_hours(hours, limit + more) <= len(hours)


@pytest.mark.parametrize("text", ["LOCATION,x" + "\n" * 8 + "{}\n", "dry_bulb\n{}\n", "{},dry_bulb\n1,1\n"])
def test_a_cell_of_200_000_characters_is_an_error(text: str) -> None:
    with pytest.raises(WeatherError, match="the text is not CSV: field larger than field limit"):
        parse_weather(text.format("9" * 200_000))


def test_carbon_follows_hourly_intensity() -> None:
    values = parse_column("hour,carbon\n" + "".join(f"{hour},{100 + hour % 24}\n" for hour in range(48)), "carbon")
    assert compute_hourly_averages(values) == tuple(range(100, 124))
    with pytest.raises(WeatherError, match="not a number of 0 or more"):
        parse_column("carbon\n-1\n", "carbon")
    with pytest.raises(WeatherError, match="'carbon'"):
        parse_column("x\n1\n", "carbon")
