"""Documentation of fields in the JSON Schemas: types, units, examples, and what holds without a field.

The docstring of a field ends in ``Example:`` with a value in YAML, unless its type implies one. ``empty means`` in it
begins what holds without the field, up to the end of the sentence, unless a default is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

__all__ = ["add_examples", "describe_type", "find_example", "find_unit", "format_yaml", "list_items", "split_absence"]

Schema = dict[str, Any]

_SCALARS = {"string": "string", "integer": "whole number", "number": "number", "boolean": "true or false"}
_UNBOUNDED = 10**15
"""A bound of this size protects computations; it is not shown."""

_ABSENCE = re.compile(r"[;.] [Ee]mpty means (?:that (?!of ))?(.+?)\.(?= |$)")
_EXAMPLE = re.compile(r"\s*Example:\s+``(.+)``\.$")


def add_examples(schema: Schema) -> Schema:
    """The schema of a document with ``examples`` at each field, moved from the descriptions or derived from types."""
    models = schema.get("$defs", {})
    for model in (schema, *models.values()):
        for field in model.get("properties", {}).values():
            _move_example(field)
    for model in (schema, *models.values()):
        for field in model.get("properties", {}).values():
            example = _find_example(field, models)
            if example is not None:
                field["examples"] = [example]
    return schema


def find_example(description: str) -> object:
    """The example at the end of the docstring of a field; None if there is none."""
    found = _EXAMPLE.search(" ".join(description.split()))
    return yaml.safe_load(found[1]) if found else None


def _move_example(field: Schema) -> None:
    description = " ".join(field.get("description", "").split())
    if found := _EXAMPLE.search(description):
        field["examples"] = [yaml.safe_load(found[1])]
        description = description[: found.start()]
    field["description"] = description


def _find_example(field: Mapping[str, Any], models: Mapping[str, Schema]) -> object:
    """An example of a value: its own, or the first that its type has; None if there is none."""
    if examples := field.get("examples"):
        return examples[0]
    if "$ref" in field:
        return _find_example(models[field["$ref"].rpartition("/")[2]], models)
    if "const" in field:
        return field["const"]
    if field.get("type") == "boolean":
        return not field.get("default")
    if "enum" in field:
        return next(value for value in field["enum"] if value != field.get("default"))
    for choice in (*field.get("anyOf", ()), *field.get("oneOf", ())):
        example = _find_example({"default": field.get("default")} | choice, models)
        if example is not None:
            return example
    return None


def find_unit(field: Mapping[str, Any], models: Mapping[str, Schema]) -> str:
    """The unit of a number or the units of a quantity; empty for counts and values without a unit."""
    if "$ref" in field:
        return find_unit(models[field["$ref"].rpartition("/")[2]], models)
    if "unit" in field:
        return str(field["unit"])
    choices = (*field.get("anyOf", ()), *field.get("oneOf", ()), field.get("items"), field.get("additionalProperties"))
    units = (find_unit(choice, models) for choice in choices if isinstance(choice, Mapping))
    return next(filter(None, units), "")


def split_absence(description: str) -> tuple[str, str]:
    """A description without the clause that begins with ``empty means``, and that clause; empty if there is none."""
    if found := _ABSENCE.search(description):
        return f"{description[: found.start()]}.{description[found.end() :]}", found[1]
    return description, ""


def format_yaml(value: object) -> str:
    """A value as it is written in YAML on one line; empty if it is null or has no items."""
    if value is None or value in ([], {}, ""):
        return ""
    text = yaml.safe_dump(
        _remove_nulls(value), default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True
    )
    return text.removesuffix("...\n").strip()


def _remove_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _remove_nulls(item) for key, item in value.items() if item is not None}
    return [_remove_nulls(item) for item in value] if isinstance(value, list) else value


def list_items(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas of the values of a list or of a mapping with free keys."""
    items = schema.get("items")
    if items is None and isinstance(schema.get("prefixItems"), list):
        items = schema["prefixItems"][0]
    free = list(schema.get("patternProperties", {}).values())
    extra = schema.get("additionalProperties")
    return [item for item in (items, *free, extra) if isinstance(item, Mapping)]


def describe_type(schema: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    """The type of a field in words, with bounds: ``whole number, 1 to 64``."""
    if "$ref" in schema:
        model = models[schema["$ref"].rpartition("/")[2]]
        return "mapping" if "properties" in model else describe_type(model, models)
    if "typeName" in schema:
        return str(schema["typeName"])
    if choices := _list_choices(schema):
        return " or ".join(dict.fromkeys(describe_type(item, models) for item in choices))
    if "enum" in schema or "const" in schema:
        values = [format_yaml(item) for item in schema.get("enum", [schema.get("const")])]
        return f"one of {', '.join(values)}" if len(values) > 1 else values[0]
    if "properties" in schema:
        return "mapping"
    if schema.get("type") in ("array", "object"):
        return _describe_collection(schema, models)
    return _SCALARS.get(str(schema.get("type")), "value") + _describe_bounds(schema)


def _list_choices(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas of which a value has one, without null."""
    choices = (*schema.get("oneOf", ()), *schema.get("anyOf", ()))
    return [item for item in choices if item.get("type") != "null"]


def _describe_collection(schema: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    types = sorted({describe_type(item, models) for item in list_items(schema)})
    return f"{'list' if schema['type'] == 'array' else 'mapping'} of {' or '.join(types) or 'values'}"


def _describe_bounds(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("exclusiveMinimum", schema.get("minimum")), schema.get("maximum")
    low, high = (None if item is None or abs(item) >= _UNBOUNDED else f"{item:,}" for item in (low, high))
    if low is not None and "exclusiveMinimum" in schema:
        return f", more than {low}" + (f", at most {high}" if high is not None else "")
    if low is not None and high is not None:
        return f", {low} to {high}"
    if low is not None:
        return f", {low} or more"
    return f", at most {high}" if high is not None else ""
