"""What a job is called in a cluster: the same key is always the same object, so submitting twice makes one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...store.private_files import make_folder, write

__all__ = ["Notes", "ROLE", "Ref", "object_name"]

ROLE = "workers"
"""The one replicated job of a JobSet, or task of a Volcano job; pods are called <object>-<ROLE>-…"""
_KINDS = ("jobset", "vcjob")
_READABLE = 24  # letters of the user's name: a pod's name has room for 63, its number and two suffixes


def object_name(name: str, key: str) -> str:
    """The object of a job: its name, as far as there is room, and what its key decides."""
    digest = hashlib.sha256(key.encode()).hexdigest()[:12]
    return f"{name[:_READABLE].rstrip('-')}-{digest}"


@dataclass(frozen=True)
class Ref:
    """What the engine calls a job: where it is, and how many objects an array has."""

    kind: str
    """jobset or vcjob."""
    namespace: str
    name: str
    created: int
    """Seconds since 1970."""
    tasks: int = 0

    def __str__(self) -> str:
        tasks = f"/{self.tasks}" if self.tasks else ""
        return f"{self.kind}/{self.namespace}/{self.name}/{self.created}{tasks}"

    @classmethod
    def parse(cls, text: str) -> Ref | None:
        """None where it is not one of ours."""
        parts = text.split("/")
        if len(parts) not in (4, 5) or parts[0] not in _KINDS or not all(part.isdigit() for part in parts[3:]):
            return None
        return cls(parts[0], parts[1], parts[2], *map(int, parts[3:]))

    def since(self, created: int) -> Ref:
        """The same, made at another time."""
        return replace(self, created=created)

    @property
    def objects(self) -> tuple[str, ...]:
        """The names of its objects: of an array one for each task."""
        return tuple(f"{self.name}-{task}" for task in range(self.tasks)) if self.tasks else (self.name,)

    def each(self) -> Iterator[tuple[int, str]]:
        """Tasks with their objects."""
        return enumerate(self.objects)


class Notes:
    """Where the jobs of a state folder are, by key: written before an object is sent, as nothing else says it."""

    def __init__(self, folder: Path):
        self._folder = folder

    def folder(self, key: str) -> Path:
        """What is kept of a job."""
        return self._folder / key

    def write(self, key: str, ref: Ref, digest: str) -> None:
        """Remember it, with the digest of its submission; whoever dies meanwhile leaves nothing half written."""
        place = self.folder(key)
        make_folder(self._folder)
        make_folder(place)
        new = place / "ref.new"
        write(new, f"{ref}\n{digest}\n")
        new.replace(place / "ref")

    def read(self, key: str) -> Ref | None:
        """None where it was never sent."""
        return Ref.parse(self._lines(key)[0])

    def digest(self, key: str) -> str:
        """That of the submission that was sent; empty where none was written."""
        return self._lines(key)[1]

    def _lines(self, key: str) -> tuple[str, str]:
        try:
            lines = (self.folder(key) / "ref").read_text().splitlines()
        except FileNotFoundError:
            lines = []
        first, second, *_ = *lines, "", ""
        return first, second
