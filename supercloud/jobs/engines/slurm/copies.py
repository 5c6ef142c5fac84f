"""Two jobs of Slurm that carry one key: a request that was given up arrived after the job had been submitted again.

Rows are the id of a job, the status of it or of one of its tasks, and what its comment says (:func:`.texts.marked`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...submission import Status

__all__ = ["Row", "noted", "others"]

Row = tuple[str, Status, tuple[str, str] | None]


def noted(rows: Iterable[Row]) -> dict[str, list[Status]]:
    """Id -> statuses; the reason of what has not ended says which other job of the same key has not ended either."""
    listed = list(rows)
    live: dict[tuple[str, str], set[str]] = {}
    for ref, status, mark in listed:
        if mark and not status.state.is_final:
            live.setdefault(mark, set()).add(ref)
    jobs: dict[str, list[Status]] = {}
    for ref, status, mark in listed:
        copies = live.get(mark, set()) if mark else set()
        if len(copies) > 1 and ref in copies and not status.state.is_final:
            ids = " and ".join(sorted(copies, key=int))
            said = f"Slurm has it more than once, as jobs {ids}; to end them, cancel it"
            status = replace(status, reason=f"{said} ({status.reason})" if status.reason else said)
        jobs.setdefault(ref, []).append(status)
    return jobs


def others(rows: Iterable[Row], ref: str) -> Sequence[str]:
    """Ids of the jobs that have not ended and carry the key of this one."""
    listed = list(rows)
    marks = {mark for number, _, mark in listed if number == ref and mark}
    found = {number for number, status, mark in listed if mark in marks and not status.state.is_final}
    return sorted(found - {ref}, key=int)
