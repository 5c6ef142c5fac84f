"""Problems of a validation as findings in the terms of the document: path, value, reason, nearest name."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from ..errors import MAX_SHOWN, NEAREST, Finding
from .base import NAME_PATTERN, PARTITION_PATTERN, DuplicateNameError, LocatedProblemsError
from .document import FIELD_NAME_PATTERN, DocumentPath, format_path
from .explanations import Problem, explain_problem, format_value
from .hints import list_models

__all__ = ["build_findings", "find_duplicate_names"]


_ONE_FIELD = re.compile(rf"{NEAREST}(\w+)\?$|write (\w+): ")
"""A hint that names one field."""
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
    forms = _classify_forms(found)
    is_meant = not isinstance(data, Mapping) or any(name in data for name in _iter_field_names(model))
    renamed = _find_renamed_fields(found[:MAX_SHOWN], data, model)
    shown = 0
    for place, item in found:
        if place in renamed or _is_consequence(item, place, around) or _is_of_another_form(item, place, around, forms):
            continue
        if shown == MAX_SHOWN:
            yield (
                place,
                Finding(check, "error", "", f"{error.error_count() - shown} more problems", "fix these first"),
            )
            return
        shown += 1
        if is_meant or all(isinstance(part, int) or FIELD_NAME_PATTERN.fullmatch(part) for part in place):
            yield from _describe_problems(Problem(item, place, data, model), check, find_line)
        else:
            yield place, Finding(check, "error", "", "the key at this line is not a field", "")


def _find_renamed_fields(
    found: Sequence[tuple[DocumentPath, Any]], data: Any, model: type[BaseModel]
) -> set[DocumentPath]:
    """Missing fields whose mapping has them under another name, for which they are suggested."""
    missing = {place for place, item in found if item["type"] == "missing"}
    parents = {place[:-1] for place in missing}
    hints = (
        (place[:-1], explain_problem(Problem(item, place, data, model))[1])
        for place, item in found
        if item["type"] == "extra_forbidden" and place[:-1] in parents
    )
    names = ((parent, _ONE_FIELD.match(hint)) for parent, hint in hints)
    return missing & {(*parent, name[1] or name[2]) for parent, name in names if name}


def _is_consequence(item: Any, place: DocumentPath, around: Container[DocumentPath]) -> bool:
    """Whether other findings report the cause of a problem."""
    if place in around and item["type"] == "too_short":
        return True  # a list whose items are all wrong counts as empty: the findings of the items have the cause
    # reported with its line by ``find_duplicate_names``
    return isinstance(item.get("ctx", {}).get("error"), DuplicateNameError)


_SCALAR_TYPES = {"literal_error", "enum", "string_type", "int_type", "float_type", "bool_type"}
_COMPOUND_TYPES = {"model_type", "model_attributes_type", "dict_type", "list_type", "tuple_type"}


def _classify_forms(found: Sequence[tuple[DocumentPath, Any]]) -> Mapping[bool, Container[DocumentPath]]:
    """The paths of problems by whether a mapping or a list is expected there."""
    return {
        is_compound: {place for place, item in found if (item["type"] in _COMPOUND_TYPES) is is_compound}
        for is_compound in (True, False)
    }


def _is_of_another_form(
    item: Any, place: DocumentPath, around: Container[DocumentPath], forms: Mapping[bool, Container[DocumentPath]]
) -> bool:
    """Whether a field may have a word or a mapping, and the problem is about the form that was not written."""
    if isinstance(item["input"], Mapping | list):
        return item["type"] in _SCALAR_TYPES and (place in around or place in forms[True])
    return item["input"] is not None and item["type"] in _COMPOUND_TYPES and place in forms[False]


def _describe_problems(
    problem: Problem, check: str, find_line: Callable[[DocumentPath], int]
) -> Iterator[tuple[DocumentPath, Finding]]:
    """The finding of a problem, or of the several that it consists of."""
    place, several = problem.path, problem.context.get("error")
    if isinstance(several, LocatedProblemsError):
        outer = partial(_find_line_below, find_line, place)
        for each in several.problems[:MAX_SHOWN]:
            below = (*place, *each.path)
            yield below, Finding(check, "error", format_path(below), each.describe(outer), each.hint)
        if (more := len(several.problems) - MAX_SHOWN) > 0:
            yield (
                place,
                Finding(check, "error", format_path(place), f"{more} more problems of this kind", "fix these first"),
            )
    else:
        yield place, Finding(check, "error", format_path(place), *explain_problem(problem))


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
        if not isinstance(inner, list | Mapping):
            continue
        for item in list_models(model.model_fields[name]):
            if isinstance(inner, list):
                yield from _find_duplicate_items(name, inner, item)
            elif _is_kind_of(inner, item):
                yield from (((name, *place), found) for place, found in find_duplicate_names(inner, item))


def _find_duplicate_items(
    field: str, items: Sequence[Any], model: type[BaseModel]
) -> Iterator[tuple[DocumentPath, Finding]]:
    """Duplicate names among the items of a model in one list, and in the lists inside them."""
    first: dict[str, int] = {}
    for index, each in enumerate(items):
        if not isinstance(each, Mapping) or not _is_kind_of(each, model):
            continue
        yield from (((field, index, *place), found) for place, found in find_duplicate_names(each, model))
        called = each.get("name")
        if not isinstance(called, str) or not _has_unique_name(model):
            continue
        if called in first:
            yield (
                (field, index, "name"),
                Finding(
                    "spec",
                    "error",
                    "",
                    f"duplicate name {format_value(called)}, first in {field}[{first[called]}]",
                    "names must be unique: rename or remove one of them",
                ),
            )
        first.setdefault(called, index)


def _has_unique_name(model: type[BaseModel]) -> bool:
    """Whether items of a model are identified by their names (and not by another field, as secrets are)."""
    info = model.model_fields.get("name")
    return info is not None and any(
        getattr(item, "pattern", None) in (NAME_PATTERN, PARTITION_PATTERN) for item in info.metadata
    )


def _is_kind_of(data: Mapping[str, Any], model: type[BaseModel]) -> bool:
    """Whether a mapping is of a model, by its ``kind`` if the model has one."""
    info = model.model_fields.get("kind")
    return info is None or not get_args(info.annotation) or data.get("kind") in get_args(info.annotation)


def _resolve_path(location: tuple[str | int, ...], data: Any, is_missing: bool) -> DocumentPath:
    """Drop the parts of a pydantic location that are union members instead of keys of the data. Only the last part of
    the location of a missing field is neither a key of the data nor a union member.
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
