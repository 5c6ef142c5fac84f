"""Waiting for many jobs, as ``concurrent.futures`` does: each engine is polled once per cycle for all of them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from ..errors import EngineError, StoreError
from ..spec.fleet import Connection
from .engines.base import open_engine
from .job import UNRESPONSIVE_TIMEOUT, JobHandle, warn_of_store_errors, warn_once
from .reconcile import reconcile
from .store.database import StoreLockedError
from .store.states import State

__all__ = ["DoneAndNotDone", "as_completed", "iter_polls", "wait"]

_FORGET_HINT = "; if its engine will never report it, give it up: supercloud store forget {}"

ReturnWhen = Literal["ALL_COMPLETED", "FIRST_COMPLETED", "FIRST_EXCEPTION"]

_J = TypeVar("_J", bound=JobHandle[Any])


class DoneAndNotDone(NamedTuple, Generic[_J]):
    """Jobs that have ended, with any result, and the others."""

    done: set[_J]
    not_done: set[_J]


def wait(
    jobs: Iterable[_J], timeout: float | None = None, return_when: ReturnWhen = "ALL_COMPLETED"
) -> DoneAndNotDone[_J]:
    """Wait for jobs: for all, for the first to end, or for the first to end without completing.

    Args:
        jobs: Jobs of any engines.
        timeout: Seconds to wait; None means no limit. Jobs that have not ended by then are in ``not_done``.
        return_when: ``ALL_COMPLETED``, ``FIRST_COMPLETED`` or ``FIRST_EXCEPTION``, as in ``concurrent.futures``.

    Raises:
        EngineError: If an engine does not respond for 5 minutes.
        StoreError: If a job is no longer in the store, or the store cannot be used for 5 minutes.
    """
    left, done = set(jobs), set[_J]()
    for ended in iter_polls(left, timeout):
        done |= ended
        left -= ended
        failed = any(job.record.state is not State.COMPLETED for job in ended)
        if not left or (return_when == "FIRST_COMPLETED" and done) or (return_when == "FIRST_EXCEPTION" and failed):
            break
    return DoneAndNotDone(done, left)


def as_completed(jobs: Iterable[_J], timeout: float | None = None) -> Iterator[_J]:
    """Jobs in the order in which they end.

    Args:
        jobs: Jobs of any engines.
        timeout: Seconds to wait; None means no limit.

    Raises:
        TimeoutError: If some have not ended in time.
        EngineError: If an engine does not respond for 5 minutes.
        StoreError: If a job is no longer in the store, or the store cannot be used for 5 minutes.
    """
    left = set(jobs)
    for ended in iter_polls(set(left), timeout):
        left -= ended
        yield from sorted(ended, key=lambda job: (job.record.ended or 0.0, job.id))
        if not left:
            return
    if left:
        raise TimeoutError(f"{len(left)} jobs have not ended")


def iter_polls(jobs: Collection[_J], timeout: float | None) -> Iterator[set[_J]]:
    """Poll until all have ended or the timeout is over; each poll yields those that have ended since the last.

    To show progress, use one iterator: each new one polls often at first, and does not know since when an engine has
    not responded.
    """
    left, pause = set(jobs), 0.01
    end = None if timeout is None else time.monotonic() + timeout
    silent_since: float | None = None
    while left:
        problems = _refresh(left)
        ended = {job for job in left if job.record.state.is_final}
        left -= ended
        yield ended
        if problems and not ended:
            silent_since = silent_since or time.monotonic()
            if time.monotonic() - silent_since > UNRESPONSIVE_TIMEOUT:
                raise problems[0]
        else:
            silent_since = None
        if not left or (end is not None and time.monotonic() >= end):
            return
        pace = min((_get_poll_interval(job) for job in left), default=1.0)
        rest = pace if end is None else max(0.0, end - time.monotonic())
        time.sleep(min(pause, pace, rest))
        pause = min(pause * 1.5, pace)


def _refresh(jobs: Collection[JobHandle[Any]]) -> list[EngineError | StoreError]:
    """Poll every engine once for all of them; warns if the store cannot be written, as ends are not recorded then."""
    problems: list[EngineError | StoreError] = []
    for store in {id(job.store): job.store for job in jobs}.values():
        mine = {job.id: job for job in jobs if job.store is store and not job.record.state.is_final}
        found = reconcile(store, list(mine))
        problems += [error for error in found if isinstance(error, EngineError | StoreError)]
        warn_of_store_errors(store, found)
        try:
            records = store.select_by_id(list(mine))
        except StoreLockedError as error:  # another process is writing: the next poll succeeds
            problems.append(error)
            continue
        if missing := mine.keys() - {record.id for record in records}:
            mine[min(missing)].reload()  # raises, as it was pruned
        for record in records:
            if record.state in (State.SUBMITTING, State.UNKNOWN) and record.reason:  # it may remain so for long
                hint = _FORGET_HINT.format(record.id) if record.state is State.UNKNOWN else ""
                warn_once(f"job {record.id} ({record.name}, key {record.key}) is {record.state}: {record.reason}{hint}")
            mine[record.id].record = record
    return problems


def _get_poll_interval(job: JobHandle[Any]) -> float:
    if not job.record.connection:
        return 1.0
    return open_engine(Connection.model_validate_json(job.record.connection), job.store.folder).poll_interval
