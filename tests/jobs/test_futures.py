from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import pytest

from supercloud.errors import EngineError, JobFailed
from supercloud.jobs import api
from supercloud.jobs import futures as futures_module
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.futures import as_completed, wait
from supercloud.jobs.store import Store
from supercloud.plan.model import Plan
from supercloud.spec import JobSpec

Make = Callable[..., JobSpec]


@pytest.fixture
def submit(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> Callable[..., api.Job]:
    return lambda *states: api.submit(job(["fake", *states]), plan, engine="fake", store=store)


def test_all_of_them(submit: Callable[..., api.Job]) -> None:
    jobs = [submit("RUNNING", "COMPLETED"), submit("RUNNING", "RUNNING", "FAILED:1")]
    done, left = wait(jobs, 10)
    assert done == set(jobs) and not left


def test_the_first_and_the_first_failure(submit: Callable[..., api.Job]) -> None:
    slow, quick, bad = submit("RUNNING"), submit("COMPLETED"), submit("RUNNING", "RUNNING", "FAILED:1")
    assert wait([slow, quick, bad], 10, "FIRST_COMPLETED") == ({quick}, {slow, bad})
    assert wait([slow, quick, bad], 10, "FIRST_EXCEPTION").not_done == {slow}


def test_time_is_up(submit: Callable[..., api.Job]) -> None:
    slow, quick = submit("RUNNING"), submit("COMPLETED")
    assert wait([slow, quick], 0.05) == ({quick}, {slow})
    with pytest.raises(TimeoutError, match="1 jobs have not ended"):
        list(as_completed([slow], 0.05))
    with pytest.raises(TimeoutError):
        slow.exception(0.01)


def test_a_wait_that_began_while_the_disk_was_full_ends_once_there_is_space(
    submit: Callable[..., api.Job], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit("COMPLETED")
    store.close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    looks: list[float] = []

    def frees_space(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # no file of this process can grow
        with Store(store.folder) as full:
            assert full.unwritable
            monkeypatch.setattr(futures_module.time, "sleep", frees_space)
            done, _ = wait([api.get(1, full)], 60)
            assert [job.record.state for job in done] == ["COMPLETED"] and len(looks) >= 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_in_the_order_of_their_ends(submit: Callable[..., api.Job]) -> None:
    jobs = [submit(*["RUNNING"] * count, "COMPLETED") for count in (5, 1, 3)]
    assert [job.id for job in as_completed(jobs, 10)] == [2, 3, 1]
    assert isinstance(submit("FAILED:3").exception(5), JobFailed)


def test_each_look_is_one_question(submit: Callable[..., api.Job], monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [submit("RUNNING", "COMPLETED") for _ in range(30)]
    asked: list[int] = []
    poll = FakeEngine.poll
    monkeypatch.setattr(FakeEngine, "poll", lambda self, refs: asked.append(len(refs)) or poll(self, refs))
    wait(jobs, 10)
    assert asked == [30, 30]


def test_an_engine_may_be_silent_for_a_while(submit: Callable[..., api.Job], monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit("COMPLETED")
    poll, left = FakeEngine.poll, [3]

    def moody(self: FakeEngine, refs: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise EngineError("no answer")
        return poll(self, refs)

    monkeypatch.setattr(FakeEngine, "poll", moody)
    assert wait([job], 10).done == {job}
    monkeypatch.setattr(futures_module, "PATIENCE", 0.0)
    left[0] = 10**6
    with pytest.raises(EngineError, match="no answer"):
        wait([submit("COMPLETED")], 10)
