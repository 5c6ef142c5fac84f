"""The type of file system of a folder: SQLite's write-ahead log needs one that only this machine writes to."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path

from ...primitives.foreign_text import split_lines

__all__ = ["is_shared", "find_filesystem_type"]

_MOUNTINFO = Path("/proc/self/mountinfo")


def is_shared(path: Path) -> bool:
    """Whether other machines may write to the same file system; False if unknown."""
    kind = find_filesystem_type(path)
    return any(fnmatchcase(kind, pattern) for pattern in _load_shared_types())


def find_filesystem_type(path: Path, mountinfo: Path = _MOUNTINFO) -> str:
    """The system's name of the file system type of a path, such as ``nfs4``; empty if unknown."""
    place = os.path.realpath(path)
    found = ""
    deepest = -1
    for point, kind in _iter_mounts(mountinfo):
        below = place == point or place.startswith(point.rstrip("/") + "/")
        if below and len(point) >= deepest:  # a later mount at the same mount point covers the earlier one
            found, deepest = kind, len(point)
    return found


def _iter_mounts(path: Path) -> Iterator[tuple[str, str]]:
    """Mount points with their types, in the order of mounting."""
    try:
        text = os.fsdecode(path.read_bytes())
    except OSError:
        return
    for line in split_lines(text):
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if dash and len(fields) > 4:
            yield re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4]), after.split(" ")[0]


@cache
def _load_shared_types() -> tuple[str, ...]:
    return tuple(json.loads(files(__package__).joinpath("file-systems.json").read_text())["shared"])
