"""Hourly files that a spec names: weather and carbon. They are the only files that are read while the plan is built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ....facility import WeatherError
from ....primitives.files import FileReadError, read_bytes
from ...model.problems import Problems

__all__ = ["read_hourly_file"]

_T = TypeVar("_T")


def _decode_text(data: bytes) -> str:
    """Decode UTF-8, or Latin-1 as in many EPW files: only names of locations differ, not numbers."""
    if b"\0" in data:
        raise WeatherError("not a text file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_hourly_file(
    name: str | None, folder: Path, path: str, parse: Callable[[str], _T], problems: Problems
) -> _T | None:
    """Parse a file next to the spec; None with a problem if it cannot be read."""
    if name is None:
        return None
    try:
        return parse(_decode_text(read_bytes(folder / name)))
    except (WeatherError, FileReadError) as error:
        reason = str(error)
    problems.add_error(
        "facility-file", path, f"{name!r}: {reason}", "specify an hourly file with a path relative to the spec"
    )
    return None
