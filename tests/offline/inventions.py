"""What a cloud would have answered: values for the outputs that only the provider knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .schema import Schema
from .shapes import Array, Choice, Object, OneOf, Scalar, Shape, read_properties

DEEPEST = 5
"""Nested objects below this depth stay empty: some types contain themselves."""


def invent(schema: Schema, inputs: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Computed outputs that the inputs do not already give.

    Strings are ``<owner>-<property>`` and lists have one item, so that a program that looks into them finds something.
    """
    missing = {name: prop for name, prop in schema.computed.items() if inputs.get(name) is None}
    return {name: _invent_value(prop.shape, f"{owner}-{name}", DEEPEST) for name, prop in missing.items()}


def _invent_value(shape: Shape, name: str, depth: int) -> Any:
    match shape:
        case Scalar("string"):
            return name
        case Scalar("boolean"):
            return False
        case Scalar():
            return 1
        case Choice(values):
            return values[0]
        case Array(items):
            return [_invent_value(items, name, depth - 1)] if depth else []
        case Object(cls):
            fields = read_properties(cls) if depth else {}
            return {field: _invent_value(prop.shape, f"{name}-{field}", depth - 1) for field, prop in fields.items()}
        case OneOf(members):
            return _invent_value(members[0], name, depth)
    return {}
