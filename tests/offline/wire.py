"""Values as Pulumi sends them, and as Python reads them: unknowns, secrets, references and files are marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import struct_pb2
from pulumi.runtime import rpc

SIGNATURE = rpc._special_sig_key
SECRET, RESOURCE, OUTPUT = rpc._special_secret_sig, rpc._special_resource_sig, rpc._special_output_value_sig
FILES = (rpc._special_asset_sig, rpc._special_archive_sig)


@dataclass(frozen=True)
class Unknown:
    """A value that is unknown before the update."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()


@dataclass(frozen=True)
class Secret:
    """A value that must not be shown."""

    value: Any

    def __repr__(self) -> str:
        return "Secret(…)"


@dataclass(frozen=True)
class Reference:
    """Another resource, given as a whole."""

    urn: str
    id: Any


@dataclass(frozen=True)
class File:
    """An asset or an archive: its signature and what it is made of."""

    signature: str
    content: Mapping[str, Any]


def read(value: Any) -> Any:
    """A protobuf structure, or Python values in its encoding, with the marks above. Reading twice changes nothing."""
    if isinstance(value, struct_pb2.Struct):
        return _read_marked({name: read(field) for name, field in value.fields.items()})
    if isinstance(value, struct_pb2.Value):
        kind = value.WhichOneof("kind")
        if kind == "struct_value":
            return read(value.struct_value)
        if kind == "list_value":
            return [read(item) for item in value.list_value.values]
        if kind == "number_value":
            return int(value.number_value) if value.number_value.is_integer() else value.number_value
        return None if kind in (None, "null_value") else read(getattr(value, kind))
    if isinstance(value, Mapping):
        return _read_marked({name: read(item) for name, item in value.items()})
    if isinstance(value, list | tuple):
        return [read(item) for item in value]
    if isinstance(value, str):
        return UNKNOWN if value == rpc.UNKNOWN else str(value)  # an enumeration of strings becomes its value
    return value


def _read_marked(fields: dict[str, Any]) -> Any:
    signature = fields.get(SIGNATURE)
    if signature == SECRET:
        return Secret(fields.get("value"))
    if signature == OUTPUT:
        inner = fields.get("value", UNKNOWN)
        return Secret(inner) if fields.get("secret") else inner
    if signature == RESOURCE:
        return Reference(fields["urn"], fields.get("id"))
    if signature in FILES:
        return File(signature, {name: item for name, item in fields.items() if name != SIGNATURE})
    return fields


def write(value: Any) -> Any:
    """The encoding again, as Python values."""
    match value:
        case Unknown():
            return rpc.UNKNOWN
        case Secret():
            return {SIGNATURE: SECRET, "value": write(value.value)}
        case Reference():
            return {SIGNATURE: RESOURCE, "urn": value.urn, "id": write(value.id)}
        case File():
            return {SIGNATURE: value.signature, **write(value.content)}
        case Mapping():
            return {name: write(item) for name, item in value.items()}
        case list():
            return [write(item) for item in value]
    return value


def build_struct(fields: Mapping[str, Any]) -> struct_pb2.Struct:
    """The encoding again, as a protobuf structure."""
    made = struct_pb2.Struct()
    made.update(write(fields))
    return made


def walk(value: Any, path: str = "", secret: bool = False) -> Iterator[tuple[str, Any, bool]]:
    """Every leaf with its path, and whether something around it is a secret."""
    match value:
        case Secret():
            yield from walk(value.value, path, True)
        case Mapping():
            for name, item in value.items():
                yield from walk(item, f"{path}.{name}" if path else str(name), secret)
        case list():
            for index, item in enumerate(value):
                yield from walk(item, f"{path}[{index}]", secret)
        case File():
            yield from walk(value.content, path, secret)
        case _:
            yield path, value, secret


def strip_marks(value: Any) -> Any:
    """The value without the marks of secrets, as a provider sees it."""
    match value:
        case Secret():
            return strip_marks(value.value)
        case Mapping():
            return {name: strip_marks(item) for name, item in value.items()}
        case list():
            return [strip_marks(item) for item in value]
    return value
