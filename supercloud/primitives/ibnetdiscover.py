"""A strict parser of the output of ibnetdiscover: truncated or damaged text is an error with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..errors import InputError
from .foreign_text import shorten_text, split_lines

__all__ = ["DiscoveredSubnet", "Endpoint", "is_ibnetdiscover_output", "parse_device_name", "parse_output"]

# Ports are numbered with 8 bits, GUIDs have 64. More digits are damage, which int() would not read.
_NUMBER, _GUID = "[0-9]{1,3}", "[0-9a-fA-F]{1,16}"
_DEVICE = re.compile(rf'^(Switch|Ca|Rt)\s+({_NUMBER})\s+"([^"]+)"\s*(?:#\s*"([^"]*)".*)?$')
_PORT = re.compile(rf'^\[({_NUMBER})\](?:\(({_GUID})\))?\s+"([^"]+)"\[({_NUMBER})\](?:\({_GUID}\))?\s*(?:#.*)?$')
_FIELD = re.compile(rf"^(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=0x({_GUID})(?:\({_GUID}\))?$")
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
    return bool(re.search(r'^(Switch|Ca)\s+[0-9]+\s+"', text, re.MULTILINE)) or "guid=0x" in text[:2000]


def parse_device_name(description: str) -> str:
    """The name in a description: managed switches add their vendor's model to it."""
    managed = _MANAGED.match(description)
    return managed[1] if managed else description


def parse_output(text: str, file: str = "") -> DiscoveredSubnet:
    """Parse the output of ibnetdiscover. Raises InputError with the line of the first problem."""
    place = f"{file}:" if file else "line "
    parser = _Parser(place)
    for number, line in enumerate(_split_lines(text, place), 1):
        if line and not line.startswith("#") and not line.isspace():
            parser.read_line(number, line)
    return parser.finish()


class _Parser:
    """Reads the lines of one output; ``place`` is the text before a line number in errors."""

    def __init__(self, place: str):
        self._place = place
        self._found = DiscoveredSubnet()
        self._names: dict[str, str] = {}
        """By the identifier of a device."""
        self._ports: dict[tuple[str, int], tuple[str, int, int]] = {}
        """The other end of each port, and the line."""
        self._owner = ""
        """The identifier of the device whose ports are read; empty before its description."""
        self._guid = ""

    def read_line(self, number: int, line: str) -> None:
        """Read a field, the description of a device, or a port; raises :class:`InputError` for any other line."""
        port = _PORT.match(line) if line[0] == "[" else None
        if port:
            self._read_port(number, line, port)
        elif device := _DEVICE.match(line):
            self._read_device(number, device)
        elif item := _FIELD.match(line):
            self._owner = ""
            self._guid = item[2] if item[1] == "switchguid" else self._guid
        else:
            raise InputError(
                f"{self._place}{number}: {shorten_text(line)!r} is not valid output of ibnetdiscover; "
                "the text is damaged"
            )

    def _read_port(self, number: int, line: str, port: re.Match[str]) -> None:
        owner, found = self._owner, self._found
        if not owner:
            raise InputError(
                f"{self._place}{number}: a port before any device: {shorten_text(line)!r}; the start is missing"
            )
        index, name = int(port[1]), self._names[owner]
        if not 0 < index <= found.ports[name]:
            raise InputError(
                f"{self._place}{number}: port {index} of {shorten_text(name)}, which has {found.ports[name]} ports"
            )
        if (owner, index) in self._ports:
            raise InputError(f"{self._place}{number}: duplicate port {index} of {shorten_text(name)}")
        self._ports[owner, index] = (port[3], int(port[4]), number)
        if port[2] and name not in found.switches:
            found.port_guids.setdefault(name, f"0x{int(port[2], 16):016x}")

    def _read_device(self, number: int, device: re.Match[str]) -> None:
        owner, found = device[3], self._found
        name = parse_device_name(device[4] or owner)
        if owner in self._names:
            raise InputError(f"{self._place}{number}: duplicate description of {shorten_text(owner)}")
        if name in found.ports:
            raise InputError(
                f"{self._place}{number}: duplicate name {shorten_text(name)} (first on line {found.lines[name]}); "
                "two devices have the same description"
            )
        self._owner, self._names[owner] = owner, name
        found.ports[name], found.lines[name] = int(device[2]), number
        if device[1] == "Switch":
            found.switches.add(name)
            found.guids[name] = f"0x{int(self._guid, 16):016x}" if self._guid else ""
        self._guid = ""

    def finish(self) -> DiscoveredSubnet:
        """Add the links. Raises :class:`InputError` without devices, and for a link that only one end lists."""
        names, ports = self._names, self._ports
        if not names:
            raise InputError(f"{self._place}1: no devices found; is this the output of ibnetdiscover?")
        for (one, port_one), (other, port_other, number) in ports.items():
            if other not in names:
                raise InputError(
                    f"{self._place}{number}: {shorten_text(other)} has no description; the text is truncated"
                )
            if ports.get((other, port_other), ("", 0, 0))[:2] != (one, port_one):
                raise InputError(
                    f"{self._place}{number}: the link from {shorten_text(names[one])}[{port_one}] to "
                    f"{shorten_text(names[other])}[{port_other}] is listed at one end only; "
                    "the text is truncated or was edited"
                )
            if (one, port_one) <= (other, port_other):
                self._found.links.append(((names[one], port_one), (names[other], port_other), number))
        return self._found


def _split_lines(text: str, location: str) -> Iterator[str]:
    if text and not text.endswith("\n"):
        count = text.count("\n") + 1
        raise InputError(f"{location}{count}: the last line is incomplete; the text is truncated")
    return iter(split_lines(text))
