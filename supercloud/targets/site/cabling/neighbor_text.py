"""LLDP neighbors in the text output of lldpd: ``lldpctl``, ``lldpcli show neighbors``, with or without details.

Between lines of dashes, a block for each interface: ``Interface:    swp1, via: LLDP, …``, then ``SysName:``,
``PortID:`` and so on.
"""

from __future__ import annotations

import re

from ....errors import InputError
from ....primitives.foreign_text import shorten_text, split_lines

__all__ = ["is_neighbor_list", "parse_neighbors"]

_TITLE = re.compile(r"^LLDP neighbou?rs:\s*$", re.MULTILINE)
_INTERFACE = re.compile(r"^Interface:\s+([^,\s]+)")
_FIELD = re.compile(r"^\s+(ChassisID|SysName|PortID|PortDescr):(.*)")
_SEPARATOR_LINE = re.compile(r"^-{10,}\s*$")
_UNKNOWN_PORT = "?"


def is_neighbor_list(text: str) -> bool:
    """Whether a text may be such a list."""
    return bool(_TITLE.search(text))


def parse_neighbors(text: str, file: str) -> list[tuple[str, str, str]]:
    """Return local port, neighbor, its port. Raises InputError with the line where the text was truncated."""
    lines = split_lines(text)
    found: list[tuple[str, str, str]] = []
    block: dict[str, str] = {}
    port, began = "", 0
    for number, line in enumerate([*lines, ""], 1):
        head, field = _INTERFACE.match(line), _FIELD.match(line)
        if head or (_SEPARATOR_LINE.match(line) and port):
            if port:
                found.append(_parse_neighbor(port, block, f"{file}:{began}"))
            port, began, block = (head[1] if head else ""), number, {}
        elif field and port:
            block.setdefault(field[1], field[2].strip())
    if port:
        raise InputError(
            f"{file}:{len(lines)}: no line of dashes after the neighbor of {shorten_text(port)}; the text was truncated"
        )
    return found


def _parse_neighbor(port: str, block: dict[str, str], location: str) -> tuple[str, str, str]:
    """The neighbor's name, else its chassis; its port by the name of an interface, else by its description."""
    if "PortID" not in block:
        raise InputError(
            f"{location}: the neighbor of {shorten_text(port)} has no PortID; the text was truncated or damaged"
        )
    kind, _, value = block["PortID"].partition(" ")
    name = block.get("SysName") or block.get("ChassisID", "").partition(" ")[2] or _UNKNOWN_PORT
    return port, name, value if kind == "ifname" else block.get("PortDescr") or value or _UNKNOWN_PORT
