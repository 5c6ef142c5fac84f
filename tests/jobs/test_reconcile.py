from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from supercloud.errors import EngineError
from supercloud.jobs import api
from supercloud.jobs import reconcile as reconcile_module
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec

Make = Callable[..., JobSpec]


def submit(job: JobSpec, plan: Plan, store: Store) -> api.Job:
    return api.submit(job, plan, engine="fake", store=store, key="k")


def crash_at(point: str, job: JobSpec, plan: Plan, folder: Path) -> None:
    """Submit in a child that dies at a point inside the engine, with no chance to tidy up."""
    child = os.fork()
    if child == 0:
        try:
            engine = api.open_engine(api.Connection(engine="fake"), folder)
            assert isinstance(engine, FakeEngine)
            engine.crash_hook = lambda here: os._exit(9) if here == point else None
            submit(job, plan, Store(folder))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.fixture
def late(tmp_path: Path) -> Path:
    """The folder of a store that was never opened."""
    return tmp_path / "late"


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_crash_neither_loses_nor_repeats_a_job(point: str, job: Make, plan: Plan, late: Path) -> None:
    crash_at(point, job(), plan, late)
    with Store(late) as store:
        [left] = store.list_live()
        assert left.state is State.SUBMITTING and left.ref is None
        assert reconcile(store) == []
        assert store.get(left.id).state is not State.SUBMITTING
        assert FakeEngine(api.Connection(engine="fake"), late).count_submissions("k") == 1
        assert api.get(left.id, store).wait(5) is State.COMPLETED


def test_a_live_submitter_is_not_disturbed(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> None:
    seen = []

    def look(point: str) -> None:  # another process looks while this one is in the middle
        with Store(store.folder) as other:
            assert reconcile(other) == []
            seen.append((point, other.list_live()[0].state, fake.count_submissions("k")))

    fake.crash_hook = look
    submit(job(), plan, store)
    fake.crash_hook = lambda point: None
    assert seen == [("before", State.SUBMITTING, 0), ("after", State.SUBMITTING, 1)]
    assert fake.count_submissions("k") == 1


def test_an_engine_without_an_answer_is_queried_before_a_retry(
    job: Make, plan: Plan, store: Store, fake: FakeEngine
) -> None:
    def mute(point: str) -> None:
        if point == "after":
            raise SubmissionUnknownError("timed out")

    fake.crash_hook = mute
    with pytest.raises(SubmissionUnknownError):
        submit(job(), plan, store)
    assert store.list_live()[0].state is State.SUBMITTING
    fake.crash_hook = lambda point: None
    assert submit(job(), plan, store).record.state is not State.SUBMITTING, "the same key looks after it"
    assert fake.count_submissions("k") == 1


def test_an_engine_without_lookup_leaves_the_submission_unknown(
    job: Make, plan: Plan, late: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_at("before", job(), plan, late)
    fake = FakeEngine(api.Connection(engine="fake"), late)
    blind = SimpleNamespace(submit=fake.submit, poll=fake.poll)
    monkeypatch.setattr(reconcile_module, "open_engine", lambda connection, folder: blind)
    with Store(late) as store:
        assert reconcile(store) == []
        assert store.list_live()[0].state is State.UNKNOWN
    assert fake.count_submissions("k") == 0


def test_an_engine_that_is_down_changes_nothing(
    job: Make, plan: Plan, store: Store, fake: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = submit(job(["fake", "RUNNING"]), plan, store)
    assert held.get_state() is State.RUNNING

    def refuse_to_answer(self: FakeEngine, refs: object) -> object:
        raise SubmissionUnknownError("no answer")

    monkeypatch.setattr(FakeEngine, "poll", refuse_to_answer)
    assert [str(problem) for problem in reconcile(store)] == ["no answer"]
    assert store.get(held.id).state is State.RUNNING


def test_a_defect_of_one_engine_does_not_affect_others(
    job: Make, plan: Plan, store: Store, fake: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(FakeEngine):
        def poll(self, refs: object) -> object:  # type: ignore[override]
            raise OverflowError("\ud800 is too large")

    broken = Broken(api.Connection(engine="fake", via="ssh:broken"), store.folder / "broken")
    real = reconcile_module.open_engine
    monkeypatch.setattr(
        reconcile_module, "open_engine", lambda there, folder: broken if there.via else real(there, folder)
    )
    odd = submit(job(["fake", "RUNNING"]), plan, store)
    with store.transaction() as database:
        there = api.Connection(engine="fake", via="ssh:broken").model_dump_json(exclude_defaults=True)
        database.execute("UPDATE jobs SET connection = ? WHERE id = ?", (there, odd.id))
    good = api.submit(job(["fake", "RUNNING"]), plan, engine="fake", store=store, key="good")
    silent: dict[str, EngineError] = {}
    [problem] = reconcile(store, unresponsive=silent)
    assert "(fake) is skipped: its engine failed with OverflowError: ? is too large" in str(problem)
    assert list(silent) == [there] and store.get(good.id).state is State.RUNNING


@pytest.mark.slow
def test_many_jobs_are_polled_with_one_request(
    job: Make, plan: Plan, store: Store, fake: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        api.submit(job(), plan, engine="fake", store=store)
    asked = []
    poll = FakeEngine.poll
    monkeypatch.setattr(FakeEngine, "poll", lambda self, refs: asked.append(len(refs)) or poll(self, refs))
    reconcile(store)
    assert asked == [20]


def test_engines_are_polled_at_the_same_time(
    job: Make, plan: Plan, store: Store, fake: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second poll starts before the first has ended: one cluster that hangs does not delay the list of others."""
    for number in range(2):
        connection = api.Connection(engine="fake", via=f"ssh:cluster{number}")
        api.submit(job(["fake", "RUNNING"]), plan, engine=connection, store=store, key=f"k{number}")
    both = threading.Barrier(2, timeout=60)
    poll = FakeEngine.poll

    def poll_together(self: FakeEngine, refs: Sequence[str]) -> object:
        both.wait()
        return poll(self, refs)

    monkeypatch.setattr(FakeEngine, "poll", poll_together)
    assert reconcile(store) == []
