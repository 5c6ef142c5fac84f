"""What a validation found wrong with a document, in the words of who wrote it: place, value, reason, nearest name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..errors import Finding, SpecError, nearest
from .base import NAME_PATTERN, PlacedProblems, TwiceNamed
from .document import FIELD_NAME, MOST_SHOWN, Place, parse_yaml, place_text
from .hints import hint_for_field, hint_for_mapping, hint_for_pattern, is_valid, models_in, rewritten

__all__ = ["findings_of", "twice_named"]


_LOOKED_AT = 10_000
"""Problems whose places are looked for: to find and sort those of 400,000 unknown keys would take seconds."""


def findings_of(
    error: ValidationError,
    data: Any,
    model: type[BaseModel],
    check: str = "spec",
    line: Callable[[Place], int] = lambda place: 0,
) -> Iterator[tuple[Place, Finding]]:
    """Every problem of a validation with its place in ``data``, value, reason and nearest name.

    In the order of ``line``. Of more than a few hundred only the first are said, and how many there are besides; of
    very many the first are found as the model met them. A file may be another than was meant, such as one that only
    its owner may see: where it has no field of the model at all, keys that do not look like names of fields are not
    shown.
    """
    found = [(_real_place(item["loc"], data), item) for item in error.errors(include_url=False)[:_LOOKED_AT]]
    found.sort(key=lambda pair: line(pair[0]))
    around = {place[:depth] for place, _ in found for depth in range(len(place))}
    is_meant = not isinstance(data, Mapping) or any(name in data for name in _names_of(model))
    said = 0
    for place, item in found:
        if place in around and item["type"] == "too_short":
            continue  # a list whose items are all wrong counts as empty: the items say what is the matter
        if isinstance(item.get("ctx", {}).get("error"), TwiceNamed):
            continue  # said with its line by whoever has the document (twice_named)
        if said == MOST_SHOWN:
            yield (
                place,
                Finding(check, "error", "", f"{error.error_count() - said} more problems", "correct these first"),
            )
            return
        said += 1
        if not (is_meant or all(isinstance(part, int) or FIELD_NAME.fullmatch(part) for part in place)):
            yield place, Finding(check, "error", "", "the key at this line is not a field", "")
            continue
        if isinstance(several := item.get("ctx", {}).get("error"), PlacedProblems):
            for each in several.problems:
                below = (*place, *each.place)
                outer = partial(_line_below, line, place)
                yield below, Finding(check, "error", place_text(below), each.described(outer), each.hint)
            continue
        problem, hint = _explain(item, place, data, model)
        yield place, Finding(check, "error", place_text(place), problem, hint)


def _line_below(line: Callable[[Place], int], outer: Place, place: Place) -> int:
    return line((*outer, *place))


def _names_of(model: type[BaseModel]) -> Iterator[str]:
    """Names under which a model takes fields."""
    for name, info in model.model_fields.items():
        yield info.alias or name


def twice_named(data: Any, model: type[BaseModel]) -> Iterator[tuple[Place, Finding]]:
    """Things of one list that have the same name, wherever the model names the items of a list: the later ones.

    This needs no valid document, so that it is said beside whatever else is wrong.
    """
    if not isinstance(data, Mapping):
        return
    for name in model.model_fields:
        inner = data.get(name)
        for item in models_in(model.model_fields[name]) if isinstance(inner, list | Mapping) else ():
            if isinstance(inner, Mapping):
                if _may_be(inner, item):
                    yield from (((name, *place), found) for place, found in twice_named(inner, item))
                continue
            first: dict[str, int] = {}
            for index, each in enumerate(inner or ()):
                if not isinstance(each, Mapping) or not _may_be(each, item):
                    continue
                yield from (((name, index, *place), found) for place, found in twice_named(each, item))
                called = each.get("name")
                if not isinstance(called, str) or not _is_named(item):
                    continue
                if called in first:
                    yield (name, index, "name"), Finding(
                        "spec", "error", "", f"{_shown(called)} is there twice, first as {name}[{first[called]}]",
                        "names are unique: rename or remove one of them")  # fmt: skip
                first.setdefault(called, index)


def _is_named(model: type[BaseModel]) -> bool:
    """Whether things of a model are told apart by their names (and not by something else, as secrets are)."""
    info = model.model_fields.get("name")
    return info is not None and any(getattr(item, "pattern", None) == NAME_PATTERN for item in info.metadata)


def _may_be(data: Mapping[str, Any], model: type[BaseModel]) -> bool:
    """Whether a mapping is meant to be of a model, by its ``kind`` where the model has one."""
    info = model.model_fields.get("kind")
    return info is None or not get_args(info.annotation) or data.get("kind") in get_args(info.annotation)


def _real_place(location: tuple[str | int, ...], data: Any) -> Place:
    """Drop the parts of a pydantic location that name union members instead of places in the data."""
    place: list[str | int] = []
    here: Any = data
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if isinstance(here, Mapping) and isinstance(part, str) and (part in here or last) and part != "[key]":
            place.append(part)
            here = here.get(part)
        elif isinstance(here, Sequence) and not isinstance(here, str) and isinstance(part, int) and part < len(here):
            place.append(part)
            here = here[part]
    return tuple(place)


def _shown(value: object) -> str:
    if hasattr(value, "text"):
        return str(value.text)
    text = json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


_KIND_WORDS = {
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
_BOUNDS = {
    "greater_than": ("gt", "is not more than", "take more"),
    "greater_than_equal": ("ge", "is less than", "take {} or more"),
    "less_than": ("lt", "is not less than", "take less"),
    "less_than_equal": ("le", "is more than", "take {} or less"),
    "string_too_short": ("min_length", "is shorter than", "take {} characters or more"),
    "string_too_long": ("max_length", "is longer than", "take {} characters or fewer"),
    "too_short": ("min_length", "has fewer items than", "give {} or more"),
    "too_long": ("max_length", "has more items than", "give {} or fewer"),
}


def _explain(item: Any, place: Place, data: Any, model: type[BaseModel]) -> tuple[str, str]:
    kind, value, context = item["type"], item["input"], item.get("ctx", {})
    if kind == "extra_forbidden":
        known = _fields_at(model, place[:-1], data)
        hint = hint_for_field(str(place[-1]), value, _models_at(model, place[:-1], data)) if place else ""
        hint = hint or (nearest(str(place[-1]), known) if place else "")
        return f"there is no field {str(place[-1] if place else '')!r} here", hint
    if kind == "missing":
        return f"{str(place[-1] if place else item['loc'][-1])!r} is missing", "add it"
    if kind in ("literal_error", "union_tag_invalid", "enum"):
        expected = [
            part.strip().strip("'")
            for part in re.split(r", | or ", str(context.get("expected") or context.get("expected_tags") or ""))
        ]
        tag = context.get("tag", value)
        return f"{_shown(tag)} is not one of {', '.join(expected)}", nearest(str(tag), expected)
    if kind == "union_tag_not_found":
        return f"{str(context.get('discriminator', 'kind')).strip(chr(39))!r} is missing", "it says which one this is"
    if kind in _KIND_WORDS:
        # what a mapping or a list holds is not shown: the file may be another than was meant, such as one of secrets
        is_one = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else _shown(value)
        return f"{is_one} is not {_KIND_WORDS[kind]}", _remedy(_KIND_WORDS[kind], value, place, data, model)
    if kind in _BOUNDS:
        bound, words, cure = _BOUNDS[kind]
        limit = str(context[bound]) if isinstance(context[bound], int) else f"{context[bound]:g}"
        return f"{_shown(value)} {words} {limit}", cure.format(limit)
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern"))
        words, hint = hint_for_pattern(pattern, str(value))
        return f"{_shown(value)} {words or f'does not match {pattern}'}", hint
    if kind == "value_error":
        return str(context.get("error", item["msg"])), _rewritten(value, "", _infos_at(model, place, data))
    return f"{_shown(value)}: {item['msg'][:1].lower()}{item['msg'][1:]}", ""


def _remedy(wanted: str, value: object, place: Place, data: Any, model: type[BaseModel]) -> str:
    """How a value of another kind is written."""
    if wanted == "a text" and isinstance(value, int | float):
        return "put it in quotes"
    if better := _rewritten(value, wanted, _infos_at(model, place, data)):
        return better
    if wanted == "a mapping" and (better := hint_for_mapping(value, _models_at(model, place, data))):
        return better
    if wanted == "a list" and value is not None:
        return _as_list(value, _infos_at(model, place, data))
    if wanted == "a mapping" and (fields := _fields_at(model, place, data)):
        return f"its fields are {', '.join(fields)}"
    return ""


def _rewritten(value: object, wanted: str, infos: Sequence[FieldInfo]) -> str:
    """How a value is written that has a form of another system, where the field takes it then."""
    for other in rewritten(value, wanted):
        if any(is_valid(info, other) for info in infos):
            return f"write {_flow(other)}"
    return ""


def _as_list(value: object, infos: Sequence[FieldInfo]) -> str:
    """How the list that a field wants is written, with the value in it where that makes one that it takes."""
    words: list[object] = [*value.split()] if isinstance(value, str) else [value]
    models = [item for info in infos for item in models_in(info)]
    named = [{"name": str(word)} for word in words]
    for items in (words, [_shown(word) for word in words], named if models and isinstance(value, str) else []):
        if items and any(is_valid(info, items) for info in infos):
            return f"write [{', '.join(_flow(item) for item in items)}]"
    if models:
        needed = [name for name, info in models[0].model_fields.items() if info.is_required()]
        if needed:
            return f"write a list of mappings: [{{{', '.join(f'{name}: …' for name in needed)}}}]"
        return f"write a list of mappings with the fields {', '.join(sorted(models[0].model_fields))}"
    return f"write [{', '.join(_flow(item) for item in words)}]"  # what is wrong with the item is said then


def _flow(value: object) -> str:
    """A value as it stands in a list of YAML, in quotes where it would not be read as a text without them."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return _shown(value)
    try:
        plain = yaml.safe_load(f"[{value}]") == [value] and parse_yaml(value).data == value
    except (yaml.YAMLError, SpecError):
        plain = False
    return value if plain else json.dumps(value, ensure_ascii=False)


def _infos_at(model: type[BaseModel], place: Place, data: Any) -> list[FieldInfo]:
    """What the models that may stand around a place say of its field; nothing for the items of a list."""
    if not place or not isinstance(place[-1], str):
        return []
    return [around.model_fields[place[-1]] for around in _models_at(model, place[:-1], data)
            if place[-1] in around.model_fields]  # fmt: skip


def _fields_at(model: type[BaseModel], place: Place, data: Any) -> list[str]:
    """Names of the fields a model has at a place."""
    return sorted({name for candidate in _models_at(model, place, data) for name in candidate.model_fields})


def _models_at(model: type[BaseModel], place: Place, data: Any) -> list[type[BaseModel]]:
    """The models that may stand at a place, following unions by their discriminating ``kind``."""
    candidates: list[type[BaseModel]] = [model]
    here = data
    for part in place:
        here = _inside(here, part)
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


def _inside(value: Any, part: str | int) -> Any:
    try:
        return value[part]
    except (KeyError, IndexError, TypeError):
        return None
