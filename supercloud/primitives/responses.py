"""What services answer, checked before it is read: an answer of another shape is an error that says where and what.

A shape is a :class:`ValueType` (one value), ``{field: shape}`` (an object; other fields are not looked at), ``[shape]``
(a list), or :class:`Required` around the shape of a field that must be there. Fields that are absent or null are fine.

Numbers have bounds, since they are written to the job store, which holds 64 bits. Texts are valid Unicode, since they
are printed: a text of JSON may escape half of a surrogate pair, which no output takes.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import EngineError, SupercloudError

__all__ = [
    "ANY",
    "BOOLEAN",
    "ValueType",
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
"""What the job store holds."""
MAX_UINT32 = 2**32 - 1
"""Of whatever a scheduler counts: ids, attempts, exit codes, nodes. Slurm's own counters have 32 bits."""
MAX_TIMESTAMP = 253_402_300_799
"""The last second of the year 9999, since 1970: calendars of Python and of the schedulers end there."""

_MAX_PROBLEMS_SHOWN = 5  # problems of one answer that are named
# Each takes some hundred bytes of memory when it is read, however short it is written. slurmrestd says a job in about
# 400 values, and a controller keeps 10,000 of them where its MaxJobCount is not raised.
_MAX_VALUES = 4_000_000
_MAX_LINES = 1_000_000
_LINE_PATTERN = re.compile(r"[^\n]+")


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
NUMBER = ValueType("a number of 64 bits", lambda value: is_number(value))
OBJECT = ValueType("an object", lambda value: isinstance(value, dict))
TEXT = ValueType("a text", lambda value: isinstance(value, str) and replace_surrogates(value) == value)
TEXT_MAP = ValueType(
    "an object of texts",
    lambda value: isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
)


def is_number(value: Any, minimum: int = -MAX_INT64, maximum: int = MAX_INT64) -> bool:
    """Whether it is a finite number between two bounds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and minimum <= value <= maximum


def is_whole(value: Any, least: int = -MAX_INT64, most: int = MAX_INT64) -> bool:
    """The same of a number without a fraction."""
    return is_number(value, least, most) and value == int(value)


def parse_number(text: str, label: str, maximum: int = MAX_UINT32) -> int:
    """The whole number that a command printed; :class:`EngineError` with ``label`` where it is none."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(MAX_INT64)) or int(digits) > maximum:
        raise EngineError(f"{label} is {_format_value(text)}, not a whole number up to {maximum}")
    return int(digits)


def iter_lines(text: str, source: str) -> Iterator[str]:
    """The lines that a command printed, one after the other; :class:`EngineError` for more than an answer has."""
    for number, match in enumerate(_LINE_PATTERN.finditer(text)):
        if number == _MAX_LINES:
            raise EngineError(
                f"{source}: its answer has more than {_MAX_LINES:,} lines; is that the service it should be?"
            )
        yield match[0]


def replace_surrogates(text: str) -> str:
    """The text, with a question mark for each character that no encoding has."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def parse_json(data: str | bytes) -> Any:
    """The value of a text in JSON, whose texts are valid.

    Raises :class:`ValueError`, also for more values than an answer has, or :class:`RecursionError`.
    """
    text = data if isinstance(data, str) else data.decode("utf-8-sig", errors="replace")
    if sum(map(text.count, ",[{")) > _MAX_VALUES:
        raise ValueError(f"it has more than {_MAX_VALUES:,} values")
    value = json.loads(text)
    if _SURROGATE_PATTERN.search(text):  # it may be a whole pair
        value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    return value


_SURROGATE_PATTERN = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def require_shape(value: Any, shape: Shape, source: str) -> Any:
    """The value, if it has this shape; else :class:`EngineError` with where it comes from, the field and what it is."""
    problems = list(_iter_problems(value, shape, ""))
    if problems:
        more = f" (and {len(problems) - _MAX_PROBLEMS_SHOWN} more)" if len(problems) > _MAX_PROBLEMS_SHOWN else ""
        said = "; ".join(problems[:_MAX_PROBLEMS_SHOWN])
        raise EngineError(
            f"{source} answers what makes no sense: {said}{more}; is that the service it should be, in a "
            "release that is supported?"
        )
    return value


def parse_response(data: str | bytes, shape: Shape, source: str) -> Any:
    """The same of a text that should be JSON."""
    try:
        value = parse_json(data)
    except (ValueError, RecursionError) as error:
        text = data if isinstance(data, str) else data.decode(errors="replace")
        raise EngineError(f"{source} answers what is not JSON: {error}: {text[:80]!r}") from None
    except MemoryError:
        raise EngineError(f"{source}: the memory does not hold its answer of {len(data):,} bytes") from None
    return require_shape(value, shape, source)


@contextlib.contextmanager
def translate_errors(source: str) -> Iterator[None]:
    """Around what reads an answer: a field that only its reader needs, and that is missing or odd, is an error too."""
    try:
        yield
    except KeyError as error:
        raise EngineError(f"{source} answers what makes no sense: an object has no {error}") from None
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, SupercloudError):
            raise
        raise EngineError(f"{source} answers what makes no sense: {error}") from None


def _iter_problems(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if isinstance(shape, Required):
        if value is None:
            yield f"{path or 'the answer'} is missing"
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
    return f"{path or 'the answer'} is {_format_value(value)}, not {expected}"


def _format_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
