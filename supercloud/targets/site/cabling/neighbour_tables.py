"""Tables of LLDP neighbours as switches print them for people: SONiC, Cumulus with NVUE and with NCLU.

A table is known by the titles of its columns; the line under them says how wide each is. A prompt in front of it
(``admin@compute-leaf-001:~$ show lldp table``) says whose it is, so that one file may hold those of many switches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ....errors import InputError

__all__ = ["NeighbourTable", "is_neighbour_table", "parse_tables"]

# Titles of the columns for the port here, the device there, and its port.
_TABLE_FORMATS = (
    ("LocalPort", "RemoteDevice", "RemotePortID"),  # SONiC: show lldp table
    ("Interface", "Remote Host", "Remote Port"),  # NVUE: nv show interface lldp
    ("LocalPort", "RemoteHost", "RemotePort"),  # NCLU: net show lldp
)
_PROMPT = re.compile(r"^\S+@([^:\s]+):\S*[#$]\s")
_SEPARATOR_LINE = re.compile(r"^-+(\s+-+)+\s*$")
_TOTAL = re.compile(r"^Total entries displayed:\s+(\d+)\s*$")
_TRUNCATION_MARK = "…"


@dataclass
class NeighbourTable:
    """What one device heard: its port, the neighbour, the neighbour's port; with the lines they stand on."""

    device: str
    """Empty where no prompt says it."""
    rows: list[tuple[str, str, str]] = field(default_factory=list)


def is_neighbour_table(text: str) -> bool:
    """Whether a text may hold such tables."""
    return any(all(title in line for title in form) for line in text.splitlines() for form in _TABLE_FORMATS)


def parse_tables(text: str, file: str) -> list[NeighbourTable]:
    """Every table in a text. Raises InputError with the line of what is cut off or cannot be read."""
    lines = text.splitlines()
    if not text.endswith("\n"):
        raise InputError(f"{file}:{len(lines)}: the last line has no end; the text was cut off")
    found: list[NeighbourTable] = []
    device = ""
    spans: list[tuple[int, int | None]] = []
    for number, line in enumerate(lines, 1):
        prompt = _PROMPT.match(line)
        total = _TOTAL.match(line)
        if prompt:
            device, spans = prompt[1], []
        elif total and found:
            if int(total[1]) != len(found[-1].rows):
                raise InputError(
                    f"{file}:{number}: {total[1]} entries are announced, {len(found[-1].rows)} are there; "
                    "the text was cut off"
                )
            spans = []
        elif form := next((form for form in _TABLE_FORMATS if all(title in line for title in form)), None):
            if number == len(lines) or not _SEPARATOR_LINE.match(lines[number]):
                raise InputError(f"{file}:{number + 1}: no line under the titles of the columns; the text was cut off")
            spans = list(_find_columns(line, lines[number], form, f"{file}:{number}"))
            found.append(NeighbourTable(device))
        elif spans and line.strip() and not set(line.strip()) <= {"-", " "}:
            port, other, other_port = (line[start:stop].strip() for start, stop in spans)
            if port and other:
                cut = next((cell for cell in (port, other, other_port) if cell.endswith(_TRUNCATION_MARK)), None)
                if cut:
                    raise InputError(
                        f"{file}:{number}: {cut!r} was cut by a narrow terminal; print it wider, or as JSON"
                    )
                found[-1].rows.append((port, other, other_port))
    return found


def _find_columns(header: str, rule: str, titles: tuple[str, ...], location: str) -> Iterator[tuple[int, int | None]]:
    """From where to where each of the columns wanted goes; the last column has no end."""
    starts = [match.start() for match in re.finditer(r"-+", rule)]
    edges = [*starts[1:], None]
    for title in titles:
        at = header.index(title)
        place_of = next((number for number, start in enumerate(starts) if start == at), None)
        if place_of is None:
            raise InputError(f"{location}: the columns do not stand under their titles; print the table again")
        yield starts[place_of], edges[place_of]
