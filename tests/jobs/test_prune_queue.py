"""What pruning the store deletes from the queue of the local engine."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from supercloud.jobs import maintenance
from supercloud.jobs.engines.local.queue import Queue, parse_ref
from supercloud.jobs.engines.submission import Submission
from supercloud.jobs.runtime.epochs import build_engine_key
from supercloud.jobs.store.records import Assignment, NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store

SETTINGS = {"nodes": 1, "tasks_per_node": 1, "retries": 0}


@pytest.fixture
def queue(store: Store) -> Iterator[Queue]:
    opened = Queue(store.folder / "local")
    yield opened
    opened.close()


def record(store: Store, key: str) -> int:
    made, _ = store.record(
        NewJob(key=key, name="job", spec="{}", assignment=Assignment(connection='{"engine":"local"}', engine="local"))
    )
    assert store.begin_submission(made.id)
    store.record_submitted(made.id, "1")
    return made.id


def enqueue(queue: Queue, key: str, ended: int = 1, array: int = 0) -> str:
    """Add a job, of which the first ``ended`` tasks have ended."""
    ref = queue.add(Submission(key, ("true",), settings={**SETTINGS, "array": array}))
    for number in parse_ref(ref)[:ended]:
        queue.record_end(number, State.COMPLETED, "", 0)
    return ref


def prune(store: Store) -> int:
    return maintenance.prune(store, time.time() + 60).pruned_jobs


def test_an_outcome_that_the_store_has_not_seen_is_kept(store: Store, queue: Queue) -> None:
    job, ref = record(store, "k"), enqueue(queue, "k")
    assert prune(store) == 0
    assert queue.read_statuses([ref])[ref].state is State.COMPLETED
    store.record_statuses({job: Status(State.COMPLETED, 1, exit_code=0, ended=1e9)})
    assert prune(store) == 1 and queue.read_statuses([ref]) == {}


def test_a_later_launch_of_a_record_is_kept(store: Store, queue: Queue) -> None:
    record(store, "k")
    ref = enqueue(queue, build_engine_key("k", 2))
    assert prune(store) == 0 and queue.read_statuses([ref])


def test_an_array_is_deleted_as_a_whole(store: Store, queue: Queue) -> None:
    """It has no record: only its running tasks keep those that have ended."""
    ref = enqueue(queue, "array", ended=2, array=3)
    prune(store)
    assert queue.read_statuses([ref])[ref].reason == "2 of 3 tasks have ended"
    queue.record_end(parse_ref(ref)[2], State.COMPLETED, "", 0)
    prune(store)
    assert queue.read_statuses([ref]) == {}


def test_a_dependency_in_the_queue_is_kept(store: Store, queue: Queue) -> None:
    ref = enqueue(queue, "first")
    queue.add(Submission("second", ("true",), settings={**SETTINGS, "after": ref}))
    prune(store)
    assert queue.read_statuses([ref])[ref].state is State.COMPLETED
