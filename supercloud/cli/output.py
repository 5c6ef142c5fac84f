"""How things are said: results on stdout, progress and next steps on stderr, errors with an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import Finding, InputError, SupercloudError

__all__ = ["columns", "fail", "findings", "note", "plain", "plain_json", "result", "result_json"]

_COLOURS = {"error": "31", "warning": "33", "note": "36"}


# Control characters but tab and newline, and the marks that change the direction of text: what a scheduler, a file or a
# job's name says may not write to the terminal of who reads it.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"} | {
    code: f"\\u{code:04x}" for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029)
}

_JSON_CONTROLS = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 127}


def plain(text: str) -> str:
    """The text with what a terminal would obey made visible, as ``\\x1b``."""
    return text.translate(_CONTROLS)


def plain_json(text: str) -> str:
    """The same for JSON, which stays the same JSON: only inside its texts are there such characters."""
    return text.translate(_JSON_CONTROLS)


def result(text: str) -> None:
    """A line of the answer."""
    print(plain(text))


def result_json(value: Any) -> None:
    """The answer for programs."""
    print(plain_json(json.dumps(value, indent=1, ensure_ascii=False, default=str)))


def note(text: str) -> None:
    """Something beside the answer: progress, what to do next."""
    _print_message(text)


def _print_message(text: str) -> None:
    """Write to stderr, after all that stdout got before: in a pipe stdout is buffered and stderr is not."""
    sys.stdout.flush()
    print(plain(text), file=sys.stderr)


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns."""
    table = [[plain(cell).replace("\n", "\\n") for cell in row] for row in rows]
    if not table:
        return []
    widths = [max(len(row[index]) for row in table) for index in range(len(table[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def findings(found: Iterable[Finding], stream: Any = None) -> None:
    """Findings, one after the other, coloured where a person reads."""
    out = stream or sys.stdout
    if out is sys.stderr:
        sys.stdout.flush()  # as in _print_message
    colour = out.isatty() and "NO_COLOR" not in os.environ
    for finding in found:
        level = f"\033[{_COLOURS[finding.level]}m{finding.level}\033[0m" if colour else finding.level
        print(f"{level}: {plain(str(finding))}", file=out)


def fail(error: SupercloudError) -> int:
    """Say an error on stderr and return its exit code."""
    if isinstance(error, InputError) and error.findings:
        _print_message(f"supercloud: {error.args[0]}")
        findings(error.findings, sys.stderr)
    else:
        _print_message(f"supercloud: {error}")
    return error.exit_code
