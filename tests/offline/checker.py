"""Check inputs against the provider's schema. All problems are reported together, each with its path.

The Python SDK lets misspelled keys of nested dictionaries through, and a real provider says so only at the cloud.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import sdks, wire
from .schema import read_schema
from .shapes import Anything, Array, Choice, File, Map, Object, OneOf, Property, Ref, Scalar, Shape, read_properties

ENGINE_KEYS = frozenset({"version", "pluginDownloadURL", "__internal", "__defaults"})
"""What the engine and the SDKs add to the inputs of a provider."""


@dataclass(frozen=True)
class Problem:
    """Something the provider would refuse (``error``), or might (``warning``: a value outside an open list)."""

    path: str
    message: str
    level: str = "error"

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def check(token: str, inputs: Mapping[str, Any]) -> list[Problem]:
    """All problems of a resource's inputs, by path.

    Args:
        token: the type, ``package:module:Type``, or a provider, ``pulumi:providers:package``.
        inputs: names and values as on the wire (``volumeSize``); unknowns and secrets may stand anywhere, encoded as
            Pulumi encodes them or as the marks of :mod:`offline.wire`.
    """
    given = wire.read(inputs)
    if not isinstance(given, Mapping):
        return [Problem("", f"expected properties, got {_name_type(given)}")]
    try:
        wanted = read_schema(token)
    except sdks.Unknown as unknown:
        return [Problem("", str(unknown))]
    if token.startswith(sdks.PROVIDER):
        given = {
            name: _parse(value, wanted.inputs.get(name)) for name, value in given.items() if name not in ENGINE_KEYS
        }
    return sorted(_check_object("", given, wanted.inputs), key=lambda problem: problem.path)


def _parse(value: Any, wanted: Property | None) -> Any:
    """Inputs of a provider are text on the wire: everything but strings is JSON."""
    inner = wire.strip_marks(value)
    if (
        wanted is None
        or not isinstance(inner, str)
        or isinstance(wanted.shape, Scalar)
        and wanted.shape.name == "string"
    ):
        return value
    try:
        return wire.read(json.loads(inner))
    except ValueError:
        return value


def _check_object(path: str, value: Mapping[str, Any], wanted: Mapping[str, Property]) -> Iterator[Problem]:
    for name, item in value.items():
        here = f"{path}.{name}" if path else name
        if name not in wanted:
            yield Problem(here, f"there is no property {name!r}{_suggest_nearest(name, wanted)}")
        elif item is not None:
            yield from _check_value(here, item, wanted[name].shape)
    for name, prop in wanted.items():
        if prop.required and wire.strip_marks(value.get(name)) is None:
            yield Problem(f"{path}.{name}" if path else name, "required, and not given")


def _suggest_nearest(name: str, known: Mapping[str, Any]) -> str:
    camel = re.sub(r"_+(\w)", lambda match: match[1].upper(), name)
    near = [camel] if camel in known else difflib.get_close_matches(camel, known, 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def _check_value(path: str, value: Any, shape: Shape, secret: bool = False) -> Iterator[Problem]:
    if isinstance(value, wire.Secret):
        yield from _check_value(path, value.value, shape, True)
        return
    if value is None or isinstance(value, wire.Unknown) or isinstance(shape, Anything):
        return
    shown = "a secret" if secret else _name_type(value)
    match shape:
        case Scalar(name):
            if not _is(value, name):
                yield Problem(path, f"expected {_add_article(name)}, got {shown}")
        case Choice(values, is_open):
            if value not in values or isinstance(value, bool) is not isinstance(values[0], bool):
                near = difflib.get_close_matches(str(value), map(str, values), 1, 0.6) if not secret else []
                hint = f"; did you mean {near[0]!r}?" if near else ""
                if is_open and isinstance(value, str):
                    yield Problem(path, f"{shown} is none of the listed values{hint}", "warning")
                elif not isinstance(value, wire.Reference):
                    yield Problem(path, f"expected one of {', '.join(map(repr, values))}, got {shown}{hint}")
        case Array(items):
            if not isinstance(value, list):
                yield Problem(path, f"expected a list, got {shown}")
            else:
                for index, item in enumerate(value):
                    yield from _check_value(f"{path}[{index}]", item, items, secret)
        case Map(values):
            if not isinstance(value, Mapping):
                yield Problem(path, f"expected a mapping, got {shown}")
            else:
                for key, item in value.items():
                    yield from _check_value(f"{path}[{key!r}]", item, values, secret)
        case Object(cls):
            if not isinstance(value, Mapping):
                yield Problem(path, f"expected properties, got {shown}")
            elif not secret:
                yield from _check_object(path, value, read_properties(cls))
            else:
                hidden = {name: wire.Secret(item) for name, item in value.items()}
                yield from _check_object(path, hidden, read_properties(cls))
        case File():
            if not isinstance(value, wire.File):
                yield Problem(path, f"expected an asset or an archive, got {shown}")
        case Ref():
            if not isinstance(value, wire.Reference):
                yield Problem(path, f"expected a resource, got {shown}")
        case OneOf(members):
            tried = [list(_check_value(path, value, member, secret)) for member in members]
            if all(any(problem.level == "error" for problem in found) for found in tried):
                yield from min(tried, key=len)


def _is(value: Any, name: str) -> bool:
    match name:
        case "string":
            return isinstance(value, str | wire.Reference)  # the engine gives a provider the reference's id
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    return isinstance(value, int | float) and not isinstance(value, bool)


def _add_article(name: str) -> str:
    return f"an {name}" if name == "integer" else f"a {name}"


def _name_type(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return f"the boolean {str(value).lower()}"
        case str():
            return f"the string {value!r}" if len(value) <= 60 else f"a string of {len(value)} characters"
        case int() | float():
            return f"the number {value}"
        case list():
            return "a list"
        case wire.File():
            return "an asset or an archive"
        case wire.Reference():
            return "a resource"
        case Mapping():
            return "a mapping"
    return f"a {type(value).__name__}"
