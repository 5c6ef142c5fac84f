"""Output: results on stdout, progress and next steps on stderr, errors with an exit code."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ..errors import MAX_SHOWN, CatalogError, Finding, InputError, SpecError, SupercloudError
from ..primitives.counts import format_count

__all__ = [
    "format_columns",
    "discard_output",
    "discard_unwritable_messages",
    "report_error",
    "report_system_error",
    "request_json_errors",
    "print_findings",
    "print_plan_findings",
    "print_note",
    "escape_controls",
    "escape_json_controls",
    "escape_line",
    "prepare_logging",
    "prepare_streams",
    "print_result",
    "print_json",
    "fall_back_to_stderr",
]

_COLORS = {"error": "31", "warning": "33", "note": "36"}


# Control characters except tab and newline, and the marks that change the direction of text: text of a scheduler, a
# file or a job name must not control the terminal of the reader.
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"} | {
    code: f"\\u{code:04x}" for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029)
}

_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in _ESCAPES if code >= 127}


def escape_controls(text: str) -> str:
    r"""The text with characters that would control a terminal escaped, as ``\x1b``."""
    return text.translate(_ESCAPES)


def escape_line(text: str) -> str:
    r"""The same with line breaks escaped, as ``\n``: for text of others in a line, which cannot begin another line."""
    return escape_controls(text).replace("\n", "\\n")


def escape_json_controls(text: str) -> str:
    r"""The same for JSON, which keeps its value: such characters occur only inside its strings.

    Characters that the encoding of stdout lacks are written as ``\u`` escapes.
    """
    text = text.translate(_JSON_ESCAPES)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return re.sub(r"[^\x00-\x7f]+", lambda found: json.dumps(found[0])[1:-1], text)
    return text


def prepare_streams() -> None:
    """Make the standard streams accept every text: characters that the encoding lacks are escaped, output to a
    closed stream is discarded.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # occupy its descriptor too, or the next file that is opened would receive the output
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - never closed
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _NoteHandler(logging.Handler):
    """Prints log records of the library as notes: without a handler, Python would write them to stderr unescaped."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record on stderr; a closed stderr is ignored."""
        with contextlib.suppress(OSError):  # stderr is closed: the operation continues
            print_note(self.format(record))


_NOTE_HANDLER = _NoteHandler(logging.WARNING)


def prepare_logging() -> None:
    """Print warnings of the library: they quote schedulers, files and names, which are escaped as elsewhere."""
    logging.getLogger("supercloud").addHandler(_NOTE_HANDLER)


@contextlib.contextmanager
def fall_back_to_stderr(text: str) -> Iterator[None]:
    """Print the result of a completed action inside this context: if stdout cannot be written, ``text`` goes to
    stderr.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError:
        print(escape_controls(text), file=sys.stderr)
        raise


def print_result(text: str) -> None:
    """Print a line of the result."""
    _print_on_stdout(escape_controls(text))


def print_json(value: Any) -> None:
    """Print the result as JSON."""
    _print_on_stdout(escape_json_controls(json.dumps(value, indent=1, ensure_ascii=False, default=str)))


def _print_on_stdout(text: str) -> None:
    """Print a text; an error of an unbuffered stdout (PYTHONUNBUFFERED) names it, as one of the final flush does."""
    try:
        print(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, f"the result could not be written: {error.strerror}", "standard output") from None


def print_note(text: str) -> None:
    """Print something in addition to the result: progress, the next step."""
    _print_message(text)


def _print_message(text: str) -> None:
    """Write to stderr, after flushing stdout: in a pipe stdout is buffered and stderr is not."""
    try:
        sys.stdout.flush()
    finally:  # even if the result could not be written
        print(escape_controls(text), file=sys.stderr)


def format_columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns."""
    table = [[escape_line(cell) for cell in row] for row in rows]
    if not table:
        return []
    widths = [max(len(row[index]) for row in table) for index in range(len(table[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def print_plan_findings(findings: Sequence[Finding], stream: Any = None) -> None:
    """Print findings of a plan, which has errors first: of very many the first, and the number of the others."""
    print_findings(findings[:MAX_SHOWN], stream)
    if hidden := findings[MAX_SHOWN:]:
        errors = format_count(sum(finding.level == "error" for finding in hidden), "error")
        print(
            f"{format_count(len(hidden), 'more finding')}, {errors} among them: fix these first, or list all with "
            "supercloud check --json",
            file=stream or sys.stdout,
        )


def print_findings(items: Iterable[Finding], stream: Any = None) -> None:
    """Print findings, colored on a terminal."""
    out = stream or sys.stdout
    if out is sys.stderr:
        sys.stdout.flush()  # as in _print_message
    color = out.isatty() and "NO_COLOR" not in os.environ
    for finding in items:
        level = f"\033[{_COLORS[finding.level]}m{finding.level}\033[0m" if color else finding.level
        print(f"{level}: {escape_controls(str(finding))}", file=out)


class _JsonErrors:
    """Whether the errors of a file are also printed as JSON, and in which form."""

    is_requested = False
    as_list = False


def request_json_errors(is_requested: bool, as_list: bool = False) -> None:
    """Let :func:`report_error` print the errors of a file on stdout too: as a list, else as ``{"findings": […]}``."""
    _JsonErrors.is_requested, _JsonErrors.as_list = is_requested, as_list


def _print_json_errors(error: SupercloudError) -> None:
    """With ``--json`` a program reads stdout: print the findings of a file there, as those of a valid spec are."""
    is_of_file = isinstance(error, SpecError | CatalogError) or isinstance(error, InputError) and error.findings
    if not _JsonErrors.is_requested or not is_of_file or not isinstance(error, InputError):
        return
    findings = error.findings or (Finding("spec", "error", "", str(error.args[0])),)
    found = [asdict(item) for item in findings]
    print_json(found if _JsonErrors.as_list else {"findings": found})


def report_error(error: SupercloudError) -> int:
    """Print an error to stderr, with ``--json`` those of a file to stdout too, and return its exit code."""
    _print_json_errors(error)
    if isinstance(error, InputError) and error.findings:
        _print_message(f"supercloud: {error.args[0]}")
        # problems of a document are bounded where they are found
        (print_findings if isinstance(error, SpecError) else print_plan_findings)(error.findings, sys.stderr)
    else:
        _print_message(f"supercloud: {error}")
    return error.exit_code


def report_system_error(error: Exception) -> int:
    """Print a system error or a value out of range to stderr; returns the exit code."""
    try:
        sys.stdout.flush()
        message, code = _describe_system_error(error)
    except OSError as lost:
        discard_output(sys.stdout)
        message, code = f"the result could not be written to standard output: {lost.strerror}", 1
    try:
        print(escape_controls(f"supercloud: {message}"), file=sys.stderr)
    except OSError:
        discard_output(sys.stderr)
    return code


def discard_unwritable_messages() -> None:
    """Discard messages that stderr does not accept (full disk): the interpreter would end with exit code 120."""
    try:
        sys.stderr.flush()
    except OSError:
        discard_output(sys.stderr)


def discard_output(stream: Any) -> None:
    """Discard the buffered output of a stream, which would otherwise be written again when the process ends."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def _describe_system_error(error: Exception) -> tuple[str, int]:
    if isinstance(error, OSError):
        reason = error.strerror or str(error) or type(error).__name__
        return (f"{os.fsdecode(error.filename)}: {reason}" if isinstance(error.filename, str | bytes) else reason), 1
    if isinstance(error, UnicodeError):
        return f"the text has characters that the encoding does not support: {error}", 2
    return f"a number is out of range: {error}", 2
