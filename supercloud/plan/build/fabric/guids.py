"""GUIDs of an InfiniBand fabric: read from the network's output or a user's file, never generated."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ....errors import Finding, InputError
from ....primitives import ibnetdiscover
from ....primitives.files import FileReadError, read_text
from ....primitives.foreign_text import shorten_text, split_lines
from ....spec import ClusterSpec
from ...model.plan import FabricPlan
from ...model.problems import Problems

__all__ = ["parse_guids", "with_guids"]

_GUID_LINE = re.compile(
    r'^\s*(?:"([^"]+)"|([^\s,"]+(?: [^\s,"]+)?))(?:\s*,\s*|\s+)(0x[0-9a-fA-F]{1,16}|[0-9a-fA-F]{16})\s*$'
)


def with_guids(
    spec: ClusterSpec, fabrics: tuple[FabricPlan, ...], folder: Path, problems: Problems
) -> tuple[FabricPlan, ...]:
    """The fabrics with the GUIDs of their files; errors in a file are problems at their line."""
    found = []
    for built in fabrics:
        fabric = built
        index, declared = next((at, item) for at, item in enumerate(spec.fabrics) if item.name == built.name)
        if declared.guids:
            path = folder / declared.guids
            try:
                guids, wrong = parse_guids(read_text(path), str(path))
            except FileReadError as error:
                problems.add_error(
                    "guids-file",
                    f"fabrics[{index}].guids",
                    f"{declared.guids!r}: {error}",
                    "specify a file of GUIDs with a path relative to the spec",
                )
            except InputError as error:
                problems.add_error("guids-file", f"fabrics[{index}].guids", str(error), "save the whole output again")
            else:
                fabric = replace(fabric, guids=guids)
                problems.findings += [replace(item, path=f"fabrics[{index}].guids") for item in wrong]
        found.append(fabric)
    return tuple(found)


def parse_guids(text: str, file: str) -> tuple[dict[str, str], list[Finding]]:
    """Device -> GUID, and contradictions: a GUID of two devices, a device with two GUIDs.

    The text is the output of ibnetdiscover, or lines of a name and a GUID, with ``#`` before a comment.
    Raises :class:`InputError` for other text.
    """
    if ibnetdiscover.is_ibnetdiscover_output(text):
        data = ibnetdiscover.parse_output(text, file)
        rows = [(name, guid, data.lines[name]) for name, guid in (data.guids | data.port_guids).items() if guid]
    else:
        rows = []
        for number, line in enumerate(split_lines(text), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            match = _GUID_LINE.match(line)
            if match is None:
                # not quoted: the file may be the wrong one, with confidential content
                raise InputError(f"{file}:{number}: this line is not a name and a GUID")
            rows.append((match[1] or match[2], f"0x{int(match[3], 16):016x}", number))
    guids: dict[str, str] = {}
    owners: dict[str, tuple[str, int]] = {}
    wrong: list[Finding] = []
    for name, guid, number in rows:
        shown = shorten_text(name)
        if int(guid, 16) == 0:
            wrong.append(_build_finding(f"{file}:{number}: the GUID of {shown} is 0"))
        elif guid in owners and owners[guid][0] != name:
            wrong.append(
                _build_finding(
                    f"{file}:{number}: {guid} of {shown} is also that of {shorten_text(owners[guid][0])} "
                    f"on line {owners[guid][1]}"
                )
            )
        elif guids.get(name, guid) != guid:
            wrong.append(_build_finding(f"{file}:{number}: {shown} has {guid}, but {guids[name]} on an earlier line"))
        guids.setdefault(name, guid)
        owners.setdefault(guid, (name, number))
    return guids, wrong


def _build_finding(text: str) -> Finding:
    return Finding("guids-duplicate", "error", "", text, "each device has one unique GUID: read them again")
