"""Documentation of a field: type, unit, default, example and children, read from the JSON Schema of the models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from ..errors import InputError, UnknownNameError
from .field_docs import describe_type, find_unit, format_yaml, list_items, split_absence
from .schema import DOCUMENTS, build_schema

__all__ = ["FieldDoc", "FieldGroup", "explain_field", "explain_forms", "iter_fields"]


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
    """As ``explain_field`` finds it, without indices: ``pools.capacity``, ``job.place``; for a document its name."""
    type: str
    """In words, with bounds: ``whole number, 1 to 64``."""
    description: str
    is_required: bool = False
    unit: str = ""
    """Unit of a number, or units of a quantity; empty for counts and values without a unit."""
    default: str = ""
    """In YAML notation; empty for a required field, and where ``absence`` describes what holds."""
    absence: str = ""
    """What holds without the field, in words; empty for a required field, and where it is the default."""
    example: str = ""
    """In YAML notation."""
    children: tuple[FieldGroup, ...] = field(default=(), repr=False)
    condition: str = ""
    """What selects this form of a field that has several (``scheduler.kind: slurm``); empty if it has one only."""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    def join_path(self, name: str) -> str:
        """The path of a field of this one."""
        return name if self.path == "cluster" else f"{self.path}.{name}"


def explain_field(path: str = "cluster") -> FieldDoc:
    """A field by its path, the first of its forms where it has several (``explain_forms``)."""
    return explain_forms(path)[0]


def explain_forms(path: str = "cluster") -> tuple[FieldDoc, ...]:
    """All forms of a field by its path: ``facility.power``, ``pools[0].capacity``, ``job.place``; a document by its
    name. A field has several where its mapping has, such as ``scheduler.controllers``, and they differ.

    The first word may be the document (cluster, fleet, job); without it the path is a path of the cluster. Raises
    UnknownNameError with the nearest name for an unknown field, InputError for text that is not a path.
    """
    parts = re.sub(r"\[\d*\]", "", path).split(".")
    if "" in parts:
        raise InputError(
            f"{path!r} is not a path of a field: use names separated by dots, such as facility.power or job.place, or "
            f"a document ({', '.join(DOCUMENTS)})"
        )
    document = parts.pop(0) if parts[0] in DOCUMENTS else "cluster"
    forms: tuple[FieldDoc, ...] = (_describe_document(document),)
    for part in parts:
        children = _collect_children(forms)
        if part not in children:
            raise _build_unknown_error(forms[0], part, children)
        forms = children[part]
    return forms


def _build_unknown_error(parent: FieldDoc, part: str, children: Iterable[str]) -> InputError:
    if not parent.children:
        return InputError(f"{parent.path} has no fields: its type is {parent.type}")
    if parent.path != "cluster":
        return UnknownNameError(f"field of {parent.path}", part, children)
    for document in DOCUMENTS:
        if part in _collect_children((_describe_document(document),)):
            return InputError(f"unknown field of cluster {part!r}; did you mean {document}.{part}?")
    return UnknownNameError("field of cluster", part, [*children, *DOCUMENTS])


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
            own = parent.join_path(group.condition) if group.condition else ""
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


@cache
def _describe_document(name: str) -> FieldDoc:
    schema = build_schema(name)
    root = FieldDoc(name, "document", schema.get("description", ""))
    return replace(root, children=_build_groups(schema, schema["$defs"], root))


def _build_groups(schema: Mapping[str, Any], models: Mapping[str, Any], parent: FieldDoc) -> tuple[FieldGroup, ...]:
    """The fields of a mapping, or of all mappings that a value may be; empty for values without fields."""
    if "$ref" in schema:
        return _build_groups(models[schema["$ref"].rpartition("/")[2]], models, parent)
    if "properties" in schema:
        required = schema.get("required", ())
        fields = tuple(
            _describe_field(parent.join_path(key), value, models, key in required)
            for key, value in schema["properties"].items()
        )
        kind = schema["properties"].get("kind", {}).get("const")
        return (FieldGroup(f"kind: {kind}" if kind else "", _join_lines(schema.get("description", "")), fields),)
    nested = [*schema.get("oneOf", ()), *schema.get("anyOf", ()), *list_items(schema)]
    return tuple(group for item in nested for group in _build_groups(item, models, parent))


def _describe_field(path: str, schema: Mapping[str, Any], models: Mapping[str, Any], is_required: bool) -> FieldDoc:
    description, absence = split_absence(_join_lines(schema.get("description", "")))
    default = "" if is_required or absence or "$ref" in schema else format_yaml(schema.get("default"))
    if not (is_required or absence or default) and "$ref" in schema:
        absence = "the defaults of its fields"
    field_doc = FieldDoc(
        path,
        describe_type(schema, models),
        description,
        is_required,
        find_unit(schema, models),
        default,
        absence,
        format_yaml(next(iter(schema.get("examples", ())), None)),
    )
    return replace(field_doc, children=_build_groups(schema, models, field_doc))


def _join_lines(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")
