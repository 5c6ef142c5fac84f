"""Documentation of a field: type, unit, default, example and children, read from the JSON Schema of the models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import UnknownNameError
from .schema import DOCUMENTS, build_schema

__all__ = ["FieldDoc", "FieldGroup", "explain_field", "explain_forms", "iter_fields"]

_SCALARS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


@dataclass(frozen=True)
class FieldGroup:
    """Fields of one group: those of a mapping, or of one of several forms that it may have."""

    condition: str
    """What selects this form (``kind: slurm``); empty if there is one form only."""
    description: str
    fields: tuple[FieldDoc, ...]


@dataclass(frozen=True)
class FieldDoc:
    """One field of a document, or the document itself."""

    path: str
    """From the root of the document, without indices: ``pools.capacity``; empty for the document itself."""
    type: str
    """In words, with bounds: ``whole number, 1 to 64``."""
    description: str
    is_required: bool = False
    default: str = ""
    """In YAML notation; empty if there is no default or it is null."""
    example: str = ""
    children: tuple[FieldGroup, ...] = field(default=(), repr=False)
    condition: str = ""
    """What selects this form of a field that has several (``scheduler.kind: slurm``); empty if it has one only."""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


def explain_field(path: str = "cluster") -> FieldDoc:
    """A field by its path, the first of its forms where it has several (``explain_forms``)."""
    return explain_forms(path)[0]


def explain_forms(path: str = "cluster") -> tuple[FieldDoc, ...]:
    """All forms of a field by its path: ``facility.power``, ``pools[0].capacity``, ``job.place``; a document by its
    name. A field has several where its mapping has, such as ``scheduler.controllers``, and they differ.

    The first word may be the document (cluster, fleet, job); without it the path is a path of the cluster. Raises
    UnknownNameError with the nearest name for an unknown field.
    """
    parts = [part for part in re.sub(r"\[\d*\]", "", path).split(".") if part]
    document = parts.pop(0) if parts and parts[0] in DOCUMENTS else "cluster"
    forms: tuple[FieldDoc, ...] = (_describe_document(document),)
    for part in parts:
        children = _collect_children(forms)
        if part not in children:
            raise UnknownNameError(f"field of {forms[0].path or document}", part, children)
        forms = children[part]
    return forms


def iter_fields(parent: FieldDoc) -> Iterator[FieldDoc]:
    """All fields below a field or document, each after its parent, and each form of those that have several."""
    for forms in _collect_children((parent,)).values():
        for child in forms:
            yield child
            yield from iter_fields(child)


def _collect_children(parents: Iterable[FieldDoc]) -> dict[str, tuple[FieldDoc, ...]]:
    """The forms of each field below all forms of one, by its name. Forms that do not differ are one."""
    conditions: dict[str, dict[FieldDoc, list[str]]] = {}
    for parent in parents:
        for group in parent.children:
            own = f"{parent.path}.{group.condition}".lstrip(".") if group.condition else ""
            condition = " and ".join(item for item in (parent.condition, own) if item)
            for child in group.fields:
                conditions.setdefault(child.name, {}).setdefault(child, []).append(condition)
    return {
        name: tuple(
            replace(child, condition=" or ".join(filter(None, own))) if len(forms) > 1 else child
            for child, own in forms.items()
        )
        for name, forms in conditions.items()
    }


def _describe_document(name: str) -> FieldDoc:
    schema = build_schema(name)
    return FieldDoc(
        "",
        f"document ({name} spec)",
        schema.get("description", ""),
        children=_build_groups(schema, schema["$defs"], ""),
    )


def _build_groups(schema: Mapping[str, Any], models: Mapping[str, Any], path: str) -> tuple[FieldGroup, ...]:
    """The fields of a mapping, or of all mappings that a value may be; empty for values without fields."""
    if "$ref" in schema:
        return _build_groups(models[schema["$ref"].rpartition("/")[2]], models, path)
    if "properties" in schema:
        required = schema.get("required", ())
        fields = tuple(
            _describe_field(f"{path}.{key}".lstrip("."), value, models, key in required)
            for key, value in schema["properties"].items()
        )
        kind = schema["properties"].get("kind", {}).get("const")
        return (FieldGroup(f"kind: {kind}" if kind else "", _join_lines(schema.get("description", "")), fields),)
    nested = [*schema.get("oneOf", ()), *schema.get("anyOf", ()), *_list_items(schema)]
    return tuple(group for item in nested for group in _build_groups(item, models, path))


def _list_items(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The values of a list or of a mapping with free keys."""
    items = schema.get("items")
    if items is None and isinstance(schema.get("prefixItems"), list):
        items = schema["prefixItems"][0]
    free = list(schema.get("patternProperties", {}).values())
    extra = schema.get("additionalProperties")
    return [item for item in (items, *free, extra) if isinstance(item, Mapping)]


def _describe_field(path: str, schema: Mapping[str, Any], models: Mapping[str, Any], is_required: bool) -> FieldDoc:
    default = schema.get("default")
    has_default = default is not None and "$ref" not in schema
    return FieldDoc(
        path,
        _describe_type(schema, models),
        _join_lines(schema.get("description", "")),
        is_required,
        _format_value(default) if has_default else "",
        next(_iter_examples(schema), ""),
        _build_groups(schema, models, path),
    )


def _describe_type(schema: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        model = models[schema["$ref"].rpartition("/")[2]]
        return "mapping" if "properties" in model else _describe_type(model, models)
    if choices := [item for item in (*schema.get("oneOf", ()), *schema.get("anyOf", ())) if item.get("type") != "null"]:
        return " or ".join(dict.fromkeys(_describe_type(item, models) for item in choices))
    if "enum" in schema or "const" in schema:
        values = [_format_value(item) for item in schema.get("enum", [schema.get("const")])]
        return f"one of {', '.join(values)}" if len(values) > 1 else values[0]
    if "properties" in schema:
        return "mapping"
    if schema.get("type") in ("array", "object"):
        return _describe_collection(schema, models)
    return _describe_scalar(schema)


def _describe_collection(schema: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    """A list, or a mapping whose keys are not fields."""
    types = [_describe_type(item, models) for item in _list_items(schema)]
    if schema["type"] == "array":
        return "list of " + (types[0] if types else "values")
    return "mapping of " + (" or ".join(sorted(set(types))) or "values")


def _describe_scalar(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if schema.get("examples") and kind == "string" and schema.get("title"):
        return f"{_split_words(schema['title'])}, such as {schema['examples'][0]}"
    return _SCALARS.get(str(kind), "value") + _describe_bounds(schema)


def _describe_bounds(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("exclusiveMinimum", schema.get("minimum")), schema.get("maximum")
    more = "more than " if "exclusiveMinimum" in schema else ""
    if low is not None and high is not None:
        return f", {more}{low:g} to {high:g}" if isinstance(low, float) else f", {more}{low} to {high}"
    if low is not None:
        return f", {more}{low}" if more else f", {low} or more"
    return f", at most {high}" if high is not None else ""


def _iter_examples(schema: Mapping[str, Any]) -> Iterator[str]:
    yield from map(_format_value, schema.get("examples", ()))
    for item in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *_list_items(schema)):
        yield from _iter_examples(item)


def _format_value(value: Any) -> str:
    """A value as it is written in YAML on one line."""
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return value if isinstance(value, str) else json.dumps(value)


def _join_lines(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")


def _split_words(title: str) -> str:
    """``DataRate`` as words: ``data rate``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", title).lower()
