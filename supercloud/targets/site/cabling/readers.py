"""What a running network says of itself: ibnetdiscover's text, or the neighbours that LLDP heard.

LLDP says only what one device hears, so an output is a file named after the device (``train-0001.json``) or a folder
of such files; a file may also hold several, as ``{"device": {...}}``. A new form is a function here and a line in
``_FORMS``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ....errors import InputError
from ....primitives import ibnetdiscover

__all__ = ["Seen", "read_output"]

_ANY = "?"

SeenEnd = tuple[str, str]


@dataclass
class Seen:
    """Links that are there: ends are a device and a port, ``?`` for a port nobody named."""

    network: str
    links: dict[tuple[SeenEnd, SeenEnd], str] = field(default_factory=dict)
    """Both ends -> where it was read."""
    devices: dict[str, str] = field(default_factory=dict)
    """Every device named -> where first."""
    reporting: set[str] = field(default_factory=set)
    """Devices that say all they see."""


def read_output(path: Path) -> Seen:
    """Read a file or a folder. Raises InputError with file and line."""
    if path.is_dir():
        files = sorted(item for item in path.iterdir() if item.is_file() and not item.name.startswith("."))
        if not files:
            raise InputError(f"{path}: no file in it")
    else:
        files = [path]
    seen: Seen | None = None
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            line = file.read_bytes()[: error.start].count(b"\n") + 1
            raise InputError(f"{file}:{line}: is no text (byte {error.start})") from None
        seen = _read(text, file, seen)
    assert seen is not None
    return seen


def _read(text: str, file: Path, seen: Seen | None) -> Seen:
    if not text.strip():
        raise InputError(f"{file}:1: is empty")
    if ibnetdiscover.looks_like(text):
        found = seen or Seen("infiniband")
        _infiniband(text, file, found)
        return found
    found = seen or Seen("ethernet")
    if found.network != "ethernet":
        raise InputError(f"{file}:1: is not what ibnetdiscover prints, as the other files are")
    if text.lstrip()[0] in "{[":
        for device, data in _several(_json(text, file), file.stem):
            _neighbours(device, data, file, found)
    elif re.match(r"\s*lldp\.", text):
        _keyvalue(text, file, found)
    else:
        line = next(number for number, item in enumerate(text.splitlines(), 1) if item.strip())
        raise InputError(
            f"{file}:{line}: neither ibnetdiscover nor lldpctl -f json or keyvalue, nor an LLDP table in JSON"
        )
    return found


def _infiniband(text: str, file: Path, seen: Seen) -> None:
    data = ibnetdiscover.read(text, str(file))
    for name, line in data.lines.items():
        seen.devices.setdefault(name, f"{file}:{line}")
        seen.reporting.add(name)
    for (one, port), (other, other_port), line in data.links:
        seen.links[(one, str(port)), (other, str(other_port))] = f"{file}:{line}"


def _json(text: str, file: Path) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{file}:{error.lineno}: {error.msg}; the text was cut off or damaged") from None


def _several(data: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The output itself, or outputs by device."""
    if isinstance(data, dict) and not any(key in data for key in _FORMS):
        for device, inner in data.items():
            if isinstance(inner, dict) and any(key in inner for key in _FORMS):
                yield str(device), inner
    else:
        yield name, data


def _neighbours(device: str, data: Any, file: Path, seen: Seen) -> None:
    key = next((key for key in _FORMS if isinstance(data, dict) and key in data), None)
    if key is None:
        raise InputError(f"{file}:1: no LLDP neighbours in it (lldp, lldpNeighbors)")
    try:
        _note(device, _FORMS[key](data[key]), file, seen)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration):
        raise InputError(f"{file}:1: the LLDP neighbours of {device} are not in a form that is known") from None


def _note(device: str, neighbours: Iterator[tuple[str, str, str]], file: Path, seen: Seen) -> None:
    name = device.partition(".")[0]
    seen.devices.setdefault(name, str(file))
    seen.reporting.add(name)
    for port, other, other_port in neighbours:
        one, two = (name, port), (other.partition(".")[0], other_port)
        seen.devices.setdefault(two[0], str(file))
        if (two, one) not in seen.links:
            seen.links[one, two] = str(file)


def _lldpctl(data: Any) -> Iterator[tuple[str, str, str]]:
    """lldpd's JSON: a list of one-key mappings, or one mapping; names are keys (json) or fields (json0)."""
    if isinstance(data, list):
        data = data[0]
    interfaces = data.get("interface", [])
    for item in interfaces if isinstance(interfaces, list) else [interfaces]:
        entries = [(item["name"], item)] if "name" in item and "port" in item else list(item.items())
        for port, entry in entries:
            yield str(port), _chassis(entry["chassis"]), _port(entry["port"])


def _chassis(data: Any) -> str:
    if isinstance(data, list):
        data = data[0]
        return str(data["name"][0]["value"])
    if "name" in data:
        return str(data["name"])
    return str(next(iter(data)))


def _port(data: Any) -> str:
    if isinstance(data, list):
        data = data[0]
    given = data.get("id", {})
    given = given[0] if isinstance(given, list) else given
    if given.get("type") == "ifname":
        return str(given["value"])
    described = data.get("descr") or data.get("ifname") or given.get("value") or _ANY
    return str(described[0]["value"] if isinstance(described, list) else described)


def _eos(data: Any) -> Iterator[tuple[str, str, str]]:
    for item in data:
        yield str(item["port"]), str(item["neighborDevice"]), str(item["neighborPort"])


_FORMS: dict[str, Callable[[Any], Iterator[tuple[str, str, str]]]] = {"lldp": _lldpctl, "lldpNeighbors": _eos}


def _keyvalue(text: str, file: Path, seen: Seen) -> None:
    found: dict[str, dict[str, str]] = {}
    if not text.endswith("\n"):
        count = text.count("\n") + 1
        raise InputError(f"{file}:{count}: the last line has no end; the text was cut off")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        key, equals, value = line.partition("=")
        parts = key.split(".")
        if not equals or parts[0] != "lldp" or len(parts) < 3:
            raise InputError(f"{file}:{number}: {line[:60]!r} is not what lldpctl -f keyvalue prints")
        where = next((at for at, part in enumerate(parts) if part in ("chassis", "port")), None)
        if where is not None:
            found.setdefault(".".join(parts[1:where]), {})[".".join(parts[where:])] = value
    rows = [
        (port, data["chassis.name"], data.get("port.ifname") or data.get("port.descr") or _ANY)
        for port, data in found.items()
        if "chassis.name" in data
    ]
    _note(file.stem, iter(rows), file, seen)
