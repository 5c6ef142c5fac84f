"""Validation of responses of services: a response of another shape is an error with the field and the problem.

A shape is a :class:`ValueType` (one value), ``{field: shape}`` (an object; other fields are ignored), ``[shape]``
(a list), or :class:`Required` around the shape of a field that must be there. Absent or null fields are valid.

Numbers have bounds because they are written to the job store, which has 64 bits. Texts are valid Unicode because they
are printed: JSON text may escape half of a surrogate pair, which no output encoding supports.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import EngineError, SupercloudError

__all__ = [
    "ANY",
    "BOOLEAN",
    "ValueType",
    "find_number",
    "MAX_UINT32",
    "MAX_INT64",
    "MAX_TIMESTAMP",
    "TEXT_MAP",
    "NUMBER",
    "Required",
    "OBJECT",
    "Shape",
    "TEXT",
    "require_shape",
    "is_number",
    "is_whole",
    "iter_lines",
    "parse_json",
    "parse_response",
    "parse_number",
    "translate_errors",
    "replace_surrogates",
]

MAX_INT64 = 2**63 - 1
"""Range of integers in the job store."""
MAX_UINT32 = 2**32 - 1
"""Maximum of scheduler counters: ids, attempts, exit codes, nodes. Slurm's own counters have 32 bits."""
MAX_TIMESTAMP = 253_402_300_799
"""The last second of the year 9999, since 1970: the limit of calendars in Python and in schedulers."""

_MAX_PROBLEMS_SHOWN = 5  # problems of one response in a message
# Each value uses some hundred bytes of memory, however short its text. slurmrestd describes a job in about
# 400 values, and a controller keeps 10,000 of them unless its MaxJobCount is raised.
_MAX_DEPTH = 200
_TOO_DEEP = "its values are nested too deeply"
_MAX_VALUES = 4_000_000
_MAX_LINES = 1_000_000
_LINE_PATTERN = re.compile(r"[^\n]+")


def is_number(value: Any, minimum: int = -MAX_INT64, maximum: int = MAX_INT64) -> bool:
    """Whether it is a finite number between two bounds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and minimum <= value <= maximum


@dataclass(frozen=True)
class ValueType:
    """One value."""

    name: str
    matches: Callable[[Any], bool]


@dataclass(frozen=True)
class Required:
    """A field that must be there."""

    shape: Shape


Shape = ValueType | Required | Mapping[str, Any] | list[Any]

ANY = ValueType("anything", lambda value: True)
BOOLEAN = ValueType("true or false", lambda value: isinstance(value, bool))
NUMBER = ValueType("a number of 64 bits", is_number)
OBJECT = ValueType("an object", lambda value: isinstance(value, dict))
TEXT = ValueType("a string", lambda value: isinstance(value, str) and replace_surrogates(value) == value)
TEXT_MAP = ValueType(
    "an object of texts",
    lambda value: isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
)


def is_whole(value: Any, least: int = -MAX_INT64, most: int = MAX_INT64) -> bool:
    """Whether it is an integer between two bounds."""
    return is_number(value, least, most) and value == int(value)


def parse_number(text: str, label: str, maximum: int = MAX_UINT32) -> int:
    """The integer in the output of a command; :class:`EngineError` with ``label`` if it is not one."""
    number = find_number(text, maximum)
    if number is None:
        raise EngineError(f"{label} is {_format_value(text)}, not a whole number up to {maximum}")
    return number


def find_number(text: str, maximum: int = MAX_UINT32) -> int | None:
    """The integer in a text, from 0 to ``maximum``; None for any other text, such as a number of 5,000 digits, which
    ``int`` rejects.
    """
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(MAX_INT64)) or int(digits) > maximum:
        return None
    return int(digits)


def iter_lines(text: str, source: str) -> Iterator[str]:
    """The lines of the output of a command; :class:`EngineError` if there are too many."""
    for number, match in enumerate(_LINE_PATTERN.finditer(text)):
        if number == _MAX_LINES:
            raise EngineError(
                f"{source}: the response has more than {_MAX_LINES:,} lines; is this the expected service?"
            )
        yield match[0]


def replace_surrogates(text: str) -> str:
    """The text, with a question mark for each character that cannot be encoded."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def parse_json(data: str | bytes) -> Any:
    """Parse JSON whose texts are valid Unicode.

    Raises :class:`ValueError`, also for too many values, nested too deeply, and for numbers of too many digits.
    """
    text = data if isinstance(data, str) else data.decode("utf-8-sig", errors="replace")
    if sum(map(text.count, ",[{")) > _MAX_VALUES:
        raise ValueError(f"it has more than {_MAX_VALUES:,} values")
    try:
        value = json.loads(text)
        if _SURROGATE_PATTERN.search(text):  # it may be a complete pair
            value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError:
        raise ValueError(f"it has a number of more than {sys.get_int_max_str_digits():,} digits") from None
    _require_depth(value)
    return value


def _require_depth(value: Any) -> None:
    """Raise :class:`ValueError` for values that are nested too deeply: releases of Python differ in what they read."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in inner for item in items]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


_SURROGATE_PATTERN = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def require_shape(value: Any, shape: Shape, source: str) -> Any:
    """The value, if it has this shape; otherwise :class:`EngineError` with its source, the field and its value."""
    problems = list(_iter_problems(value, shape, ""))
    if problems:
        more = f" (and {len(problems) - _MAX_PROBLEMS_SHOWN} more)" if len(problems) > _MAX_PROBLEMS_SHOWN else ""
        shown = "; ".join(problems[:_MAX_PROBLEMS_SHOWN])
        raise EngineError(
            f"invalid response of {source}: {shown}{more}; is this the expected service, in a supported release?"
        )
    return value


def parse_response(data: str | bytes, shape: Shape, source: str) -> Any:
    """Parse a JSON response and require its shape; raises :class:`EngineError` for other text and other shapes."""
    try:
        value = parse_json(data)
    except ValueError as error:
        text = data if isinstance(data, str) else data.decode(errors="replace")
        raise EngineError(f"response of {source} is not valid JSON: {error}: {text[:80]!r}") from None
    except MemoryError:
        raise EngineError(f"{source}: not enough memory for its response of {len(data):,} bytes") from None
    return require_shape(value, shape, source)


@contextlib.contextmanager
def translate_errors(source: str) -> Iterator[None]:
    """Context of code that reads a response: a missing or invalid field that only this code needs raises
    :class:`EngineError` too.
    """
    try:
        yield
    except KeyError as error:
        raise EngineError(f"invalid response of {source}: an object has no {error}") from None
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, SupercloudError):
            raise
        raise EngineError(f"invalid response of {source}: {error}") from None


def _iter_problems(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if isinstance(shape, Required):
        if value is None:
            yield f"{path or 'the response'} is missing"
            return
        shape = shape.shape
    if isinstance(shape, ValueType):
        if not shape.matches(value):
            yield _format_problem(value, shape.name, path)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield _format_problem(value, "a list", path)
            return
        for index, item in enumerate(value):
            yield from _iter_problems(item, shape[0], f"{path}[{index}]")
    elif not isinstance(value, dict):
        yield _format_problem(value, "an object", path)
    else:
        assert isinstance(shape, Mapping)
        for name, inner in shape.items():
            item = value.get(name)
            if item is not None or isinstance(inner, Required):
                yield from _iter_problems(item, inner, f"{path}.{name}" if path else name)


def _format_problem(value: Any, expected: str, path: str) -> str:
    return f"{path or 'the response'} is {_format_value(value)}, not {expected}"


def _format_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
