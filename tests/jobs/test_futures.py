from __future__ import annotations

import resource
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supercloud.errors import EngineError, JobFailedError, StoreError
from supercloud.jobs import api
from supercloud.jobs import futures as futures_module
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.futures import as_completed, wait
from supercloud.jobs.maintenance import prune
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store import database
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec

Make = Callable[..., JobSpec]


@pytest.fixture
def submit(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> Callable[..., api.Job]:
    return lambda *states: api.submit(job(["fake", *states]), plan, engine="fake", store=store)


def test_wait_returns_all_jobs_that_ended(submit: Callable[..., api.Job]) -> None:
    jobs = [submit("RUNNING", "COMPLETED"), submit("RUNNING", "RUNNING", "FAILED:1")]
    done, left = wait(jobs, 10)
    assert done == set(jobs) and not left


def test_wait_returns_at_the_first_end_or_failure(submit: Callable[..., api.Job]) -> None:
    slow, quick, bad = submit("RUNNING"), submit("COMPLETED"), submit("RUNNING", "RUNNING", "FAILED:1")
    assert wait([slow, quick, bad], 10, "FIRST_COMPLETED") == ({quick}, {slow, bad})
    assert wait([slow, quick, bad], 10, "FIRST_EXCEPTION").not_done == {slow}


def test_a_job_that_is_pruned_during_a_wait_is_reported(submit: Callable[..., api.Job], store: Store) -> None:
    pruned, other = submit("RUNNING"), submit("RUNNING")
    assert not wait([pruned, other], 0).done
    store.record_statuses({pruned.id: Status(State.COMPLETED, 1, exit_code=0, started=1e9, ended=1e9)})
    assert prune(store, 2e9).pruned_jobs == 1
    with pytest.raises(StoreError, match=f"job {pruned.id} .* is no longer in the store"):
        wait([pruned, other], 30)
    with pytest.raises(StoreError, match=f"job {pruned.id} .* is no longer in the store"):
        pruned.wait(30)


def test_a_wait_ends_at_its_timeout(submit: Callable[..., api.Job]) -> None:
    slow, quick = submit("RUNNING"), submit("COMPLETED")
    assert wait([slow, quick], 0.05) == ({quick}, {slow})
    with pytest.raises(TimeoutError, match="1 jobs have not ended"):
        list(as_completed([slow], 0.05))
    with pytest.raises(TimeoutError):
        slow.exception(0.01)


def test_a_wait_that_started_on_a_full_disk_ends_once_there_is_space(
    submit: Callable[..., api.Job], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit("COMPLETED")
    store.close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    looks: list[float] = []

    def free_space_while_waiting(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # no file of this process can grow
        with Store(store.folder) as full:
            assert full.write_error
            monkeypatch.setattr(futures_module.time, "sleep", free_space_while_waiting)
            done, _ = wait([api.get(1, full)], 60)
            assert [job.record.state for job in done] == ["COMPLETED"] and len(looks) >= 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_following_a_job_on_a_full_disk_warns_and_ends_once_there_is_space(
    submit: Callable[..., api.Job], store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    submit("RUNNING", "RUNNING", "COMPLETED")
    wait([api.get(1, store)], 0.0)
    store.close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    poll, looks = FakeEngine.poll, [0]

    def poll_running(self: FakeEngine, refs: Any) -> Any:  # its file cannot be written either: nothing new
        looks[0] += 1
        if looks[0] < 3:
            return {ref: Status(State.RUNNING) for ref in refs}
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        return poll(self, refs) if looks[0] > 3 else {ref: Status(State.RUNNING) for ref in refs}

    monkeypatch.setattr(FakeEngine, "poll", poll_running)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        with Store(store.folder) as full:
            assert "".join(api.get(1, full).logs(follow=True)).startswith("attempt 1")
            assert full.get(1).state is State.COMPLETED
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    [record] = caplog.records
    assert "the end of a job is not recorded until it can be written again" in record.message


@pytest.mark.slow
def test_several_waits_on_a_full_disk_do_not_block_each_other(
    submit: Callable[..., api.Job], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit("COMPLETED")
    store.close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(database, "_LOCK_TIMEOUT", 0.0)  # where one of them keeps the file, the other is not let in
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        with Store(store.folder) as one, Store(store.folder) as other:
            for full in (one, other, one, other):
                assert not list(filter(lambda error: "locked" in str(error), reconcile(full, [1])))
                assert full.write_error and full.get(1).state is State.QUEUED
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            done, _ = wait([api.get(1, one), api.get(1, other)], 60)
            assert len(done) == 2 and not one.write_error and not other.write_error
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("is_open", [True, False], ids=["full-later", "full-before"])
def test_following_a_job_continues_while_its_end_cannot_be_written(
    submit: Callable[..., api.Job],
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    is_open: bool,
) -> None:
    submit("RUNNING", "COMPLETED")
    wait([api.get(1, store)], 0.0)
    if not is_open:
        store.close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    poll, looks = FakeEngine.poll, [0]

    def free_space(self: FakeEngine, refs: Any) -> Any:
        looks[0] += 1
        if looks[0] < 3:
            return {ref: Status(State.COMPLETED, exit_code=0) for ref in refs}
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        return poll(self, refs)

    monkeypatch.setattr(FakeEngine, "poll", free_space)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        with store if is_open else Store(store.folder) as full:
            assert bool(full.write_error) is not is_open
            job = api.get(1, full)
            assert "".join(job.logs(follow=True)).startswith("attempt 1") and job.wait(0) is State.COMPLETED
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert looks[0] >= 3 and all("disk" in record.message for record in caplog.records), caplog.messages
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda path: path.write_bytes(b"garbage" * 100), "is not a job store: damaged"),
        (lambda path: path.rename(path.with_name("elsewhere")), "was moved or replaced while it was open"),
    ],
)
def test_a_store_that_is_lost_while_the_disk_is_full_ends_a_wait_with_the_reason(
    submit: Callable[..., api.Job], store: Store, spoil: Callable[[Path], Any], message: str
) -> None:
    submit("COMPLETED")
    store.close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        with Store(store.folder) as full:
            job = api.get(1, full)
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            spoil(store.folder / "jobs.db")
            for _ in range(2):
                with pytest.raises(StoreError, match=message):
                    wait([job], 60)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_wait_continues_while_another_process_locks_the_store(
    submit: Callable[..., api.Job], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit("COMPLETED")
    store.close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(database, "_LOCK_TIMEOUT", 0.0)
    looks: list[float] = []
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        with Store(store.folder) as full:
            job = api.get(1, full)
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            other = sqlite3.connect(store.folder / "jobs.db", isolation_level=None)
            other.execute("PRAGMA locking_mode = EXCLUSIVE")
            other.execute("BEGIN EXCLUSIVE")

            def release_lock(seconds: float) -> None:
                looks.append(seconds)
                if len(looks) == 3:
                    other.close()

            monkeypatch.setattr(futures_module.time, "sleep", release_lock)
            assert wait([job], 60).done == {job} and len(looks) >= 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_jobs_are_returned_in_the_order_of_their_ends(submit: Callable[..., api.Job]) -> None:
    jobs = [submit(*["RUNNING"] * count, "COMPLETED") for count in (5, 1, 3)]
    assert [job.id for job in as_completed(jobs, 10)] == [2, 3, 1]
    assert isinstance(submit("FAILED:3").exception(5), JobFailedError)


@pytest.mark.slow
def test_each_poll_is_one_request(submit: Callable[..., api.Job], monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [submit("RUNNING", "COMPLETED") for _ in range(30)]
    asked: list[int] = []
    poll = FakeEngine.poll
    monkeypatch.setattr(FakeEngine, "poll", lambda self, refs: asked.append(len(refs)) or poll(self, refs))
    wait(jobs, 10)
    assert asked == [30, 30]


def test_an_engine_can_be_unresponsive_for_a_while(
    submit: Callable[..., api.Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit("COMPLETED")
    poll, left = FakeEngine.poll, [3]

    def poll_with_errors(self: FakeEngine, refs: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise EngineError("no answer")
        return poll(self, refs)

    monkeypatch.setattr(FakeEngine, "poll", poll_with_errors)
    assert wait([job], 10).done == {job}
    monkeypatch.setattr(futures_module, "UNRESPONSIVE_TIMEOUT", 0.0)
    left[0] = 10**6
    with pytest.raises(EngineError, match="no answer"):
        wait([submit("COMPLETED")], 10)
