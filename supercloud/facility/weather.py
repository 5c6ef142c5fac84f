"""Hourly weather data: read from CSV or EPW, and the number of hours with free cooling.

CSV: a header with ``dry_bulb`` (°C) and, for a cooling tower, ``wet_bulb`` (°C) or ``relative_humidity`` (%); one line
per hour. Descriptive lines may precede the header and, after an empty line, follow the hours; the column names of
weather services are also recognized (``_COLUMN_NAMES``). EPW: the hourly file of EnergyPlus, eight header lines, dry
bulb in column 7, relative humidity in column 9
(https://designbuilder.co.uk/cahelp/Content/EnergyPlusWeatherFileFormat.htm).
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Weather", "WeatherError", "parse_column", "count_free_hours", "parse_weather", "compute_wet_bulb"]

_EPW_HEADER, _EPW_DRY, _EPW_HUMIDITY = 8, 6, 8
_EPW_MISSING = {_EPW_DRY: 99.9, _EPW_HUMIDITY: 999.0}
_COLDEST, _HOTTEST = -90.0, 70.0
_MAX_HUMIDITY = 110.0  # instruments report slightly more than 100 %; EPW allows 110
_MAX_PREAMBLE_LINES = 40
"""Maximum number of lines before a header."""

# Column -> its names, without units, with signs as underscores: those of supercloud, and of the hourly files of
# PVGIS (T2m, RH), TMY3 (Dry-bulb (C), RHum (%)), Open-Meteo (temperature_2m (°C)), Meteostat (temp, rhum).
_COLUMN_NAMES = {
    "dry": ("dry_bulb", "dry_bulb_temperature", "t2m", "temperature_2m", "temp", "temp_air", "temperature"),
    "wet": ("wet_bulb", "wet_bulb_temperature", "wet_bulb_temperature_2m"),
    "moist": ("relative_humidity", "relative_humidity_2m", "rh", "rhum", "humidity"),
}


class WeatherError(ValueError):
    """A weather file cannot be read; the text states the line and the problem."""


@dataclass(frozen=True, slots=True)
class Weather:
    """Outdoor temperatures hour by hour, in °C."""

    dry_bulb: Sequence[float]
    wet_bulb: Sequence[float] | None
    """None if the file has neither wet bulb nor humidity."""

    @property
    def hours(self) -> int:
        """Number of hours in the file; 8760 for a year."""
        return len(self.dry_bulb)


def compute_wet_bulb(dry_bulb: float, humidity: float) -> float:
    """Wet-bulb temperature in °C from dry bulb in °C and relative humidity in %, at sea level.

    R. Stull, Wet-Bulb Temperature from Relative Humidity and Air Temperature, J. Appl. Meteorol. Climatol. 50 (2011),
    equation 1; within 1 K between 5 % and 99 % and between −20 and 50 °C. Stull's example: 20 °C at 50 % is 13.7 °C.
    """
    result: float = (
        dry_bulb * math.atan(0.151977 * math.sqrt(humidity + 8.313659))
        + math.atan(dry_bulb + humidity)
        - math.atan(humidity - 1.676331)
        + 0.00391838 * humidity**1.5 * math.atan(0.023101 * humidity)
        - 4.686035
    )
    return result


def parse_weather(text: str) -> Weather:
    """Parse the text of a CSV or EPW file."""
    return _parse_epw(text) if text.startswith("LOCATION,") else _parse_csv(text)


def _parse_epw(text: str) -> Weather:
    dry, wet = array("d"), array("d")
    for number, row in enumerate(_read_csv(text.splitlines()[_EPW_HEADER:]), _EPW_HEADER + 1):
        if not row:
            continue
        try:
            air, humidity = float(row[_EPW_DRY]), float(row[_EPW_HUMIDITY])
        except (IndexError, ValueError):
            raise WeatherError(f"line {number} has no dry bulb (column 7) or relative humidity (column 9)") from None
        if air == _EPW_MISSING[_EPW_DRY] or humidity == _EPW_MISSING[_EPW_HUMIDITY]:
            raise WeatherError(f"line {number} is marked as missing")
        _require_plausible(air, number)
        _require_possible(humidity, number)
        dry.append(air)
        wet.append(min(air, compute_wet_bulb(air, humidity)))
    if not dry:
        raise WeatherError("no hourly values")
    return Weather(dry, wet)


def _parse_csv(text: str) -> Weather:
    rows = text.splitlines()
    start, head = _find_header(rows)
    end = next((at for at in range(start + 2, len(rows)) if not rows[at].strip()), len(rows))
    dry_at, wet_at, humid_at = (_find_column(head, kind) for kind in ("dry", "wet", "moist"))
    if dry_at is None:
        raise WeatherError("no column 'dry_bulb' in the first line; an EPW file starts with 'LOCATION,'")
    second_at = humid_at if wet_at is None else wet_at
    dry, wet = array("d"), array("d")
    for number, row in _iter_rows(_read_csv(rows[start + 1 : end], _detect_delimiter(rows[start])), start + 2):
        try:
            air = float(row[dry_at])
            second = float(row[second_at]) if second_at is not None else None
        except (IndexError, ValueError):
            raise WeatherError(f"line {number} is not a row of numbers: {','.join(row)[:60]!r}") from None
        _require_plausible(air, number)
        if second is not None and wet_at is not None:
            if second > air + 0.5:  # tolerance for rounding
                raise WeatherError(f"line {number}: wet bulb {second:g} °C is higher than dry bulb {air:g} °C")
            wet.append(second)
        elif second is not None:
            _require_possible(second, number)
            wet.append(min(air, compute_wet_bulb(air, second)))
        dry.append(air)
    if not dry:
        raise WeatherError("no hourly values")
    return Weather(dry, wet if wet else None)


def _detect_delimiter(line: str) -> str:
    return ";" if line.count(";") > line.count(",") else ","


def _find_header(rows: Sequence[str]) -> tuple[int, list[str]]:
    """Find the header and the columns of interest: the first candidate line with a dry bulb."""
    for number, line in enumerate(rows[:_MAX_PREAMBLE_LINES]):
        head = [_strip_unit(name) for name in next(_read_csv([line], _detect_delimiter(line)), [])]
        if _find_column(head, "dry") is not None:
            return number, head
    return 0, []


def _strip_unit(name: str) -> str:
    """Normalize a column's name and drop its unit: ``Dry-bulb (C)`` is ``dry_bulb``."""
    bare = re.sub(r"[(\[].*", "", name.strip().lower())
    return re.sub(r"[^a-z0-9]+", "_", bare).strip("_")


def _find_column(head: Sequence[str], kind: str) -> int | None:
    return next((head.index(name) for name in _COLUMN_NAMES[kind] if name in head), None)


def parse_column(text: str, *names: str) -> Sequence[float]:
    """Parse one column of numbers of a CSV file with a header, under the first of ``names`` that exists.

    Raises :class:`WeatherError` if there is no such column, or if a value in it is not a number.
    """
    lines = _read_csv(text.splitlines())
    head = [name.strip().lower() for name in next(lines, [])]
    at = next((head.index(name) for name in names if name in head), None)
    if at is None:
        raise WeatherError(f"no column {' or '.join(map(repr, names))} in the first line")
    values = array("d")
    for number, row in _iter_rows(lines):
        try:
            value = float(row[at])
        except (IndexError, ValueError):
            raise WeatherError(f"line {number} is not a row of numbers: {','.join(row)[:60]!r}") from None
        if not math.isfinite(value) or value < 0:
            raise WeatherError(f"line {number}: {value:g} is not a number of 0 or more")
        values.append(value)
    if not values:
        raise WeatherError("no hourly values")
    return values


def _read_csv(lines: Sequence[str], delimiter: str = ",") -> Iterator[list[str]]:
    try:
        yield from csv.reader(lines, delimiter=delimiter)
    except csv.Error as error:
        raise WeatherError(f"the text is not CSV: {error}") from None


def _iter_rows(lines: Iterator[list[str]], first: int = 2) -> Iterator[tuple[int, list[str]]]:
    return ((number, row) for number, row in enumerate(lines, first) if row and not row[0].startswith("#"))


def _require_plausible(dry_bulb: float, number: int) -> None:
    if not _COLDEST <= dry_bulb <= _HOTTEST:
        raise WeatherError(f"line {number}: {dry_bulb:g} °C is not a plausible outdoor temperature")


def _require_possible(humidity: float, number: int) -> None:
    if not 0 <= humidity <= _MAX_HUMIDITY:
        raise WeatherError(f"line {number}: {humidity:g} % is not a valid relative humidity")


def count_free_hours(temperatures: Sequence[float], max_temperature: float) -> int:
    """Hours at or below ``max_temperature`` °C, in which outdoor air alone cools to the supply temperature (see
    ``loop.compute_outdoor_limit``).
    """
    return sum(1 for value in temperatures if value <= max_temperature)
