from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from supercloud.errors import EngineError, InputError, JobFailedError, SpecError, StoreError
from supercloud.jobs import api
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.store.records import NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec

Make = Callable[..., JobSpec]


def submit(job: JobSpec, plan: Plan, store: Store, key: str | None = None) -> api.Job:
    return api.submit(job, plan, engine="fake", store=store, key=key)


def test_a_job_runs_from_submission_to_result(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> None:
    held = submit(job(), plan, store)
    assert held.id == 1 and held.record.state is State.QUEUED
    assert held.get_state() is State.QUEUED
    assert not held.done()
    assert held.result().exit_code is None or held.record.exit_code == 0
    assert held.done() and held.wait() is State.COMPLETED
    assert "".join(held.logs()) == "attempt 1\n"
    assert [event.state for event in held.list_events()][-2:] == [State.RUNNING, State.COMPLETED]


def test_a_failed_job_raises_with_its_code(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> None:
    with pytest.raises(JobFailedError, match="job 1 \\(job\\) ended as FAILED") as caught:
        submit(job(["fake", "FAILED:3"]), plan, store).result()
    assert (caught.value.state, caught.value.job_exit_code) == ("FAILED", 3)


@pytest.mark.slow
def test_a_job_can_be_requeued_lost_and_unresponsive(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> None:
    held = submit(job(["fake", "RUNNING", "REQUEUE", "SILENT", "RUNNING", "COMPLETED:0"]), plan, store)
    states = [(held.get_state(), held.record.attempt) for _ in range(5)]
    assert [str(state) for state, _ in states] == ["RUNNING", "QUEUED", "UNKNOWN", "RUNNING", "COMPLETED"]
    assert [attempt for _, attempt in states] == [1, 2, 2, 2, 2]
    assert "".join(held.logs(follow=True)) == "attempt 1\nattempt 2\n"


@pytest.mark.slow
def test_wait_ends_at_its_timeout(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> None:
    held = submit(job(["fake", "RUNNING"]), plan, store)
    with pytest.raises(TimeoutError, match="still RUNNING"):
        held.wait(0.05)
    assert held.cancel() is State.CANCELLED
    assert held.cancel() is State.CANCELLED, "again is no error"


def test_submission_with_a_key_is_idempotent(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> None:
    first = submit(job(), plan, store, "nightly")
    assert submit(job(), plan, store, "nightly").id == first.id
    assert fake.submission_count == 1
    with pytest.raises(InputError, match="already used by job 1"):
        submit(job(["false"]), plan, store, "nightly")


@pytest.mark.parametrize("key", ["", "../x", "a b", "-a", "x" * 65, "a;b", "a/b", "ä"])
def test_keys_have_only_plain_characters(job: Make, plan: Plan, store: Store, key: str) -> None:
    with pytest.raises(InputError, match="is not a valid key"):
        submit(job(), plan, store, key)
    assert not api.list_jobs(store)


def test_a_dry_run_changes_nothing(job: Make, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERCLOUD_STATE", str(tmp_path / "nothing"))
    for engine in ("fake", "local", "slurm"):
        placement, submission = api.prepare(job(["echo", "a b"], accelerators={"count": 8}), plan, engine=engine)
        assert placement.pool == "old"
        assert "echo" in str(submission)
    assert not (tmp_path / "nothing").exists()


def test_a_job_that_fits_no_pool_is_refused(job: Make, plan: Plan, store: Store) -> None:
    with pytest.raises(SpecError) as caught:
        submit(job(accelerators={"count": 5000}), plan, store)
    assert [finding.path for finding in caught.value.findings] == ["pool old", "pool train", "pool cpu"]
    assert all(finding.hint for finding in caught.value.findings)
    assert not api.list_jobs(store)


def test_a_refused_job_is_kept_as_failed(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> None:
    fake.refusal = "no such queue"
    with pytest.raises(EngineError, match="no such queue"):
        submit(job(), plan, store)
    [kept] = api.list_jobs(store)
    assert (kept.record.state, kept.record.reason) == (State.FAILED, "no such queue")


def test_a_job_is_found_again_without_its_files(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> None:
    number = submit(job(), plan, store).id
    with Store(store.folder) as another:
        assert api.get(number, another).wait(5) is State.COMPLETED


@pytest.mark.slow
def test_threads_share_a_store(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> None:
    results = []

    def submit_ten() -> None:
        results.extend(submit(job(), plan, store).result(20).state for _ in range(10))

    threads = [threading.Thread(target=submit_ten) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [State.COMPLETED] * 40


def test_the_default_store_belongs_to_the_user(job: Make, plan: Plan) -> None:
    held = api.submit(job(), plan, engine="fake")
    assert api.get(held.id).key == held.key
    assert api.list_jobs(limit=1)[0].id == held.id


@pytest.mark.parametrize(
    "error, step", [(SubmissionUnknownError("timed out"), "before"), (StoreError("full, nothing was changed"), "after")]
)
def test_an_unknown_submission_names_the_recorded_job(
    job: Make, plan: Plan, store: Store, fake: FakeEngine, error: Exception, step: str
) -> None:
    def fail_at(point: str) -> None:
        if point == step:
            raise error

    fake.crash_hook = fail_at
    output = (
        r"job 1 \(job, key k\) is recorded, but it is unknown whether its engine has it: (timed out|full); submitting"
    )
    with pytest.raises(type(error), match=output):
        submit(job(), plan, store, key="k")
    fake.crash_hook = lambda point: None
    assert submit(job(), plan, store, key="k").wait(60) is State.COMPLETED and fake.count_submissions("k") == 1


def test_a_dependency_is_a_job_of_the_store(job: Callable[..., JobSpec], tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        with pytest.raises(InputError) as caught:
            api.resolve_dependencies(job(after=["prepare"]), store)
        assert [(item.check, item.path) for item in caught.value.findings] == [("job-after", "after[0]")]
        record = store.record(NewJob(key="prepare-1", name="prepare", spec="{}", fleet="f", is_held=True))
        assert [item.key for item in api.resolve_dependencies(job(after=["prepare"]), store)] == ["prepare-1"], record
