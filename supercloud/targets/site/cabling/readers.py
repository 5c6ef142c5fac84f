"""Discovery output of a running network: the text of ibnetdiscover, or LLDP neighbors.

LLDP output contains the neighbors of one device, so that it is a file named after the device (``train-0001.json``) or
a folder of such files; a file may also contain several devices, as ``{"device": {...}}`` or tables after their prompts.
A new JSON format is a function here and a line in ``_PARSERS``, a new table a line in ``neighbor_tables``.
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
from ....primitives.files import FileReadError
from ....primitives.files import read_text as file_text
from ....primitives.foreign_text import shorten_text, split_lines
from ....primitives.responses import parse_json
from .neighbor_tables import is_neighbor_table, parse_tables
from .neighbor_text import is_neighbor_list, parse_neighbors

__all__ = ["DiscoveredLinks", "read_output"]

_UNKNOWN_PORT = "?"
# An InfiniBand subnet has at most 49,151 addresses: three tiers of switches have about 150,000 links, of which
# ibnetdiscover prints both ends in 130 bytes each, 40 MB.
_MAX_FILE_SIZE = 64 * 2**20

LinkEnd = tuple[str, str]


@dataclass
class DiscoveredLinks:
    """Discovered links: ends are a device and a port, ``?`` for an unnamed port."""

    network: str
    links: dict[tuple[LinkEnd, LinkEnd], str] = field(default_factory=dict)
    """Both ends -> file and line."""
    devices: dict[str, str] = field(default_factory=dict)
    """Every device -> file and line of its first occurrence."""
    reporting_devices: set[str] = field(default_factory=set)
    """Devices with complete output."""


def read_output(path: Path) -> DiscoveredLinks:
    """Read a file or a folder. Raises InputError with file and line."""
    if path.is_dir():
        files = sorted(item for item in path.iterdir() if item.is_file() and not item.name.startswith("."))
        if not files:
            raise InputError(f"{path}: the directory contains no files")
    else:
        files = [path]
    seen: DiscoveredLinks | None = None
    for file in files:
        try:
            text = file_text(file, _MAX_FILE_SIZE)
        except FileReadError as error:
            raise InputError(f"{file}: {error}") from None
        seen = _parse_file(text, file, seen)
    assert seen is not None
    return seen


def _parse_file(text: str, file: Path, discovered: DiscoveredLinks | None) -> DiscoveredLinks:
    if not text.strip():
        raise InputError(f"{file}:1: the file is empty")
    if ibnetdiscover.is_ibnetdiscover_output(text):
        found = discovered or DiscoveredLinks("infiniband")
        _add_infiniband(text, file, found)
        return found
    found = discovered or DiscoveredLinks("ethernet")
    if found.network != "ethernet":
        raise InputError(f"{file}:1: not ibnetdiscover output, unlike the other files")
    if text.lstrip()[0] in "{[":
        for device, data in _split_devices(_parse_json(text, file), file.stem):
            _add_json_neighbors(device, data, file, found)
    elif is_neighbor_list(text):
        _add_neighbors(file.stem, iter(parse_neighbors(text, str(file))), file, found)
    elif re.match(r"\s*lldp\.", text):
        _add_keyvalue(text, file, found)
    elif is_neighbor_table(text):
        for table in parse_tables(text, str(file)):
            _add_neighbors(table.device or file.stem, iter(table.rows), file, found)
    else:
        line = next(number for number, item in enumerate(split_lines(text), 1) if item.strip())
        raise InputError(
            f"{file}:{line}: neither ibnetdiscover nor LLDP: lldpctl (plain, json, keyvalue), show lldp neighbors "
            "| json, show lldp table, nv show interface lldp"
        )
    return found


def _add_infiniband(text: str, file: Path, discovered: DiscoveredLinks) -> None:
    data = ibnetdiscover.parse_output(text, str(file))
    for name, line in data.lines.items():
        discovered.devices.setdefault(name, f"{file}:{line}")
        discovered.reporting_devices.add(name)
    for (one, port), (other, other_port), line in data.links:
        discovered.links[(one, str(port)), (other, str(other_port))] = f"{file}:{line}"


def _parse_json(text: str, file: Path) -> Any:
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{file}:{error.lineno}: {error.msg}; the text was truncated or damaged") from None
    except ValueError as error:
        raise InputError(f"{file}:1: {error}; this is not the output of a switch or a host") from None


def _split_devices(data: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the output, or outputs by device."""
    if isinstance(data, dict) and not any(key in data for key in _PARSERS) and not _is_one_switch(data):
        several = {
            device: inner
            for device, inner in data.items()
            if isinstance(inner, dict) and (any(key in inner for key in _PARSERS) or _is_nvue(inner))
        }
        yield from several.items() if several else [(name, data)]
    else:
        yield name, data


def _is_one_switch(data: dict[str, Any]) -> bool:
    """Whether these are interfaces of one switch in NVUE's format: ``lldp`` is a mapping of neighbors, not a list."""
    found = [item["lldp"] for item in data.values() if isinstance(item, dict) and "lldp" in item]
    return any(isinstance(item, dict) and "neighbor" in item for item in found)


def _add_json_neighbors(device: str, data: Any, file: Path, discovered: DiscoveredLinks) -> None:
    key = next((key for key in _PARSERS if isinstance(data, dict) and key in data), None)
    if key is None and not _is_nvue(data):
        raise InputError(f"{file}:1: contains no LLDP neighbors (lldp, lldpNeighbors, interfaces with lldp)")
    try:
        _add_neighbors(device, _PARSERS[key](data[key]) if key else _parse_nvue(data), file, discovered)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration):
        raise InputError(f"{file}:1: unknown format of the LLDP neighbors of {shorten_text(device)}") from None


def _add_neighbors(
    device: str, neighbors: Iterator[tuple[str, str, str]], file: Path, discovered: DiscoveredLinks
) -> None:
    name = device.partition(".")[0]
    discovered.devices.setdefault(name, str(file))
    discovered.reporting_devices.add(name)
    for port, other, other_port in neighbors:
        one, two = (name, port), (other.partition(".")[0], other_port)
        discovered.devices.setdefault(two[0], str(file))
        if (two, one) not in discovered.links:
            discovered.links[one, two] = str(file)


def _parse_lldpctl(data: Any) -> Iterator[tuple[str, str, str]]:
    """Parse lldpd's JSON: mappings with names as keys (json), or nested lists (json0)."""
    for whole in _to_list(data):
        for item in _to_list(whole.get("interface", [])):
            entries = [(item["name"], item)] if "name" in item and "port" in item else list(item.items())
            for port, entry in entries:
                for neighbor in _to_list(entry):
                    yield (
                        _require_text(port),
                        _parse_chassis(neighbor.get("chassis", {})),
                        _parse_port(neighbor["port"]),
                    )


def _to_list(data: Any) -> list[Any]:
    return data if isinstance(data, list) else [data]


def _parse_chassis(data: Any) -> str:
    """Return the system name of a neighbor, else its chassis identifier; it may have neither."""
    for item in _to_list(data):
        if not item:
            continue
        key, value = next(iter(item.items()))
        if len(item) == 1 and isinstance(value, dict) and "id" in value:
            return str(key)  # the name, whatever it is: a host may have the name "id"
        name = item.get("name")
        if name is not None:
            return _parse_value(name)
        if "id" in item and set(item) <= _CHASSIS_KEYS:
            return _parse_value(item["id"])
        return str(key)
    return _UNKNOWN_PORT


# lldpd's keys of a chassis; a mapping with one other key has the name of a neighbor as key.
_CHASSIS_KEYS = {"id", "name", "descr", "mgmt-ip", "mgmt-iface", "capability", "local"}


def _parse_value(data: Any) -> str:
    """Return a text, or the value of a mapping or of the first of several."""
    first = _to_list(data)[0]
    return _require_text(first["value"] if isinstance(first, dict) else first)


def _require_text(data: Any) -> str:
    """Return a name; raises TypeError for lists and mappings, of which ``str`` would make a name."""
    if not isinstance(data, str | int):
        raise TypeError
    return str(data)


def _parse_port(data: Any) -> str:
    found = _to_list(data)[0]
    given = _to_list(found.get("id", {}))[0]
    if given.get("type") == "ifname":
        return _require_text(given["value"])
    described = found.get("descr") or found.get("ifname")
    return _parse_value(described) if described else _require_text(given.get("value") or _UNKNOWN_PORT)


def _is_nvue(data: Any) -> bool:
    return isinstance(data, dict) and any(isinstance(item, dict) and "lldp" in item for item in data.values())


def _parse_nvue(data: Any) -> Iterator[tuple[str, str, str]]:
    """Parse NVUE's JSON: interface -> lldp -> neighbor -> name -> chassis and port."""
    for port, item in data.items():
        neighbors = (item.get("lldp") or {}).get("neighbor") if isinstance(item, dict) else None
        for name, neighbor in (neighbors or {}).items():
            chassis, far = neighbor.get("chassis") or {}, neighbor.get("port") or {}
            described = far.get("name") or far.get("id") or far.get("description")
            yield port, _require_text(chassis.get("system-name") or name), _require_text(described or _UNKNOWN_PORT)


def _parse_eos(data: Any) -> Iterator[tuple[str, str, str]]:
    for item in data:
        port, device, far = (_require_text(item[key]) for key in ("port", "neighborDevice", "neighborPort"))
        yield port, device, far


_PARSERS: dict[str, Callable[[Any], Iterator[tuple[str, str, str]]]] = {
    "lldp": _parse_lldpctl,
    "lldpNeighbors": _parse_eos,
}


def _add_keyvalue(text: str, file: Path, discovered: DiscoveredLinks) -> None:
    found: dict[str, dict[str, str]] = {}
    if not text.endswith("\n"):
        count = text.count("\n") + 1
        raise InputError(f"{file}:{count}: the last line is incomplete; the text was truncated")
    for number, line in enumerate(split_lines(text), 1):
        if not line.strip():
            continue
        key, equals, value = line.partition("=")
        parts = key.split(".")
        if not equals or parts[0] != "lldp" or len(parts) < 3:
            raise InputError(f"{file}:{number}: {shorten_text(line)!r} is not output of lldpctl -f keyvalue")
        where = next((at for at, part in enumerate(parts) if part in ("chassis", "port")), None)
        if where is not None:
            found.setdefault(".".join(parts[1:where]), {})[".".join(parts[where:])] = value
    rows = [
        (port, data["chassis.name"], data.get("port.ifname") or data.get("port.descr") or _UNKNOWN_PORT)
        for port, data in found.items()
        if "chassis.name" in data
    ]
    _add_neighbors(file.stem, iter(rows), file, discovered)
