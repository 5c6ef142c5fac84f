"""Explanations of the problems of a validation: the value, what is wrong with it, and a hint."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ..errors import NEAREST, SpecError, suggest_nearest
from ..primitives.ssh_keys import is_private_key
from .document import DocumentPath, parse_yaml
from .field_docs import find_example
from .hints import (
    find_field_hint,
    find_mapping_hint,
    find_pattern_hint,
    is_valid,
    iter_rewrites,
    list_models,
    suggest_count,
    suggest_times,
)

__all__ = ["Problem", "explain_problem", "format_value"]

_TYPE_NAMES = {
    "string_type": "a string",
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
_ADDRESS_WITH_SECRET = re.compile(r"://[^/\s@]*:[^/\s@]+@")
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


@dataclass(frozen=True)
class Problem:
    """An error of a validation, its path in the data, and the model of the data."""

    error: Any
    path: DocumentPath
    data: Any
    model: type[BaseModel]

    @property
    def value(self) -> Any:
        """The rejected value."""
        return self.error["input"]

    @property
    def context(self) -> Mapping[str, Any]:
        """Values of the error, such as a bound."""
        context: Mapping[str, Any] = self.error.get("ctx", {})
        return context

    @property
    def name(self) -> str:
        """The last key of the path; empty for the document."""
        return str(self.path[-1]) if self.path else ""

    def suggest_rewrite(self, expected: str) -> str:
        """The value rewritten from the form of another system, if a field at the path accepts it."""
        infos = _find_field_infos(self.model, self.path, self.data)
        for other in iter_rewrites(self.value, expected, self.name):
            if any(is_valid(info, other) for info in infos):
                times = suggest_times(self.value) if isinstance(other, str) else ""
                return times or f"write {_format_flow(other)}"
        return ""


def explain_problem(problem: Problem) -> tuple[str, str]:
    """What is wrong, and a hint."""
    is_value_shown = problem.error["type"] != "missing"  # then it is the mapping around the field: the whole document
    if is_value_shown and is_private_key(str(problem.value)):
        return "a private key, which is not shown", "use its public key: the line of the file that ends in .pub"
    explain = _EXPLANATIONS.get(problem.error["type"])
    if explain is not None:
        return explain(problem)
    message = problem.error["msg"]
    return f"{format_value(problem.value)}: {message[:1].lower()}{message[1:]}", ""


def format_value(value: object) -> str:
    """A value for a message, shortened."""
    if hasattr(value, "text"):
        return str(value.text)
    in_yaml = value is None or isinstance(value, dict | list | bool)
    text = json.dumps(value, ensure_ascii=False, default=str) if in_yaml else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _explain_unknown_field(problem: Problem) -> tuple[str, str]:
    path = problem.path
    hint = ""
    if problem.name.isdigit() and problem.value is None:
        hint = "a comma separates fields: write a number without it, such as 1024"
    elif path:
        models, around = _find_models(problem.model, path[:-1], problem.data), _get_value(problem.data, path[:-1])
        hint = find_field_hint(problem.name, problem.value, models, around if isinstance(around, Mapping) else ())
        hint = hint or suggest_nearest(problem.name, _list_fields(problem.model, path[:-1], problem.data))
    return f"unknown field {problem.name!r}", hint


def _explain_missing_field(problem: Problem) -> tuple[str, str]:
    return f"{problem.name if problem.path else str(problem.error['loc'][-1])!r} is missing", "add it"


def _explain_choice(problem: Problem) -> tuple[str, str]:
    context = problem.context
    choices = str(context.get("expected") or context.get("expected_tags") or "")
    expected = [part.strip().strip("'") for part in re.split(r", | or ", choices)]
    tag = context.get("tag", problem.value)
    hint = suggest_nearest(str(tag), expected)
    if not hint.startswith(NEAREST):
        hint = f"write {expected[0]}" if len(expected) == 1 else "write one of these"
    return f"{format_value(tag)} is not one of {', '.join(expected)}", hint


def _explain_missing_tag(problem: Problem) -> tuple[str, str]:
    tag = str(problem.context.get("discriminator", "kind")).strip("'")
    return f"{tag!r} is missing", "add it: it selects the type"


def _explain_type(problem: Problem) -> tuple[str, str]:
    value, expected = problem.value, _TYPE_NAMES[problem.error["type"]]
    # the content of a mapping or a list is not shown: the file may be the wrong one, such as one with secrets
    if value is None:
        return f"is empty, and {expected} is required", _suggest_content(expected, problem)
    is_one = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else format_value(value)
    return f"{is_one} is not {expected}", _suggest_value(expected, problem)


def _explain_bound(problem: Problem) -> tuple[str, str]:
    name, words, suggestion = _BOUND_TEXTS[problem.error["type"]]
    bound = problem.context[name]
    limit = str(bound) if isinstance(bound, int) else f"{bound:g}"
    return f"{format_value(problem.value)} {words} {limit}", suggestion.format(limit)


def _explain_pattern(problem: Problem) -> tuple[str, str]:
    pattern = str(problem.context.get("pattern"))
    if _ADDRESS_WITH_SECRET.search(str(problem.value)):
        return "an address with a password or token, which is not shown", "write the address without it"
    words, hint = find_pattern_hint(pattern, str(problem.value))
    value = format_value(problem.value)
    return f"{value} {words or 'does not have the form of this field'}", hint or _suggest_example(problem)


def _suggest_example(problem: Problem) -> str:
    """A hint with the example of the field at a path, or of the list with the item at it; empty if it has none."""
    path = problem.path
    while path and isinstance(path[-1], int):
        path = path[:-1]
    for info in _find_field_infos(problem.model, path, problem.data):
        example = find_example(info.description or "")
        if isinstance(example, list) and example:
            example = example[0]
        if isinstance(example, str):
            return f"write a value such as {example}"
    return ""


def _explain_value(problem: Problem) -> tuple[str, str]:
    return str(problem.context.get("error", problem.error["msg"])), problem.suggest_rewrite("")


# Type of a pydantic error -> its explanation.
_EXPLANATIONS: Mapping[str, Callable[[Problem], tuple[str, str]]] = {
    "extra_forbidden": _explain_unknown_field,
    "missing": _explain_missing_field,
    **dict.fromkeys(("literal_error", "union_tag_invalid", "enum"), _explain_choice),
    "union_tag_not_found": _explain_missing_tag,
    **dict.fromkeys(_TYPE_NAMES, _explain_type),
    **dict.fromkeys(_BOUND_TEXTS, _explain_bound),
    "string_pattern_mismatch": _explain_pattern,
    "value_error": _explain_value,
}


def _suggest_content(expected: str, problem: Problem) -> str:
    """A hint for a field that is written without a value."""
    path, data, model = problem.path, problem.data, problem.model
    if expected == "a list":
        models = [item for info in _find_field_infos(model, path, data) for item in list_models(info)]
        return _suggest_mappings(models[0]) if models else "write [] or a list of values"
    fields = _list_fields(model, path, data) if expected == "a mapping" else []
    return f"valid fields: {', '.join(fields)}" if fields else "specify a value"


def _suggest_value(expected: str, problem: Problem) -> str:
    """A hint for a value of another type."""
    value, path, data, model = problem.value, problem.path, problem.data, problem.model
    if expected == "a string" and isinstance(value, int | float):
        return "put it in quotes"
    if better := problem.suggest_rewrite(expected):
        return better
    if expected == "a whole number" and isinstance(value, str):
        return suggest_count(value, _find_field_infos(model, path, data))
    if expected == "a mapping" and (better := find_mapping_hint(value, _find_models(model, path, data))):
        return better
    if expected == "a list":
        return _suggest_list(value, _find_field_infos(model, path, data))
    if expected == "a mapping" and (fields := _list_fields(model, path, data)):
        return f"valid fields: {', '.join(fields)}"
    return ""


def _suggest_list(value: object, infos: Sequence[FieldInfo]) -> str:
    """The list that a field requires, with the value in it if the field accepts the result."""
    words: list[object] = [*value.split()] if isinstance(value, str) else [value]
    models = [item for info in infos for item in list_models(info)]
    candidates: list[Sequence[object]] = [words, [format_value(word) for word in words]]
    if models and isinstance(value, str):
        candidates.append([{"name": str(word)} for word in words])
    for items in candidates:
        if items and any(is_valid(info, items) for info in infos):
            return f"write {_format_list(items)}"
    # if items are texts or numbers, the problem of the item is reported after this one is fixed
    return _suggest_mappings(models[0]) if models else f"write {_format_list(words)}"


def _suggest_mappings(model: type[BaseModel]) -> str:
    """The form of a list whose items are of a model."""
    needed = [name for name, info in model.model_fields.items() if info.is_required()]
    if needed:
        return f"write a list of mappings: [{{{', '.join(f'{name}: …' for name in needed)}}}]"
    return f"write a list of mappings with the fields {', '.join(sorted(model.model_fields))}"


def _format_list(items: Sequence[object]) -> str:
    return f"[{', '.join(_format_flow(item) for item in items)}]"


def _format_flow(value: object) -> str:
    """A value as an item of a YAML list, quoted if it would not be read as text otherwise."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_format_flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return format_value(value)
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
        candidates = [inner for info in fields for inner in list_models(info)]
    if isinstance(here, Mapping) and "kind" in here and len(candidates) > 1:
        tagged = [
            c
            for c in candidates
            if "kind" in c.model_fields and here["kind"] in get_args(c.model_fields["kind"].annotation)
        ]
        candidates = tagged or candidates
    return candidates


def _get_value(data: Any, path: DocumentPath) -> Any:
    for part in path:
        data = _get_child(data, part)
    return data


def _get_child(value: Any, part: str | int) -> Any:
    try:
        return value[part]
    except (KeyError, IndexError, TypeError):
        return None
