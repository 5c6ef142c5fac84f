"""What a program registered: resources with their options, exports, and questions one asks of them."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import wire

BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")


@dataclass(frozen=True)
class Entry:
    """One registered resource, as the engine would see it after all transforms."""

    urn: str
    type: str
    name: str
    parent: str = ""
    custom: bool = True
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """By names on the wire; secrets, unknowns and references carry the marks of :mod:`offline.wire`."""
    dependencies: tuple[str, ...] = ()
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    provider: str = ""
    """``urn::id`` of the explicit provider; empty for the default one."""
    providers: Mapping[str, str] = field(default_factory=dict)
    protect: bool = False
    retain_on_delete: bool = False
    aliases: tuple[str, ...] = ()
    """URNs under which this resource may be found in older states."""
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    delete_before_replace: bool | None = None
    additional_secret_outputs: tuple[str, ...] = ()
    import_id: str = ""
    deleted_with: str = ""
    timeouts: Mapping[str, str] = field(default_factory=dict)
    external: bool = False
    """Read (``Type.get``), not created."""
    outputs: Mapping[str, Any] = field(default_factory=dict)
    position: str = ""
    """``file#line`` that registered it, where Pulumi knows."""


@dataclass(frozen=True)
class Place:
    """Where a text was found: a URN (or ``exports``) and the path of the property."""

    urn: str
    path: str

    def __str__(self) -> str:
        return f"{self.urn}: {self.path}"


class Graph(Mapping[str, Entry]):
    """Resources by URN, sorted, and the stack's exports."""

    def __init__(
        self,
        entries: Mapping[str, Entry],
        exports: Mapping[str, Any],
        warnings: tuple[str, ...] = (),
        log: tuple[str, ...] = (),
    ):
        self.entries = {urn: entries[urn] for urn in sorted(entries)}
        self.exports = dict(exports)
        self.warnings = warnings
        """What a provider might refuse: values outside open lists."""
        self.log = log
        """What the program and the SDK said to the user: ``warning: … is deprecated``."""

    def __getitem__(self, urn: str) -> Entry:
        return self.entries[urn]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def of_type(self, token: str) -> list[Entry]:
        """Resources of one type, by URN."""
        return [entry for entry in self.values() if entry.type == token]

    def one(self, token: str, name: str | None = None) -> Entry:
        """The only resource of a type (and name)."""
        found = [entry for entry in self.of_type(token) if name in (None, entry.name)]
        assert len(found) == 1, (
            f"{len(found)} resources of type {token} {name or ''}: {[entry.name for entry in found]}"
        )
        return found[0]

    def children(self, urn: str) -> list[Entry]:
        """Resources with this parent."""
        return [entry for entry in self.values() if entry.parent == urn]

    def plaintext(self, secret: str) -> list[Place]:
        """Where a text stands outside secrets: in inputs, names and exports, also inside base64 and gzip."""
        found = [Place(urn, "name") for urn in self if secret in urn]
        everything = [*((urn, entry.inputs) for urn, entry in self.items()), ("exports", self.exports)]
        for urn, values in everything:
            for path, leaf, hidden in wire.walk(values):
                if not hidden and (secret in path or any(secret in text for text in _iter_readings(str(leaf)))):
                    found.append(Place(urn, path))
        return found


def _iter_readings(text: str, depth: int = 2) -> Iterator[str]:
    """The text, and what base64 inside it (compressed or not) says."""
    yield text
    if not depth:
        return
    for match in BASE64.finditer(text):
        try:
            content = base64.b64decode(match[0], validate=True)
            if content[:2] == b"\x1f\x8b":
                content = gzip.decompress(content)
        except (binascii.Error, OSError, EOFError, zlib.error):
            continue
        yield from _iter_readings(content.decode("utf-8", "replace"), depth - 1)
