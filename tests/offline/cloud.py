"""A cloud in one JSON file: objects by id. Several provider processes share it, and a test may look and meddle."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import wire


class InUse(Exception):
    """An object cannot go while others refer to it: real clouds say ``DependencyViolation``."""


@contextmanager
def lock_file(path: Path) -> Iterator[dict[str, Any]]:
    """The content of a JSON file, to be changed by one process at a time."""
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        content = json.loads(path.read_text()) if path.exists() else {}
        yield content
        fresh = path.with_suffix(".tmp")
        fresh.write_text(json.dumps(content, indent=1))
        os.replace(fresh, path)


class Cloud:
    """What exists. An object is ``{type, urn, inputs, outputs}``."""

    def __init__(self, path: Path):
        self.path = path

    def objects(self, token: str | None = None) -> dict[str, dict[str, Any]]:
        """Everything that exists, or everything of one type, by id."""
        with lock_file(self.path) as content:
            found = content.get("objects", {})
        return {key: item for key, item in found.items() if token in (None, item["type"])}

    def only(self, token: str) -> str:
        """The id of the only object of a type."""
        found = list(self.objects(token))
        assert len(found) == 1, f"{len(found)} objects of type {token}: {found}"
        return found[0]

    def create(
        self, token: str, urn: str, inputs: Mapping[str, Any], outputs: Callable[[str], Mapping[str, Any]]
    ) -> tuple[str, Mapping[str, Any]]:
        """A new object with a new id; ``outputs`` are made when the id is known."""
        with lock_file(self.path) as content:
            content["made"] = content.get("made", 0) + 1
            digest = hashlib.sha256(f"{urn} {content['made']}".encode()).hexdigest()[:10]
            identifier = f"{urn.rsplit('::', 1)[1]}-{digest}"
            made: dict[str, Any] = {
                "type": token,
                "urn": urn,
                "inputs": dict(inputs),
                "outputs": dict(outputs(identifier)),
            }
            content.setdefault("objects", {})[identifier] = made
        return identifier, made["outputs"]

    def record(
        self, identifier: str, token: str, urn: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
    ) -> None:
        """Add an object that was created elsewhere, with the ID that it has there."""
        with lock_file(self.path) as content:
            content["made"] = content.get("made", 0) + 1
            found = {"type": token, "urn": urn, "inputs": dict(inputs), "outputs": dict(outputs)}
            content.setdefault("objects", {})[identifier] = found

    def update(self, identifier: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> bool:
        """New values for an object; whether it exists."""
        with lock_file(self.path) as content:
            found = content.get("objects", {}).get(identifier)
            if found is not None:
                found.update(inputs=dict(inputs), outputs=dict(outputs))
        return found is not None

    def delete(self, identifier: str, held: bool = False) -> None:
        """Take an object away.

        Raises:
            InUse: it is of a kind that others hold, and another object's inputs have its id.
        """
        with lock_file(self.path) as content:
            objects = content.get("objects", {})
            users = [
                key for key, item in objects.items() if key != identifier and _mentions(item["inputs"], identifier)
            ]
            if held and users:
                raise InUse(f"DependencyViolation: {identifier} is in use by {', '.join(users)}")
            objects.pop(identifier, None)

    def meddle(self, identifier: str, **values: Any) -> None:
        """Change an object behind Pulumi's back."""
        with lock_file(self.path) as content:
            for side in ("inputs", "outputs"):
                content["objects"][identifier][side].update(values)

    def lose(self, identifier: str) -> None:
        """Delete an object behind Pulumi's back."""
        with lock_file(self.path) as content:
            del content["objects"][identifier]


def _mentions(value: Any, identifier: str) -> bool:
    return any(leaf == identifier for _, leaf, _ in wire.walk(value))
