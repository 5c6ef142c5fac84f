"""The kinds of objects a job can be. To add one: a class like :class:`Kind`, and a line here."""

from __future__ import annotations

from .jobsets import JobSets
from .kind import Kind
from .volcano import VolcanoJobs

__all__ = ["KINDS", "by_api"]

KINDS: dict[str, Kind] = {"jobset": JobSets(), "vcjob": VolcanoJobs()}
"""By the word that references use; ``queue`` of the scheduler says which is made."""


def by_api(version: str) -> tuple[str, Kind]:
    """The kind of objects of an API version."""
    return next((word, kind) for word, kind in KINDS.items() if kind.api == version)
