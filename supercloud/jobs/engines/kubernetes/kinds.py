"""The kinds of job objects. To add one: a class like :class:`JobKind`, and a line here."""

from __future__ import annotations

from .jobsets import JobSetKind
from .kind import JobKind
from .volcano import VolcanoJobKind

__all__ = ["KINDS", "get_kind"]

KINDS: dict[str, JobKind] = {"jobset": JobSetKind(), "vcjob": VolcanoJobKind()}
"""By the prefix of references; ``queue`` of the scheduler determines the kind."""


def get_kind(version: str) -> tuple[str, JobKind]:
    """The kind of objects of an API version."""
    return next((word, kind) for word, kind in KINDS.items() if kind.api_version == version)
