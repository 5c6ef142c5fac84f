"""Suggestions that make a job fit: apply the fix of a refusal and try again, until there is no refusal.

A refusal may have a change of the job. Each change is tried, so that the final suggestion is sufficient: for a job
with 1,000 accelerators of a tenant limited to 100, it is 100, not the size of the pool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import SpecError
from ...spec import JobSpec
from .refusal import JobChange, StepRefusal

__all__ = ["apply_change", "suggest_changes"]

_MAX_STEPS = 12


def apply_change(job: JobSpec, change: JobChange) -> JobSpec:
    """The job with fields set or omitted; raises :class:`SpecError` if the result is not a valid job."""
    document: dict[str, Any] = job.model_dump(mode="json", exclude_unset=True)
    for path, value in change.items():
        *outer, name = path.split(".")
        inside = document
        for part in outer:
            if inside.get(part) is None:  # also one that is written empty
                inside[part] = {}
            inside = inside[part]
        if value is None:
            inside.pop(name, None)
        else:
            inside[name] = value
    return JobSpec.model_validate(document)


def suggest_changes(
    job: JobSpec, refusal: StepRefusal, try_placement: Callable[[JobSpec], StepRefusal | None]
) -> tuple[str, JobChange]:
    """The changes with which ``try_placement`` no longer refuses the job: in words, and by field.

    If no change of the job is enough, the change is empty, and the words state the last refusal. The alternative of a
    refusal is tried too, and named only if it is enough.
    """
    words, change = _combine_fixes(job, refusal, try_placement)
    if not change and refusal.other and refusal.other[1]:
        other, found = _combine_fixes(job, StepRefusal(refusal.reason, *refusal.other), try_placement)
        if found:
            return other, found
    return words, change


def _combine_fixes(
    job: JobSpec, refusal: StepRefusal, try_placement: Callable[[JobSpec], StepRefusal | None]
) -> tuple[str, JobChange]:
    """Apply the fixes one after the other."""
    steps: list[StepRefusal] = []
    whole: dict[str, object] = {}
    words, present, seen = refusal.suggestion, job, [job]
    for _ in range(_MAX_STEPS):
        if not refusal.change:
            return words, {}
        steps = [step for step in steps if not step.change.keys() <= refusal.change.keys()] + [refusal]
        whole |= refusal.change
        try:
            present = apply_change(present, refusal.change)
        except SpecError:
            return words, {}
        if present in seen:  # one refusal requires what another forbids
            return words, {}
        again = try_placement(present)
        if again is None:
            return _describe_end_state(job, present, steps, whole) or "; then ".join(
                _describe_fix(job, steps, step, try_placement) for step in steps
            ), whole
        more = f"; {again.advice}" if again.advice else ""
        done = _describe_end_state(job, present, steps, whole) or "; then ".join(step.suggestion for step in steps)
        words = f"{done}; but then: {again.reason}{more}"
        refusal = again
        seen.append(present)
    return words, {}


_SIZE_FIELDS = ("accelerators.count", "nodes", "parallelism")


def _describe_end_state(job: JobSpec, changed: JobSpec, steps: list[StepRefusal], whole: JobChange) -> str:
    """The fields that differ in the end, if steps change the same thing; else empty, as each step is then still true.

    The words of a step have the number of accelerators, which a later step may have changed again.
    """
    subjects = [{"size" if path.startswith(_SIZE_FIELDS) else path for path in step.change} for step in steps]
    if sum(map(len, subjects)) == len(set().union(*subjects)):
        return ""
    old, new = (item.model_dump(mode="json") for item in (job, changed))
    values = {path: _get_field(new, path) for path in whole if _get_field(new, path) != _get_field(old, path)}
    set_to = ", ".join(f"{path} to {_format_value(value)}" for path, value in values.items() if whole[path] is not None)
    omitted = ", ".join(path for path in values if whole[path] is None)
    return ", and ".join(filter(None, [set_to and f"set {set_to}", omitted and f"omit {omitted}"]))


def _get_field(document: Any, path: str) -> Any:
    for part in path.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def _format_value(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)


def _describe_fix(
    job: JobSpec,
    steps: list[StepRefusal],
    step: StepRefusal,
    try_placement: Callable[[JobSpec], StepRefusal | None],
) -> str:
    """The fix of one step, with its alternative if that is enough."""
    if step.other and _is_enough(job, steps, step, try_placement):
        return f"{step.suggestion}, or {step.other[0]}"
    return step.suggestion


def _is_enough(
    job: JobSpec, steps: list[StepRefusal], at: StepRefusal, try_placement: Callable[[JobSpec], StepRefusal | None]
) -> bool:
    """Whether the alternative of one step, together with all other steps, is sufficient. An alternative that does not
    change the job is sufficient if the steps before it leave only its reason.
    """
    assert at.other is not None
    change = at.other[1]
    whole: dict[str, object] = {}
    for step in steps if change else steps[: steps.index(at)]:
        whole |= change if step is at else step.change
    try:
        changed = apply_change(job, whole)
    except SpecError:
        return False
    again = try_placement(changed)
    return bool(change) if again is None else not change and again.reason == at.reason
