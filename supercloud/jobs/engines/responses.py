"""What services answer, checked before it is read: an answer of another shape is an error that says where and what.

A shape is a :class:`Kind` (one value), ``{field: shape}`` (an object; other fields are not looked at), ``[shape]`` (a
list), or :class:`Needed` around the shape of a field that must be there. Fields that are absent or null are fine.

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

from ...errors import EngineError, SupercloudError

__all__ = ["ANY", "BOOLEAN", "Kind", "LARGEST_COUNT", "LARGEST_NUMBER", "LAST_TIME", "NAMES", "NUMBER", "Needed",
           "OBJECT", "Shape", "TEXT", "checked", "is_number", "is_whole", "lines_of", "loaded", "parsed", "read_number",
           "understood", "valid_text"]  # fmt: skip

LARGEST_NUMBER = 2**63 - 1
"""What the job store holds."""
LARGEST_COUNT = 2**32 - 1
"""Of whatever a scheduler counts: ids, attempts, exit codes, nodes. Slurm's own counters have 32 bits."""
LAST_TIME = 253_402_300_799
"""The last second of the year 9999, since 1970: calendars of Python and of the schedulers end there."""

_SHOWN = 5  # problems of one answer that are named
# Each takes some hundred bytes of memory when it is read, however short it is written. slurmrestd says a job in about
# 400 values, and a controller keeps 10,000 of them where its MaxJobCount is not raised.
_VALUES = 4_000_000
_LINES = 1_000_000
_LINE = re.compile(r"[^\n]+")


@dataclass(frozen=True)
class Kind:
    """One value."""

    name: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True)
class Needed:
    """A field that must be there."""

    shape: Shape


Shape = Kind | Needed | Mapping[str, Any] | list[Any]

ANY = Kind("anything", lambda value: True)
BOOLEAN = Kind("true or false", lambda value: isinstance(value, bool))
NUMBER = Kind("a number of 64 bits", lambda value: is_number(value))
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
TEXT = Kind("a text", lambda value: isinstance(value, str) and valid_text(value) == value)
NAMES = Kind("an object of texts", lambda value: isinstance(value, dict) and all(
    isinstance(item, str) for item in value.values()))  # fmt: skip


def is_number(value: Any, least: int = -LARGEST_NUMBER, most: int = LARGEST_NUMBER) -> bool:
    """Whether it is a finite number between two bounds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def is_whole(value: Any, least: int = -LARGEST_NUMBER, most: int = LARGEST_NUMBER) -> bool:
    """The same of a number without a fraction."""
    return is_number(value, least, most) and value == int(value)


def read_number(text: str, what: str, most: int = LARGEST_COUNT) -> int:
    """The whole number that a command printed; :class:`EngineError` with ``what`` it should be where it is none."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(LARGEST_NUMBER)) or int(digits) > most:
        raise EngineError(f"{what} is {_shown(text)}, not a whole number up to {most}")
    return int(digits)


def lines_of(text: str, source: str) -> Iterator[str]:
    """The lines that a command printed, one after the other; :class:`EngineError` for more than an answer has."""
    for number, match in enumerate(_LINE.finditer(text)):
        if number == _LINES:
            raise EngineError(f"{source}: its answer has more than {_LINES:,} lines; is that the service it should be?")
        yield match[0]


def valid_text(text: str) -> str:
    """The text, with a question mark for each character that no encoding has."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def loaded(data: str | bytes) -> Any:
    """The value of a text in JSON, whose texts are valid.

    Raises :class:`ValueError`, also for more values than an answer has, or :class:`RecursionError`.
    """
    text = data if isinstance(data, str) else data.decode("utf-8-sig", errors="replace")
    if sum(map(text.count, ",[{")) > _VALUES:
        raise ValueError(f"it has more than {_VALUES:,} values")
    value = json.loads(text)
    if _SURROGATE.search(text):  # it may be a whole pair
        value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    return value


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def checked(value: Any, shape: Shape, source: str) -> Any:
    """The value, if it has this shape; else :class:`EngineError` with where it comes from, the field and what it is."""
    problems = list(_problems(value, shape, ""))
    if problems:
        more = f" (and {len(problems) - _SHOWN} more)" if len(problems) > _SHOWN else ""
        said = "; ".join(problems[:_SHOWN])
        raise EngineError(f"{source} answers what makes no sense: {said}{more}; is that the service it should be, in a "
                          "release that is supported?")  # fmt: skip
    return value


def parsed(data: str | bytes, shape: Shape, source: str) -> Any:
    """The same of a text that should be JSON."""
    try:
        value = loaded(data)
    except (ValueError, RecursionError) as error:
        text = data if isinstance(data, str) else data.decode(errors="replace")
        raise EngineError(f"{source} answers what is not JSON: {error}: {text[:80]!r}") from None
    except MemoryError:
        raise EngineError(f"{source}: the memory does not hold its answer of {len(data):,} bytes") from None
    return checked(value, shape, source)


@contextlib.contextmanager
def understood(source: str) -> Iterator[None]:
    """Around what reads an answer: a field that only its reader needs, and that is missing or odd, is an error too."""
    try:
        yield
    except KeyError as error:
        raise EngineError(f"{source} answers what makes no sense: an object has no {error}") from None
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, SupercloudError):
            raise
        raise EngineError(f"{source} answers what makes no sense: {error}") from None


def _problems(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if isinstance(shape, Needed):
        if value is None:
            yield f"{path or 'the answer'} is missing"
            return
        shape = shape.shape
    if isinstance(shape, Kind):
        if not shape.fits(value):
            yield _problem(value, shape.name, path)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield _problem(value, "a list", path)
            return
        for index, item in enumerate(value):
            yield from _problems(item, shape[0], f"{path}[{index}]")
    elif not isinstance(value, dict):
        yield _problem(value, "an object", path)
    else:
        assert isinstance(shape, Mapping)
        for name, inner in shape.items():
            item = value.get(name)
            if item is not None or isinstance(inner, Needed):
                yield from _problems(item, inner, f"{path}.{name}" if path else name)


def _problem(value: Any, wanted: str, path: str) -> str:
    return f"{path or 'the answer'} is {_shown(value)}, not {wanted}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
