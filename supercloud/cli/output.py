"""How things are said: results on stdout, progress and next steps on stderr, errors with an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import Finding, InputError, SupercloudError

__all__ = ["columns", "fail", "findings", "note", "result", "result_json"]

_COLOURS = {"error": "31", "warning": "33", "note": "36"}


def result(text: str) -> None:
    """A line of the answer."""
    print(text)


def result_json(value: Any) -> None:
    """The answer for programs."""
    print(json.dumps(value, indent=1, ensure_ascii=False, default=str))


def note(text: str) -> None:
    """Something beside the answer: progress, what to do next."""
    _print_message(text)


def _print_message(text: str) -> None:
    """Write to stderr, after all that stdout got before: in a pipe stdout is buffered and stderr is not."""
    sys.stdout.flush()
    print(text, file=sys.stderr)


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns."""
    table = [list(row) for row in rows]
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
        print(f"{level}: {finding}", file=out)


def fail(error: SupercloudError) -> int:
    """Say an error on stderr and return its exit code."""
    if isinstance(error, InputError) and error.findings:
        _print_message(f"supercloud: {error.args[0]}")
        findings(error.findings, sys.stderr)
    else:
        _print_message(f"supercloud: {error}")
    return error.exit_code
