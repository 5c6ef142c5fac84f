"""What a running network says of itself: ibnetdiscover's text, or the neighbours that LLDP heard.

LLDP says only what one device hears, so an output is a file named after the device (``train-0001.json``) or a folder
of such files; a file may also hold several, as ``{"device": {...}}`` or tables after their prompts. A new form of JSON
is a function here and a line in ``_FORMS``, a new table a line in ``neighbour_tables``.
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
from ....primitives.files import FileProblem
from ....primitives.files import read_text as file_text
from .neighbour_tables import is_table, read_tables
from .neighbour_text import is_text, read_text

__all__ = ["Seen", "read_output"]

_ANY = "?"
# ibnetdiscover prints some hundred bytes a link: of a million links this is 256 MB.
_LARGEST = 256 * 2**20

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
            text = file_text(file, _LARGEST)
        except FileProblem as error:
            raise InputError(f"{file}: {error}") from None
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
    elif is_text(text):
        _note(file.stem, iter(read_text(text, str(file))), file, found)
    elif re.match(r"\s*lldp\.", text):
        _keyvalue(text, file, found)
    elif is_table(text):
        for table in read_tables(text, str(file)):
            _note(table.device or file.stem, iter(table.rows), file, found)
    else:
        line = next(number for number, item in enumerate(text.splitlines(), 1) if item.strip())
        raise InputError(
            f"{file}:{line}: neither ibnetdiscover nor LLDP: lldpctl (plain, json, keyvalue), show lldp neighbors "
            "| json, show lldp table, nv show interface lldp"
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
    if isinstance(data, dict) and not any(key in data for key in _FORMS) and not _of_one(data):
        several = {device: inner for device, inner in data.items()
                   if isinstance(inner, dict) and (any(key in inner for key in _FORMS) or _is_nvue(inner))}  # fmt: skip
        yield from several.items() if several else [(name, data)]
    else:
        yield name, data


def _of_one(data: dict[str, Any]) -> bool:
    """Whether these are interfaces of one switch, as NVUE has them: ``lldp`` holds neighbours, and no list of them."""
    found = [item["lldp"] for item in data.values() if isinstance(item, dict) and "lldp" in item]
    return any(isinstance(item, dict) and "neighbor" in item for item in found)


def _neighbours(device: str, data: Any, file: Path, seen: Seen) -> None:
    key = next((key for key in _FORMS if isinstance(data, dict) and key in data), None)
    if key is None and not _is_nvue(data):
        raise InputError(f"{file}:1: no LLDP neighbours in it (lldp, lldpNeighbors, interfaces with lldp)")
    try:
        _note(device, _FORMS[key](data[key]) if key else _nvue(data), file, seen)
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
    """lldpd's JSON: one mapping whose names are keys (json), or lists all the way down (json0)."""
    for whole in _list(data):
        for item in _list(whole.get("interface", [])):
            entries = [(item["name"], item)] if "name" in item and "port" in item else list(item.items())
            for port, entry in entries:
                for neighbour in _list(entry):
                    yield str(port), _chassis(neighbour.get("chassis", {})), _port(neighbour["port"])


def _list(data: Any) -> list[Any]:
    return data if isinstance(data, list) else [data]


def _chassis(data: Any) -> str:
    """The name a neighbour gives itself, else the identifier of its chassis; a neighbour may give neither."""
    for item in _list(data):
        if not item:
            continue
        name = item.get("name")
        if name is not None:
            return _value(name)
        if "id" in item and set(item) <= _CHASSIS:
            return _value(item["id"])
        return str(next(iter(item)))
    return _ANY


# What lldpd says of a chassis; a mapping of one other key is the name of a neighbour.
_CHASSIS = {"id", "name", "descr", "mgmt-ip", "mgmt-iface", "capability", "local"}


def _value(data: Any) -> str:
    """A text, or the value of a mapping, or of the first of several."""
    first = _list(data)[0]
    return str(first["value"] if isinstance(first, dict) else first)


def _port(data: Any) -> str:
    found = _list(data)[0]
    given = _list(found.get("id", {}))[0]
    if given.get("type") == "ifname":
        return str(given["value"])
    described = found.get("descr") or found.get("ifname")
    return _value(described) if described else str(given.get("value") or _ANY)


def _is_nvue(data: Any) -> bool:
    return isinstance(data, dict) and any(isinstance(item, dict) and "lldp" in item for item in data.values())


def _nvue(data: Any) -> Iterator[tuple[str, str, str]]:
    """NVUE's JSON: interface -> lldp -> neighbor -> name -> chassis and port."""
    for port, item in data.items():
        neighbours = (item.get("lldp") or {}).get("neighbor") if isinstance(item, dict) else None
        for name, neighbour in (neighbours or {}).items():
            chassis, far = neighbour.get("chassis") or {}, neighbour.get("port") or {}
            described = far.get("name") or far.get("id") or far.get("description")
            yield str(port), str(chassis.get("system-name") or name), str(described or _ANY)


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
