"""What would make a job fit where it does not: cure what keeps it out, look again, until nothing does.

A reason for no may bring a change of the job with it. Each change is tried, so that the one which is told in the end is
enough: a job for 1,000 accelerators of a tenant who may have 100 is told 100, not what the pool has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from ..spec import JobSpec
from .feasibility import Refused
from .shapes import Change

__all__ = ["changed", "cured"]

_STEPS = 12


def changed(job: JobSpec, change: Change) -> JobSpec:
    """The job with fields set, or left out; raises :class:`pydantic.ValidationError` where that makes no job."""
    document: dict[str, Any] = job.model_dump(mode="json", exclude_unset=True)
    for path, value in change.items():
        *outer, name = path.split(".")
        inside = document
        for part in outer:
            inside = inside.setdefault(part, {})
        if value is None:
            inside.pop(name, None)
        else:
            inside[name] = value
    return JobSpec.model_validate(document)


def cured(job: JobSpec, refused: Refused, look: Callable[[JobSpec], object]) -> tuple[str, Change]:
    """What to change so that ``look`` refuses the job no more: in words, and by field.

    Where no change of the job is enough the change is empty, and the words say what is in the way after the last one.
    """
    said: list[tuple[frozenset[str], str]] = []
    whole: dict[str, object] = {}
    told, present, seen = refused.remedy, job, [job]
    for _ in range(_STEPS):
        if not refused.change:
            return told, {}
        fields = frozenset(refused.change)
        said = [(known, words) for known, words in said if not known <= fields] + [(fields, refused.remedy)]
        whole |= refused.change
        try:
            present = changed(present, refused.change)
            if present in seen:  # what one reason asks for, another forbids
                return told, {}
            look(present)
        except ValidationError:
            return told, {}
        except Refused as again:
            more = f"; {again.remedy}" if again.remedy else ""
            refused, told = again, "; then ".join(words for _, words in said) + f"; but then: {again.reason}{more}"
            seen.append(present)
        else:
            return "; then ".join(words for _, words in said), whole
    return told, {}
