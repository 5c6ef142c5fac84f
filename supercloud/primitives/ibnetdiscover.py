"""What ibnetdiscover prints, read strictly: a text that was cut off or garbled is an error with its line."""

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
    """Device -> how many ports it has."""
    switches: set[str] = field(default_factory=set)
    links: list[tuple[Endpoint, Endpoint, int]] = field(default_factory=list)
    """Both ends and the line, each link once."""
    guids: dict[str, str] = field(default_factory=dict)
    """Switch -> GUID of the switch."""
    port_guids: dict[str, str] = field(default_factory=dict)
    """Adapter -> GUID of its port."""
    lines: dict[str, int] = field(default_factory=dict)
    """Device -> where it is described."""


def is_ibnetdiscover_output(text: str) -> bool:
    """Whether a text may come from ibnetdiscover."""
    return bool(re.search(r'^(Switch|Ca)\s+\d+\s+"', text, re.MULTILINE)) or "guid=0x" in text[:2000]


def parse_device_name(description: str) -> str:
    """The name in a description: managed switches put their maker's model around it."""
    managed = _MANAGED.match(description)
    return managed[1] if managed else description


def parse_output(text: str, file: str = "") -> DiscoveredSubnet:
    """Everything in a text of ibnetdiscover. Raises InputError with the line of the first thing that is wrong."""
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
                raise InputError(f"{place}{number}: a port before any device: {line[:60]!r}; the beginning is missing")
            index = int(port[1])
            if not 0 < index <= found.ports[names[owner]]:
                raise InputError(
                    f"{place}{number}: port {index} of {names[owner]}, which has {found.ports[names[owner]]}"
                )
            if (owner, index) in raw:
                raise InputError(f"{place}{number}: port {index} of {names[owner]} is there twice")
            raw[owner, index] = (port[3], int(port[4]), number)
            if port[2] and names[owner] not in found.switches:
                found.port_guids.setdefault(names[owner], f"0x{int(port[2], 16):016x}")
            continue
        device = _DEVICE.match(line)
        if device:
            owner = device[3]
            name = parse_device_name(device[4] or device[3])
            if owner in names:
                raise InputError(f"{place}{number}: {owner} is described twice")
            if name in found.ports:
                raise InputError(
                    f"{place}{number}: {name} is there twice (first on line {found.lines[name]}); "
                    "two devices have one description"
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
            raise InputError(f"{place}{number}: {line[:60]!r} is not what ibnetdiscover prints; the text is damaged")
        owner = ""
        guid = item[2] if item[1] == "switchguid" else guid
    if not names:
        raise InputError(f"{place}1: no device in it; is it what ibnetdiscover printed?")
    for (one, port_one), (other, port_other, number) in raw.items():
        if other not in names:
            raise InputError(f"{place}{number}: {other} is not described anywhere; the text was cut off")
        if raw.get((other, port_other), ("", 0, 0))[:2] != (one, port_one):
            raise InputError(
                f"{place}{number}: the link from {names[one]}[{port_one}] to {names[other]}[{port_other}] "
                "is listed at one end only; the text was cut off or put together"
            )
        if (one, port_one) <= (other, port_other):
            found.links.append(((names[one], port_one), (names[other], port_other), number))
    return found


def _split_lines(text: str, location: str) -> Iterator[str]:
    if text and not text.endswith("\n"):
        count = text.count("\n") + 1
        raise InputError(f"{location}{count}: the last line has no end; the text was cut off")
    return iter(text.splitlines())
