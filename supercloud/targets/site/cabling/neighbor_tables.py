"""Tables of LLDP neighbors in the text output of switches: SONiC, Cumulus with NVUE and with NCLU.

A table is identified by its column titles; the line under them has the widths of the columns. A prompt before it
(``admin@compute-leaf-001:~$ show lldp table``) identifies the switch, so that one file may contain several switches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ....errors import InputError
from ....primitives.foreign_text import shorten_text, split_lines
from ....primitives.responses import find_number

__all__ = ["NeighborTable", "is_neighbor_table", "parse_tables"]

# Column titles of the local port, the remote device, and its port.
_TABLE_FORMATS = (
    ("LocalPort", "RemoteDevice", "RemotePortID"),  # SONiC: show lldp table
    ("Interface", "Remote Host", "Remote Port"),  # NVUE: nv show interface lldp
    ("LocalPort", "RemoteHost", "RemotePort"),  # NCLU: net show lldp
)
_PROMPT = re.compile(r"^[^@\s]+@([^@:\s]+):\S*[#$]\s")
_SEPARATOR_LINE = re.compile(r"^-+(\s+-+)+\s*$")
_TOTAL = re.compile(r"^Total entries displayed:\s+(\d+)\s*$")
_TRUNCATION_MARK = "…"

# Start and end of a column; the last one has no end.
_Span = tuple[int, int | None]


@dataclass
class NeighborTable:
    """The neighbors of one device: local port, neighbor, the neighbor's port; with their line numbers."""

    device: str
    """Empty if there is no prompt."""
    rows: list[tuple[str, str, str]] = field(default_factory=list)


def is_neighbor_table(text: str) -> bool:
    """Whether a text may contain such tables."""
    return any(all(title in line for title in form) for line in split_lines(text) for form in _TABLE_FORMATS)


def parse_tables(text: str, file: str) -> list[NeighborTable]:
    """Parse every table in a text. Raises InputError with the line of truncated or unreadable text."""
    lines = split_lines(text)
    if not text.endswith("\n"):
        raise InputError(f"{file}:{len(lines)}: the last line is incomplete; the text was truncated")
    found: list[NeighborTable] = []
    device = ""
    spans: list[_Span] = []
    for number, line in enumerate(lines, 1):
        place = f"{file}:{number}"
        prompt = _PROMPT.match(line)
        total = _TOTAL.match(line)
        if prompt:
            device, spans = prompt[1], []
        elif total and found:
            _check_total(total[1], found[-1], place)
            spans = []
        elif titles := _find_titles(line):
            if number == len(lines) or not _SEPARATOR_LINE.match(lines[number]):
                raise InputError(f"{file}:{number + 1}: no line under the column titles; the text was truncated")
            spans = list(_find_columns(line, lines[number], titles, place))
            found.append(NeighborTable(device))
        elif spans:
            row = _parse_row(line, spans, place)
            if row:
                found[-1].rows.append(row)
    return found


def _find_titles(line: str) -> tuple[str, str, str] | None:
    """Return the column titles in a line; None if it is not the head of a table."""
    return next((form for form in _TABLE_FORMATS if all(title in line for title in form)), None)


def _check_total(announced: str, table: NeighborTable, location: str) -> None:
    if find_number(announced) != len(table.rows):
        raise InputError(
            f"{location}: {shorten_text(announced)} entries are announced, {len(table.rows)} found; "
            "the text was truncated"
        )


def _parse_row(line: str, spans: Sequence[_Span], location: str) -> tuple[str, str, str] | None:
    """Return port, neighbor and its port; None for an empty line, a rule, and a port without a neighbor."""
    if set(line.strip()) <= {"-", " "}:
        return None
    port, other, other_port = (line[start:stop].strip() for start, stop in spans)
    if not port or not other:
        return None
    cut = next((cell for cell in (port, other, other_port) if cell.endswith(_TRUNCATION_MARK)), None)
    if cut:
        raise InputError(
            f"{location}: {shorten_text(cut)!r} was truncated by a narrow terminal; use a wider one, or JSON output"
        )
    return port, other, other_port


def _find_columns(header: str, rule: str, titles: tuple[str, ...], location: str) -> Iterator[_Span]:
    """Yield start and end of the selected columns; the last column has no end."""
    starts = [match.start() for match in re.finditer(r"-+", rule)]
    edges = [*starts[1:], None]
    for title in titles:
        at = header.index(title)
        place_of = next((number for number, start in enumerate(starts) if start == at), None)
        if place_of is None:
            raise InputError(f"{location}: the columns are not aligned with their titles; print the table again")
        yield starts[place_of], edges[place_of]
