"""What would make a job fit where it does not: cure what keeps it out, look again, until nothing does.

A reason for no may bring a change of the job with it. Each change is tried, so that the one which is told in the end is
enough: a job for 1,000 accelerators of a tenant who may have 100 is told 100, not what the pool has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from ...spec import JobSpec
from .steps.feasibility import RefusalError
from .steps.shape import JobChange

__all__ = ["apply_change", "suggest_changes"]

_MAX_STEPS = 12


def apply_change(job: JobSpec, change: JobChange) -> JobSpec:
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


def suggest_changes(
    job: JobSpec, refusal: RefusalError, try_placement: Callable[[JobSpec], object]
) -> tuple[str, JobChange]:
    """What to change so that ``try_placement`` refuses the job no more: in words, and by field.

    Where no change of the job is enough the change is empty, and the words say what is in the way after the last one.
    What a refusal names as another way is tried too, and told only where it is enough.
    """
    told, change = _followed(job, refusal, try_placement)
    if not change and refusal.other and refusal.other[1]:
        other, found = _followed(job, RefusalError(refusal.reason, *refusal.other), try_placement)
        if found:
            return other, found
    return told, change


def _followed(job: JobSpec, refused: RefusalError, look: Callable[[JobSpec], object]) -> tuple[str, JobChange]:
    """What the remedies come to, one after the other."""
    steps: list[RefusalError] = []
    whole: dict[str, object] = {}
    told, present, seen = refused.remedy, job, [job]
    for _ in range(_MAX_STEPS):
        if not refused.change:
            return told, {}
        steps = [step for step in steps if not step.change.keys() <= refused.change.keys()] + [refused]
        whole |= refused.change
        try:
            present = apply_change(present, refused.change)
            if present in seen:  # what one reason asks for, another forbids
                return told, {}
            look(present)
        except ValidationError:
            return told, {}
        except RefusalError as again:
            more = f"; {again.advice}" if again.advice else ""
            refused, told = again, "; then ".join(step.remedy for step in steps) + f"; but then: {again.reason}{more}"
            seen.append(present)
        else:
            ways = (
                f"{step.remedy}, or {step.other[0]}"
                if step.other and _is_enough(job, steps, step, look)
                else step.remedy
                for step in steps
            )
            return "; then ".join(ways), whole
    return told, {}


def _is_enough(job: JobSpec, steps: list[RefusalError], at: RefusalError, look: Callable[[JobSpec], object]) -> bool:
    """Whether the other way of one step, with all other steps, is a cure as well. What changes no job is one where
    the steps before it leave nothing but its reason."""
    assert at.other is not None
    change = at.other[1]
    told = steps if change else steps[: steps.index(at)]
    whole: dict[str, object] = {}
    for step in told:
        whole |= change if step is at else step.change
    try:
        look(apply_change(job, whole))
    except RefusalError as again:
        return not change and again.reason == at.reason
    except ValidationError:
        return False
    return bool(change)
