"""What services answer, checked before it is read: an answer of another shape is an error that says where and what.

A shape is a :class:`Kind` (one value), ``{field: shape}`` (an object; other fields are not looked at), ``[shape]`` (a
list), or :class:`Needed` around the shape of a field that must be there. Fields that are absent or null are fine.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import EngineError, SupercloudError

__all__ = ["ANY", "BOOLEAN", "Kind", "NAMES", "NUMBER", "Needed", "OBJECT", "Shape", "TEXT", "checked", "parsed",
           "understood"]  # fmt: skip

_SHOWN = 5  # problems of one answer that are named


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
NUMBER = Kind("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)
              and math.isfinite(value))  # fmt: skip
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
TEXT = Kind("a text", lambda value: isinstance(value, str))
NAMES = Kind("an object of texts", lambda value: isinstance(value, dict) and all(
    isinstance(item, str) for item in value.values()))  # fmt: skip


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
        value = json.loads(data)
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
    except (AttributeError, IndexError, TypeError, ValueError) as error:
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
    text = repr(value)
    return f"{path or 'the answer'} is {text if len(text) <= 60 else text[:57] + '...'}, not {wanted}"
