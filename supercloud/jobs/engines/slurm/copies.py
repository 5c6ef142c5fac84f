"""Two jobs of Slurm that carry one key: a request that was given up arrived after the job had been submitted again.

Rows are the id of a job, the status of it or of one of its tasks, and what its comment says
(:func:`.texts.parse_comment`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...store.states import State
from ..submission import Status

__all__ = ["Row", "has_begun", "live_of", "merge_copies", "order_of", "find_other_copies"]

Row = tuple[str, Status, tuple[str, str] | None]


def order_of(number: str) -> tuple[int, str]:
    """What ids of jobs are sorted by, also an id that is empty because an answer does not say it: that is the first."""
    return len(number), number


def merge_copies(rows: Iterable[Row]) -> dict[str, list[Status]]:
    """Id -> statuses; the reason of what has not ended says which other job of the same key has not ended either."""
    listed = list(rows)
    live: dict[tuple[str, str], set[str]] = {}
    for ref, status, mark in listed:
        if ref and mark and not status.state.is_final:
            live.setdefault(mark, set()).add(ref)
    jobs: dict[str, list[Status]] = {}
    for ref, status, mark in listed:
        copies = live.get(mark, set()) if mark else set()
        if len(copies) > 1 and ref in copies and not status.state.is_final:
            ids = " and ".join(sorted(copies, key=order_of))
            said = f"Slurm has it more than once, as jobs {ids}; to end them, cancel it"
            status = replace(status, reason=f"{said} ({status.reason})" if status.reason else said)
        jobs.setdefault(ref, []).append(status)
    return jobs


def find_other_copies(rows: Iterable[Row], ref: str) -> Sequence[str]:
    """Ids of the jobs that have not ended and carry the key of this one."""
    listed = list(rows)
    marks = {mark for number, _, mark in listed if number == ref and mark}
    found = {number for number, status, mark in listed if number and mark in marks and not status.state.is_final}
    return sorted(found - {ref}, key=order_of)


def live_of(rows: Iterable[Row], jobs: Mapping[str, tuple[str, str]]) -> dict[str, list[str]]:
    """For each job, by its id and given with its key and digest, the other jobs of that key that have not ended.

    A job that carries no digest was submitted by a release that wrote none, and is taken for one of its key.
    """
    live: dict[tuple[str, str], set[str]] = {}
    for number, status, mark in rows:
        if number and mark and not status.state.is_final:
            live.setdefault(mark, set()).add(number)
    found = {
        number: (live.get((key, digest), set()) | live.get((key, ""), set())) - {number}
        for number, (key, digest) in jobs.items()
    }
    return {number: sorted(ids, key=order_of) for number, ids in found.items() if ids}


def has_begun(rows: Iterable[Row], numbers: Sequence[str]) -> bool:
    """Whether any of these jobs is past its wait and has not ended."""
    return any(
        number in numbers and not status.state.is_final and status.state is not State.QUEUED
        for number, status, _ in rows
    )
