"""Problems of a validation as findings in the terms of the document: path, value, reason, nearest name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..errors import Finding, SpecError, suggest_nearest
from .base import NAME_PATTERN, DuplicateNameError, LocatedProblemsError
from .document import FIELD_NAME_PATTERN, MAX_SHOWN, DocumentPath, format_path, parse_yaml
from .hints import find_field_hint, find_mapping_hint, find_pattern_hint, is_valid, iter_rewrites, models_in

__all__ = ["build_findings", "find_duplicate_names"]


_MAX_EXAMINED = 10_000
"""Problems whose lines are located: to find and sort those of 400,000 unknown keys would take seconds."""


def build_findings(
    error: ValidationError,
    data: Any,
    model: type[BaseModel],
    check: str = "spec",
    find_line: Callable[[DocumentPath], int] = lambda place: 0,
) -> Iterator[tuple[DocumentPath, Finding]]:
    """Every problem of a validation with its path in ``data``, value, reason and nearest name.

    In the order of ``find_line``. Of more than a few hundred only the first are reported, with the number of the
    others; for very many, these are the first in the order of validation. A file may be the wrong one, such as one that
    only its owner can read: if it has no field of the model at all, keys that do not look like field names are not
    shown.
    """
    found = [
        (_resolve_path(item["loc"], data, item["type"] == "missing"), item)
        for item in error.errors(include_url=False)[:_MAX_EXAMINED]
    ]
    found.sort(key=lambda pair: find_line(pair[0]))
    around = {place[:depth] for place, _ in found for depth in range(len(place))}
    is_meant = not isinstance(data, Mapping) or any(name in data for name in _iter_field_names(model))
    said = 0
    for place, item in found:
        if place in around and item["type"] == "too_short":
            continue  # a list whose items are all wrong counts as empty: the findings of the items have the cause
        if isinstance(item.get("ctx", {}).get("error"), DuplicateNameError):
            continue  # reported with its line by ``find_duplicate_names``
        if said == MAX_SHOWN:
            yield (
                place,
                Finding(check, "error", "", f"{error.error_count() - said} more problems", "fix these first"),
            )
            return
        said += 1
        if not (is_meant or all(isinstance(part, int) or FIELD_NAME_PATTERN.fullmatch(part) for part in place)):
            yield place, Finding(check, "error", "", "the key at this line is not a field", "")
            continue
        if isinstance(several := item.get("ctx", {}).get("error"), LocatedProblemsError):
            for each in several.problems:
                below = (*place, *each.path)
                outer = partial(_find_line_below, find_line, place)
                yield below, Finding(check, "error", format_path(below), each.describe(outer), each.hint)
            continue
        problem, hint = _explain(item, place, data, model)
        yield place, Finding(check, "error", format_path(place), problem, hint)


def _find_line_below(find_line: Callable[[DocumentPath], int], outer: DocumentPath, path: DocumentPath) -> int:
    return find_line((*outer, *path))


def _iter_field_names(model: type[BaseModel]) -> Iterator[str]:
    """Names of fields that a model accepts."""
    for name, info in model.model_fields.items():
        yield info.alias or name


def find_duplicate_names(data: Any, model: type[BaseModel]) -> Iterator[tuple[DocumentPath, Finding]]:
    """Items of a list with a duplicate name, except the first, in all lists whose items have names.

    This does not require a valid document, so it is reported together with other problems.
    """
    if not isinstance(data, Mapping):
        return
    for name in model.model_fields:
        inner = data.get(name)
        for item in models_in(model.model_fields[name]) if isinstance(inner, list | Mapping) else ():
            if isinstance(inner, Mapping):
                if _is_kind_of(inner, item):
                    yield from (((name, *place), found) for place, found in find_duplicate_names(inner, item))
                continue
            first: dict[str, int] = {}
            for index, each in enumerate(inner or ()):
                if not isinstance(each, Mapping) or not _is_kind_of(each, item):
                    continue
                yield from (((name, index, *place), found) for place, found in find_duplicate_names(each, item))
                called = each.get("name")
                if not isinstance(called, str) or not _has_unique_name(item):
                    continue
                if called in first:
                    yield (
                        (name, index, "name"),
                        Finding(
                            "spec",
                            "error",
                            "",
                            f"duplicate name {_format_value(called)}, first in {name}[{first[called]}]",
                            "names must be unique: rename or remove one of them",
                        ),
                    )
                first.setdefault(called, index)


def _has_unique_name(model: type[BaseModel]) -> bool:
    """Whether items of a model are identified by their names (and not by another field, as secrets are)."""
    info = model.model_fields.get("name")
    return info is not None and any(getattr(item, "pattern", None) == NAME_PATTERN for item in info.metadata)


def _is_kind_of(data: Mapping[str, Any], model: type[BaseModel]) -> bool:
    """Whether a mapping is of a model, by its ``kind`` if the model has one."""
    info = model.model_fields.get("kind")
    return info is None or not get_args(info.annotation) or data.get("kind") in get_args(info.annotation)


def _resolve_path(location: tuple[str | int, ...], data: Any, is_missing: bool) -> DocumentPath:
    """Drop the parts of a pydantic location that are union members instead of keys of the data. Only the last part of
    the location of a missing field is no key of the data and no union member.
    """
    place: list[str | int] = []
    here: Any = data
    for index, part in enumerate(location):
        last = is_missing and index == len(location) - 1
        if isinstance(here, Mapping) and isinstance(part, str) and (part in here or last) and part != "[key]":
            place.append(part)
            here = here.get(part)
        elif isinstance(here, Sequence) and not isinstance(here, str) and isinstance(part, int) and part < len(here):
            place.append(part)
            here = here[part]
    return tuple(place)


def _format_value(value: object) -> str:
    if hasattr(value, "text"):
        return str(value.text)
    text = json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


_TYPE_NAMES = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_BOUND_TEXTS = {
    "greater_than": ("gt", "must be greater than", "use a greater value"),
    "greater_than_equal": ("ge", "is less than", "use {} or more"),
    "less_than": ("lt", "must be less than", "use a smaller value"),
    "less_than_equal": ("le", "is more than", "use {} or less"),
    "string_too_short": ("min_length", "is shorter than", "use {} characters or more"),
    "string_too_long": ("max_length", "is longer than", "use {} characters or fewer"),
    "too_short": ("min_length", "has fewer items than", "use {} or more"),
    "too_long": ("max_length", "has more items than", "use {} or fewer"),
}


def _explain(error: Any, path: DocumentPath, data: Any, model: type[BaseModel]) -> tuple[str, str]:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "extra_forbidden":
        known = _list_fields(model, path[:-1], data)
        hint = find_field_hint(str(path[-1]), value, _find_models(model, path[:-1], data)) if path else ""
        hint = hint or (suggest_nearest(str(path[-1]), known) if path else "")
        return f"unknown field {str(path[-1] if path else '')!r}", hint
    if kind == "missing":
        return f"{str(path[-1] if path else error['loc'][-1])!r} is missing", "add it"
    if kind in ("literal_error", "union_tag_invalid", "enum"):
        expected = [
            part.strip().strip("'")
            for part in re.split(r", | or ", str(context.get("expected") or context.get("expected_tags") or ""))
        ]
        tag = context.get("tag", value)
        return f"{_format_value(tag)} is not one of {', '.join(expected)}", suggest_nearest(str(tag), expected)
    if kind == "union_tag_not_found":
        return f"{str(context.get('discriminator', 'kind')).strip(chr(39))!r} is missing", "add it: it selects the type"
    if kind in _TYPE_NAMES:
        # the content of a mapping or a list is not shown: the file may be the wrong one, such as one with secrets
        is_one = (
            "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else _format_value(value)
        )
        return f"{is_one} is not {_TYPE_NAMES[kind]}", _suggest_value(_TYPE_NAMES[kind], value, path, data, model)
    if kind in _BOUND_TEXTS:
        bound, words, suggestion = _BOUND_TEXTS[kind]
        limit = str(context[bound]) if isinstance(context[bound], int) else f"{context[bound]:g}"
        return f"{_format_value(value)} {words} {limit}", suggestion.format(limit)
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern"))
        words, hint = find_pattern_hint(pattern, str(value))
        return f"{_format_value(value)} {words or f'does not match {pattern}'}", hint
    if kind == "value_error":
        return str(context.get("error", error["msg"])), _suggest_rewrite(
            value, "", _find_field_infos(model, path, data)
        )
    return f"{_format_value(value)}: {error['msg'][:1].lower()}{error['msg'][1:]}", ""


def _suggest_value(expected: str, value: object, path: DocumentPath, data: Any, model: type[BaseModel]) -> str:
    """A hint for a value of another type."""
    if expected == "a text" and isinstance(value, int | float):
        return "put it in quotes"
    if better := _suggest_rewrite(value, expected, _find_field_infos(model, path, data)):
        return better
    if expected == "a mapping" and (better := find_mapping_hint(value, _find_models(model, path, data))):
        return better
    if expected == "a list" and value is not None:
        return _suggest_list(value, _find_field_infos(model, path, data))
    if expected == "a mapping" and (fields := _list_fields(model, path, data)):
        return f"valid fields: {',  '.join(fields)}"
    return ""


def _suggest_rewrite(value: object, expected: str, infos: Sequence[FieldInfo]) -> str:
    """The value rewritten from the form of another system, if the field accepts it."""
    for other in iter_rewrites(value, expected):
        if any(is_valid(info, other) for info in infos):
            return f"write {_format_flow(other)}"
    return ""


def _suggest_list(value: object, infos: Sequence[FieldInfo]) -> str:
    """The list that a field requires, with the value in it if the field accepts the result."""
    words: list[object] = [*value.split()] if isinstance(value, str) else [value]
    models = [item for info in infos for item in models_in(info)]
    named = [{"name": str(word)} for word in words]
    for items in (words, [_format_value(word) for word in words], named if models and isinstance(value, str) else []):
        if items and any(is_valid(info, items) for info in infos):
            return f"write [{', '.join(_format_flow(item) for item in items)}]"
    if models:
        needed = [name for name, info in models[0].model_fields.items() if info.is_required()]
        if needed:
            return f"write a list of mappings: [{{{', '.join(f'{name}: …' for name in needed)}}}]"
        return f"write a list of mappings with the fields {', '.join(sorted(models[0].model_fields))}"
    return f"write [{', '.join(_format_flow(item) for item in words)}]"  # the problem of the item is reported then


def _format_flow(value: object) -> str:
    """A value as an item of a YAML list, quoted if it would not be read as text otherwise."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_format_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return _format_value(value)
    try:
        plain = yaml.safe_load(f"[{value}]") == [value] and parse_yaml(value).data == value
    except (yaml.YAMLError, SpecError):
        plain = False
    return value if plain else json.dumps(value, ensure_ascii=False)


def _find_field_infos(model: type[BaseModel], path: DocumentPath, data: Any) -> list[FieldInfo]:
    """The field of a path in its possible parent models; empty for the items of a list."""
    if not path or not isinstance(path[-1], str):
        return []
    return [
        around.model_fields[path[-1]]
        for around in _find_models(model, path[:-1], data)
        if path[-1] in around.model_fields
    ]


def _list_fields(model: type[BaseModel], path: DocumentPath, data: Any) -> list[str]:
    """Names of the fields of a model at a path."""
    return sorted({name for candidate in _find_models(model, path, data) for name in candidate.model_fields})


def _find_models(model: type[BaseModel], path: DocumentPath, data: Any) -> list[type[BaseModel]]:
    """The possible models at a path, following unions by their discriminating ``kind``."""
    candidates: list[type[BaseModel]] = [model]
    here = data
    for part in path:
        here = _get_child(here, part)
        if isinstance(part, int):
            continue
        fields = [candidate.model_fields[part] for candidate in candidates if part in candidate.model_fields]
        candidates = [inner for info in fields for inner in models_in(info)]
    if isinstance(here, Mapping) and "kind" in here and len(candidates) > 1:
        tagged = [
            c
            for c in candidates
            if "kind" in c.model_fields and here["kind"] in get_args(c.model_fields["kind"].annotation)
        ]
        candidates = tagged or candidates
    return candidates


def _get_child(value: Any, part: str | int) -> Any:
    try:
        return value[part]
    except (KeyError, IndexError, TypeError):
        return None
