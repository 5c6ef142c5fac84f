"""Suggestions that make a job fit: apply the fix of a refusal and try again, until there is no refusal.

A refusal may have a change of the job. Each change is tried, so that the final suggestion is sufficient: for a job
with 1,000 accelerators of a tenant limited to 100, it is 100, not the size of the pool.
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
    """The job with fields set or omitted; raises :class:`pydantic.ValidationError` if the result is not a valid job."""
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
    """The changes with which ``try_placement`` no longer refuses the job: in words, and by field.

    If no change of the job is enough, the change is empty, and the words state the last refusal. The alternative of a
    refusal is tried too, and named only if it is enough.
    """
    words, change = _combine_fixes(job, refusal, try_placement)
    if not change and refusal.other and refusal.other[1]:
        other, found = _combine_fixes(job, RefusalError(refusal.reason, *refusal.other), try_placement)
        if found:
            return other, found
    return words, change


def _combine_fixes(job: JobSpec, refused: RefusalError, look: Callable[[JobSpec], object]) -> tuple[str, JobChange]:
    """Apply the fixes one after the other."""
    steps: list[RefusalError] = []
    whole: dict[str, object] = {}
    words, present, seen = refused.suggestion, job, [job]
    for _ in range(_MAX_STEPS):
        if not refused.change:
            return words, {}
        steps = [step for step in steps if not step.change.keys() <= refused.change.keys()] + [refused]
        whole |= refused.change
        try:
            present = apply_change(present, refused.change)
            if present in seen:  # one refusal requires what another forbids
                return words, {}
            look(present)
        except ValidationError:
            return words, {}
        except RefusalError as again:
            more = f"; {again.advice}" if again.advice else ""
            refused, words = (
                again,
                "; then ".join(step.suggestion for step in steps) + f"; but then: {again.reason}{more}",
            )
            seen.append(present)
        else:
            ways = (
                f"{step.suggestion}, or {step.other[0]}"
                if step.other and _is_enough(job, steps, step, look)
                else step.suggestion
                for step in steps
            )
            return "; then ".join(ways), whole
    return words, {}


def _is_enough(job: JobSpec, steps: list[RefusalError], at: RefusalError, look: Callable[[JobSpec], object]) -> bool:
    """Whether the alternative of one step, together with all other steps, is sufficient. An alternative that does not
    change the job is sufficient if the steps before it leave only its reason.
    """
    assert at.other is not None
    change = at.other[1]
    words = steps if change else steps[: steps.index(at)]
    whole: dict[str, object] = {}
    for step in words:
        whole |= change if step is at else step.change
    try:
        look(apply_change(job, whole))
    except RefusalError as again:
        return not change and again.reason == at.reason
    except ValidationError:
        return False
    return bool(change)
