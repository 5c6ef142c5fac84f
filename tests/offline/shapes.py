"""Types of properties, read from the annotations of a generated Pulumi SDK.

An SDK is generated from its provider's schema, so its annotations are that schema at exactly the installed version.
Every annotation is a union that also carries plumbing (``Output``, ``Awaitable``, a ``TypedDict`` twin); what is left
is the shape.
"""

from __future__ import annotations

import collections.abc
import enum
import inspect
import re
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pulumi

from .sdks import guard_loading

EXPECTED = re.compile(r"Expected value is '([^']+)'")


@dataclass(frozen=True)
class Anything:
    """Whatever JSON can say."""


@dataclass(frozen=True)
class Scalar:
    """One of ``string``, ``integer``, ``number``, ``boolean``."""

    name: str


@dataclass(frozen=True)
class Choice:
    """Listed values. An open list is a hint: the provider takes others too."""

    values: tuple[Any, ...]
    open: bool = False


@dataclass(frozen=True)
class Array:
    """A list of equal shapes."""

    items: Shape


@dataclass(frozen=True)
class Map:
    """Any keys, equal shapes."""

    values: Shape


@dataclass(frozen=True)
class Object:
    """Named properties: those of a generated class, see :func:`properties`."""

    cls: type


@dataclass(frozen=True)
class File:
    """An asset or an archive."""


@dataclass(frozen=True)
class Ref:
    """Another resource."""


@dataclass(frozen=True)
class OneOf:
    """Any of several shapes."""

    members: tuple[Shape, ...]


Shape = Anything | Scalar | Choice | Array | Map | Object | File | Ref | OneOf

SCALARS: Mapping[Any, Shape] = {
    str: Scalar("string"),
    bool: Scalar("boolean"),
    int: Scalar("integer"),
    float: Scalar("number"),
    Any: Anything(),
    pulumi.Asset: File(),
    pulumi.Archive: File(),
}


@dataclass(frozen=True)
class Property:
    """One property of a class, under its name on the wire."""

    shape: Shape
    required: bool
    doc: str = ""


def is_object(thing: Any) -> bool:
    """Whether this is a generated class of inputs or of outputs."""
    return inspect.isclass(thing) and (hasattr(thing, "_pulumi_input_type") or hasattr(thing, "_pulumi_output_type"))


def read(annotation: Any) -> tuple[Shape, bool]:
    """The shape an annotation stands for, and whether it may be absent."""
    members = list(dict.fromkeys(_iter_members(annotation)))
    optional = type(None) in members
    members = [member for member in members if member is not type(None)]
    if any(is_object(member) for member in members):  # older SDKs also list a plain mapping for the same object
        members = [member for member in members if typing.get_origin(member) is not collections.abc.Mapping]
    shapes = list(dict.fromkeys(_read_shape(member) for member in members))
    choices = [shape for shape in shapes if isinstance(shape, Choice)]
    if len(choices) == 1 and len(shapes) == 2 and Scalar("string") in shapes:
        return Choice(choices[0].values, open=True), optional
    if not shapes or Anything() in shapes:
        return Anything(), optional
    return (shapes[0] if len(shapes) == 1 else OneOf(tuple(shapes))), optional


def _iter_members(annotation: Any) -> Iterator[Any]:
    origin = typing.get_origin(annotation)
    if origin is pulumi.Output:  # of an output property; inside a union it is plumbing and never gets here
        yield from _iter_members(typing.get_args(annotation)[0])
    elif origin in (typing.Union, types.UnionType):
        for member in typing.get_args(annotation):
            inner = typing.get_origin(member)
            if inner in (pulumi.Output, collections.abc.Awaitable) or typing.is_typeddict(member):
                continue
            yield from _iter_members(member)
    else:
        yield annotation


def _read_shape(member: Any) -> Shape:
    if member in SCALARS:
        return SCALARS[member]
    origin, arguments = typing.get_origin(member), typing.get_args(member)
    if origin is typing.Literal:
        return Choice(arguments)
    if origin in (collections.abc.Sequence, list):
        return Array(read(arguments[0])[0])
    if origin in (collections.abc.Mapping, dict):
        return Map(read(arguments[1])[0])
    if is_object(member):
        return Object(member)
    if inspect.isclass(member) and issubclass(member, enum.Enum):
        return Choice(tuple(value.value for value in member))
    if inspect.isclass(member) and issubclass(member, pulumi.Resource):
        return Ref()
    return Anything()


@cache
def read_properties(cls: type) -> Mapping[str, Property]:
    """Properties of a generated class by their name on the wire.

    An input is required where the constructor has no default for it, an output where its type has no ``None``.
    """
    with guard_loading():
        return _read_properties(cls)


def _read_properties(cls: type) -> dict[str, Property]:
    found: dict[str, Property] = {}
    wanted = set()
    if hasattr(cls, "_pulumi_input_type"):
        parameters = inspect.signature(cls.__init__).parameters.values()
        wanted = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    for base in reversed(cls.__mro__):
        names = vars(sys.modules[base.__module__])
        for python_name, member in vars(base).items():
            getter = member.fget if isinstance(member, property) else None
            wire_name = getattr(getter, "_pulumi_name", None)
            if getter is None or wire_name is None:
                continue
            hint = typing.get_type_hints(
                getter, globalns=names, localns={"T": type(None), "Output": pulumi.Output}
            ).get("return", Any)
            shape, optional = read(hint)
            doc = inspect.getdoc(member) or ""
            constant = EXPECTED.search(doc)
            if constant and shape == Scalar("string"):
                shape = Choice((constant[1],))
            required = python_name in wanted if hasattr(cls, "_pulumi_input_type") else not optional
            found[wire_name] = Property(shape, required, doc)
    return found
