"""How things are said: results on stdout, progress and next steps on stderr, errors with an exit code."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..errors import Finding, InputError, SupercloudError

__all__ = [
    "format_columns",
    "discard_output",
    "report_error",
    "report_system_error",
    "print_findings",
    "print_note",
    "escape_controls",
    "escape_json_controls",
    "prepare_logging",
    "prepare_streams",
    "print_result",
    "print_json",
    "fall_back_to_stderr",
]

_COLORS = {"error": "31", "warning": "33", "note": "36"}


# Control characters but tab and newline, and the marks that change the direction of text: what a scheduler, a file or a
# job's name says may not write to the terminal of who reads it.
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"} | {
    code: f"\\u{code:04x}" for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029)
}

_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in _ESCAPES if code >= 127}


def escape_controls(text: str) -> str:
    """The text with what a terminal would obey made visible, as ``\\x1b``."""
    return text.translate(_ESCAPES)


def escape_json_controls(text: str) -> str:
    """The same for JSON, which stays the same JSON: only inside its texts are there such characters.

    Where the encoding of stdout has not all of its characters, they are written as ``\\u`` escapes.
    """
    text = text.translate(_JSON_ESCAPES)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return re.sub(r"[^\x00-\x7f]+", lambda found: json.dumps(found[0])[1:-1], text)
    return text


def prepare_streams() -> None:
    """Make the standard streams take every text: what an encoding lacks is escaped, a closed stream is discarded."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # its descriptor is taken too, or the next file that is opened would get what is printed
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _NoteHandler(logging.Handler):
    """Prints what the library logs as notes: without a handler, Python would write it to stderr as it is."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):  # nobody reads it: what was warned of goes on
            print_note(self.format(record))


_NOTE_HANDLER = _NoteHandler(logging.WARNING)


def prepare_logging() -> None:
    """Print what the library warns of: texts of schedulers, files and names are in it, and are escaped as elsewhere."""
    logging.getLogger("supercloud").addHandler(_NOTE_HANDLER)


@contextlib.contextmanager
def fall_back_to_stderr(text: str) -> Iterator[None]:
    """Around the answer about something that was done: where stdout cannot be written, stderr gets ``text``."""
    try:
        yield
        sys.stdout.flush()
    except OSError:
        print(escape_controls(text), file=sys.stderr)
        raise


def print_result(text: str) -> None:
    """A line of the answer."""
    print(escape_controls(text))


def print_json(value: Any) -> None:
    """The answer for programs."""
    print(escape_json_controls(json.dumps(value, indent=1, ensure_ascii=False, default=str)))


def print_note(text: str) -> None:
    """Something beside the answer: progress, what to do next."""
    _print_message(text)


def _print_message(text: str) -> None:
    """Write to stderr, after all that stdout got before: in a pipe stdout is buffered and stderr is not."""
    try:
        sys.stdout.flush()
    finally:  # whatever became of the answer
        print(escape_controls(text), file=sys.stderr)


def format_columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns."""
    table = [[escape_controls(cell).replace("\n", "\\n") for cell in row] for row in rows]
    if not table:
        return []
    widths = [max(len(row[index]) for row in table) for index in range(len(table[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def print_findings(items: Iterable[Finding], stream: Any = None) -> None:
    """Findings, one after the other, coloured where a person reads."""
    out = stream or sys.stdout
    if out is sys.stderr:
        sys.stdout.flush()  # as in _print_message
    colour = out.isatty() and "NO_COLOR" not in os.environ
    for finding in items:
        level = f"\033[{_COLORS[finding.level]}m{finding.level}\033[0m" if colour else finding.level
        print(f"{level}: {escape_controls(str(finding))}", file=out)


def report_error(error: SupercloudError) -> int:
    """Say an error on stderr and return its exit code."""
    if isinstance(error, InputError) and error.findings:
        _print_message(f"supercloud: {error.args[0]}")
        print_findings(error.findings, sys.stderr)
    else:
        _print_message(f"supercloud: {error}")
    return error.exit_code


def report_system_error(error: Exception) -> int:
    """Say on stderr what the system refused, or which value is out of range; returns the exit code."""
    try:
        sys.stdout.flush()
        said, code = _describe_system_error(error)
    except OSError as lost:
        discard_output(sys.stdout)
        said, code = f"the answer could not be written to standard output: {lost.strerror}", 1
    try:
        print(escape_controls(f"supercloud: {said}"), file=sys.stderr)
    except OSError:
        discard_output(sys.stderr)
    return code


def discard_output(stream: Any) -> None:
    """Let go of what a stream still has to write, which would be tried once more when the process ends."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def _describe_system_error(error: Exception) -> tuple[str, int]:
    if isinstance(error, OSError):
        reason = error.strerror or str(error) or type(error).__name__
        return (f"{os.fsdecode(error.filename)}: {reason}" if isinstance(error.filename, str | bytes) else reason), 1
    if isinstance(error, UnicodeError):
        return f"a text has characters that its encoding lacks: {error}", 2
    return f"a number is out of range: {error}", 2
