"""A strict parser of the output of ibnetdiscover: truncated or damaged text is an error with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..errors import InputError

__all__ = ["DiscoveredSubnet", "Endpoint", "is_ibnetdiscover_output", "parse_device_name", "parse_output"]

_DEVICE = re.compile(r'^(Switch|Ca|Rt)\s+(\d+)\s+"([^"]+)"\s*(?:#\s*"([^"]*)".*)?$')
_PORT = re.compile(r'^\[(\d+)\](?:\(([0-9a-fA-F]+)\))?\s+"([^"]+)"\[(\d+)\](?:\(([0-9a-fA-F]+)\))?\s*(?:#.*)?$')
_FIELD = re.compile(r"^(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=0x([0-9a-fA-F]+)(?:\([0-9a-fA-F]+\))?$")
_MANAGED = re.compile(r"^MF0;([^:]+):")

Endpoint = tuple[str, int]
"""A device's description and one of its ports."""


@dataclass
class DiscoveredSubnet:
    """Devices and links of one subnet."""

    ports: dict[str, int] = field(default_factory=dict)
    """Device -> number of its ports."""
    switches: set[str] = field(default_factory=set)
    links: list[tuple[Endpoint, Endpoint, int]] = field(default_factory=list)
    """Both ends and the line, each link once."""
    guids: dict[str, str] = field(default_factory=dict)
    """Switch -> GUID of the switch."""
    port_guids: dict[str, str] = field(default_factory=dict)
    """Adapter -> GUID of its port."""
    lines: dict[str, int] = field(default_factory=dict)
    """Device -> line of its description."""


def is_ibnetdiscover_output(text: str) -> bool:
    """Whether a text may come from ibnetdiscover."""
    return bool(re.search(r'^(Switch|Ca)\s+\d+\s+"', text, re.MULTILINE)) or "guid=0x" in text[:2000]


def parse_device_name(description: str) -> str:
    """The name in a description: managed switches add their vendor's model to it."""
    managed = _MANAGED.match(description)
    return managed[1] if managed else description


def parse_output(text: str, file: str = "") -> DiscoveredSubnet:
    """Parse the output of ibnetdiscover. Raises InputError with the line of the first problem."""
    found = DiscoveredSubnet()
    place = f"{file}:" if file else "line "
    names: dict[str, str] = {}
    raw: dict[tuple[str, int], tuple[str, int, int]] = {}
    owner, guid = "", ""
    for number, line in enumerate(_split_lines(text, place), 1):
        if not line or line.startswith("#") or line.isspace():
            continue
        port = _PORT.match(line) if line[0] == "[" else None
        if port:
            if not owner:
                raise InputError(f"{place}{number}: a port before any device: {line[:60]!r}; the start is missing")
            index = int(port[1])
            if not 0 < index <= found.ports[names[owner]]:
                raise InputError(
                    f"{place}{number}: port {index} of {names[owner]}, which has {found.ports[names[owner]]} ports"
                )
            if (owner, index) in raw:
                raise InputError(f"{place}{number}: duplicate port {index} of {names[owner]}")
            raw[owner, index] = (port[3], int(port[4]), number)
            if port[2] and names[owner] not in found.switches:
                found.port_guids.setdefault(names[owner], f"0x{int(port[2], 16):016x}")
            continue
        device = _DEVICE.match(line)
        if device:
            owner = device[3]
            name = parse_device_name(device[4] or device[3])
            if owner in names:
                raise InputError(f"{place}{number}: duplicate description of {owner}")
            if name in found.ports:
                raise InputError(
                    f"{place}{number}: duplicate name {name} (first on line {found.lines[name]}); "
                    "two devices have the same description"
                )
            names[owner] = name
            found.ports[name], found.lines[name] = int(device[2]), number
            if device[1] == "Switch":
                found.switches.add(name)
                found.guids[name] = f"0x{int(guid, 16):016x}" if guid else ""
            guid = ""
            continue
        item = _FIELD.match(line)
        if item is None:
            raise InputError(
                f"{place}{number}: {line[:60]!r} is not valid output of ibnetdiscover; the text is damaged"
            )
        owner = ""
        guid = item[2] if item[1] == "switchguid" else guid
    if not names:
        raise InputError(f"{place}1: no devices found; is this the output of ibnetdiscover?")
    for (one, port_one), (other, port_other, number) in raw.items():
        if other not in names:
            raise InputError(f"{place}{number}: {other} has no description; the text is truncated")
        if raw.get((other, port_other), ("", 0, 0))[:2] != (one, port_one):
            raise InputError(
                f"{place}{number}: the link from {names[one]}[{port_one}] to {names[other]}[{port_other}] "
                "is listed at one end only; the text is truncated or was edited"
            )
        if (one, port_one) <= (other, port_other):
            found.links.append(((names[one], port_one), (names[other], port_other), number))
    return found


def _split_lines(text: str, location: str) -> Iterator[str]:
    if text and not text.endswith("\n"):
        count = text.count("\n") + 1
        raise InputError(f"{location}{count}: the last line is incomplete; the text is truncated")
    return iter(text.splitlines())
