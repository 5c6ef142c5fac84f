"""Names of a job's objects: the same key always gives the same name, so submitting twice creates one object."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...store.private_files import create_private_folder, write

__all__ = ["RefStore", "ROLE", "JobRef", "build_object_name"]

ROLE = "workers"
"""The one replicated job of a JobSet, or task of a Volcano job; pods are called <object>-<ROLE>-…"""
_KINDS = ("jobset", "vcjob")
_NUMBER = re.compile(r"[0-9]{1,18}")
_MAX_NAME_LENGTH = 24  # characters of the job name: a pod name has at most 63, including an index and two suffixes


def build_object_name(name: str, key: str) -> str:
    """The object name of a job: its truncated name, and a hash of its key."""
    digest = hashlib.sha256(key.encode()).hexdigest()[:12]
    return f"{name[:_MAX_NAME_LENGTH].rstrip('-')}-{digest}"


_MAX_ARRAY_CREATION = 600  # seconds in which all objects of an array were created


@dataclass(frozen=True)
class JobRef:
    """The reference of a job: its namespace and name, and the number of objects of an array."""

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
    def parse(cls, text: str) -> JobRef | None:
        """None if it is not a reference of this engine."""
        parts = text.split("/")
        if len(parts) not in (4, 5) or parts[0] not in _KINDS or not all(_NUMBER.fullmatch(part) for part in parts[3:]):
            return None
        return cls(parts[0], parts[1], parts[2], *map(int, parts[3:]))

    def with_created(self, created: int) -> JobRef:
        """The same reference with another creation time."""
        return replace(self, created=created)

    @property
    def latest_creation(self) -> int:
        """The latest time at which one of its objects was created: a later object belongs to another job.

        References of arrays that an earlier version wrote have the time of the first object.
        """
        return self.created + _MAX_ARRAY_CREATION if self.tasks else self.created

    @property
    def object_names(self) -> tuple[str, ...]:
        """The names of its objects, for an array one per task."""
        return tuple(f"{self.name}-{task}" for task in range(self.tasks)) if self.tasks else (self.name,)

    def iter_tasks(self) -> Iterator[tuple[int, str]]:
        """Tasks with their objects."""
        return enumerate(self.object_names)


class RefStore:
    """The references of the jobs of a state folder, by key: written before an object is sent, as there is no other
    record.
    """

    def __init__(self, folder: Path):
        self._folder = folder

    def build_folder_path(self, key: str) -> Path:
        """The folder of a job."""
        return self._folder / key

    def write(self, key: str, ref: JobRef, digest: str) -> None:
        """Store it atomically, with the digest of its submission."""
        place = self.build_folder_path(key)
        create_private_folder(self._folder)
        create_private_folder(place)
        new = place / "ref.new"
        write(new, f"{ref}\n{digest}\n")
        new.replace(place / "ref")

    def read(self, key: str) -> JobRef | None:
        """None if it was never sent."""
        return JobRef.parse(self._read_lines(key)[0])

    def read_digest(self, key: str) -> str:
        """The digest of the submission that was sent; empty if none was recorded."""
        return self._read_lines(key)[1]

    def _read_lines(self, key: str) -> tuple[str, str]:
        try:
            lines = (self.build_folder_path(key) / "ref").read_text().splitlines()
        except FileNotFoundError:
            lines = []
        first, second, *_ = *lines, "", ""
        return first, second
