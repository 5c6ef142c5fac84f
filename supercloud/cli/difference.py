"""Rows of the table of differences: what differs is never cut, so that different values never look the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..plan.publish.diff import Change

__all__ = ["build_change_rows"]

_MAX_LENGTH = 80
"""Longer values are shown by their parts; --json has the whole values."""
_MAX_PART_LENGTH = 160
"""Of one part, such as a public SSH key of the usual type with its comment."""
_CONTEXT_LENGTH = 16
"""Equal characters that are shown before and after those that differ."""


def build_change_rows(change: Change) -> Iterator[tuple[str, str, str, str]]:
    """Impact, path, values and reason of a change; a row for each part of values that do not fit in one."""
    for cell, why in _iter_cells(change):
        yield change.impact, change.path, cell, why


def _iter_cells(change: Change) -> Iterator[tuple[str, str]]:
    """The values and the reason; without values the reason comes first."""
    old, new = change.old, change.new
    if old is None and new is None:
        yield change.why, ""
        return
    texts = _format_value(old), _format_value(new)
    if max(map(len, texts)) <= _MAX_LENGTH:
        cells = [f"{texts[0]} -> {texts[1]}"]
    elif _is_compound(old) and _is_compound(new):
        cells = _list_different_parts(_list_parts(old), _list_parts(new))
    else:
        cells = []
    for cell in cells or [" -> ".join(_format_unequal(*texts))]:
        yield cell, change.why


def _is_compound(value: object) -> bool:
    return value is None or isinstance(value, Mapping | Sequence) and not isinstance(value, str)


def _list_parts(value: Any) -> list[str]:
    """A mapping as its fields, a list as its items, nothing as no parts."""
    if isinstance(value, Mapping):
        return [part for name, inner in value.items() for part in _list_field_parts(name, inner)]
    return [_format_value(item) for item in value or ()]


def _list_field_parts(name: str, value: Any) -> list[str]:
    """A field in a line, or a line for each part of a value that is too long for one."""
    text = f"{name}: {_format_value(value)}"
    if len(text) <= _MAX_LENGTH or value is None or not _is_compound(value):
        return [text]
    if isinstance(value, Mapping):
        return [f"{name}.{part}" for part in _list_parts(value)]
    return [part for index, item in enumerate(value) for part in _list_field_parts(f"{name}[{index}]", item)]


def _list_different_parts(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The parts that only one side has, the removed ones first; empty if only their order differs."""
    removed, added = Counter(old) - Counter(new), Counter(new) - Counter(old)
    marked = [("-", part) for part in removed.elements()] + [("+", part) for part in added.elements()]
    shown = [f"{mark} {_format_part(part)}" for mark, part in marked]
    # two parts that differ in their middle only would be the same text
    return shown if len(set(shown)) == len(set(marked)) else [f"{mark} {part}" for mark, part in marked]


def _format_part(text: str) -> str:
    """A long part by its start and its end, where public keys have their comments."""
    if len(text) <= _MAX_PART_LENGTH:
        return text
    half = _MAX_PART_LENGTH // 2
    return f"{text[:half]}…{text[-half:]}"


def _format_unequal(old: str, new: str) -> tuple[str, str]:
    """Two different texts without most of what is equal at their starts and ends."""
    start = _count_equal(old, new)
    end = min(_count_equal(old[::-1], new[::-1]), len(old) - start, len(new) - start)
    first, last = max(0, start - _CONTEXT_LENGTH), max(0, end - _CONTEXT_LENGTH)
    return _format_excerpt(old, first, last), _format_excerpt(new, first, last)


def _count_equal(left: str, right: str) -> int:
    """The number of equal characters at the start of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def _format_excerpt(text: str, first: int, last: int) -> str:
    """The part of a text between two numbers of characters, cut after the first ones that differ if it is long."""
    inner = text[first : len(text) - last]
    if len(inner) > _MAX_LENGTH:
        inner, last = inner[: _MAX_LENGTH - 1], 1
    return f"{'…' * (first > 0)}{inner}{'…' * (last > 0)}"


def _format_value(value: object) -> str:
    """A value in the notation of JSON, which YAML reads too; names without quotes."""
    if isinstance(value, str):
        return value
    return "(nothing)" if value is None else json.dumps(value, ensure_ascii=False, default=str)
