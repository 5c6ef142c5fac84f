"""Jobs of a batch system with the same key.

Those submitted for one record of a store are copies: a request that was given up arrived after the job had been
submitted again. Others are from another store with the same key: for example, the store of a CI runner that is set up
for every run may have submitted the same spec under it.

Rows are the ID of a job, the status of it or of one of its tasks, and the identity that it carries, in its comment for
example.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...store.states import State
from ...store.status import Status
from ..base import JobCopies
from ..submission import JobIdentity
from .system import BatchSystem

__all__ = [
    "ListedJob",
    "Row",
    "find_copies",
    "find_other_copies",
    "has_begun",
    "merge_copies",
    "build_sort_key",
    "collect_identities",
    "select_latest",
    "select_live_starts",
]

Row = tuple[str, Status, JobIdentity | None]
ListedJob = tuple[str, JobIdentity]
"""The ID of a job, empty if the response lacks it, and the identity of the job."""


def build_sort_key(number: str) -> tuple[int, str]:
    """Sort key of job IDs; an ID that is empty because the answer lacks it comes first."""
    return len(number), number


def select_latest(jobs: Iterable[ListedJob]) -> dict[str, str]:
    """Key -> ID of the latest job with the key; the ID is empty if the response lacks it for all of them."""
    refs: dict[str, str] = {}
    for number, identity in jobs:
        refs[identity.key] = max(refs.get(identity.key, number), number, key=build_sort_key)
    return refs


def select_live_starts(rows: Iterable[Row], ref: str, start: JobIdentity) -> list[str]:
    """IDs of the jobs of one launch that have not ended: the job of ``ref``, unless its ID is now that of another
    job, and its copies. Jobs of an earlier version carry no digest of the record; they are matched by ID and key.
    """
    live = _collect_live(rows).get(start.key, {})
    is_start = {
        number: other.is_same_record(start) or (number == ref and not other.record and other.can_be_same_job(start))
        for number, other in live.items()
    }
    return sorted((number for number in live if is_start[number]), key=build_sort_key)


def collect_identities(rows: Iterable[Row]) -> dict[str, JobIdentity]:
    """ID -> identity; jobs without one are omitted."""
    return {number: identity for number, _, identity in rows if identity}


def merge_copies(rows: Iterable[Row], system: BatchSystem) -> dict[str, list[Status]]:
    """ID -> statuses; the reason of a live job lists the other live jobs of the same key."""
    listed = list(rows)
    live = _collect_live(listed)
    jobs: dict[str, list[Status]] = {}
    for ref, status, identity in listed:
        reason = status.reason
        is_live = not status.state.is_final
        if (
            ref
            and identity
            and is_live
            and (others := _describe_copies(system, ref, _select_copies(live, ref, identity)))
        ):
            reason = f"{others} ({reason})" if reason else others
        jobs.setdefault(ref, []).append(replace(status, reason=reason))
    return jobs


def _describe_copies(system: BatchSystem, ref: str, found: JobCopies) -> str:
    """The text on other jobs of its key in the reason of a job; empty if there are none."""
    messages = []
    if found.certain:
        ids = " and ".join(sorted((ref, *found.certain), key=build_sort_key))
        messages.append(f"{system.name} has several copies of it: jobs {ids}; cancel it to end them all")
    if found.possible:
        jobs = "job" if len(found.possible) == 1 else "jobs"
        messages.append(
            f"{system.name} also has {jobs} {' and '.join(found.possible)} of the same key, which cancel does not end"
        )
    return "; ".join(messages)


def find_other_copies(rows: Iterable[Row], ref: str) -> Sequence[str]:
    """IDs of live jobs that are certainly copies of this one, including it."""
    listed = list(rows)
    live = _collect_live(listed)
    identities = {identity for number, _, identity in listed if number == ref and identity}
    found = {number for identity in identities for number in _select_copies(live, ref, identity).certain}
    return sorted(found, key=build_sort_key)


def find_copies(rows: Iterable[Row], jobs: Mapping[str, JobIdentity]) -> dict[str, JobCopies]:
    """For each job, by ID, the other live jobs of its key; jobs without others are omitted."""
    live = _collect_live(rows)
    found = {number: _select_copies(live, number, identity) for number, identity in jobs.items()}
    return {number: copies for number, copies in found.items() if copies.certain or copies.possible}


def _collect_live(rows: Iterable[Row]) -> dict[str, dict[str, JobIdentity]]:
    """Key -> ID -> identity of the live jobs."""
    live: dict[str, dict[str, JobIdentity]] = {}
    for number, status, identity in rows:
        if number and identity and not status.state.is_final:
            live.setdefault(identity.key, {})[number] = identity
    return live


def _select_copies(live: Mapping[str, Mapping[str, JobIdentity]], ref: str, identity: JobIdentity) -> JobCopies:
    others = {number: other for number, other in live.get(identity.key, {}).items() if number != ref}
    certain = [number for number, other in others.items() if identity.is_same_record(other)]
    possible = [number for number, other in others.items() if number not in certain and identity.can_be_same_job(other)]
    return JobCopies(tuple(sorted(certain, key=build_sort_key)), tuple(sorted(possible, key=build_sort_key)))


def has_begun(rows: Iterable[Row], numbers: Sequence[str]) -> bool:
    """Whether any of these jobs has started and not ended."""
    return any(
        number in numbers and not status.state.is_final and status.state is not State.QUEUED
        for number, status, _ in rows
    )
