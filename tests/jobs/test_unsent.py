"""A job that its scheduler has certainly not seen does not use up its key; one that it refused does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from supercloud.errors import EngineConfigurationError, EngineError, EngineUnreachableError, SupercloudError
from supercloud.jobs import api
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.reconcile import reconcile, submission_in_progress, submit_recorded
from supercloud.jobs.store.records import NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec

Make = Callable[..., JobSpec]
UNDECIDED = [EngineUnreachableError, EngineConfigurationError]


def submit(job: JobSpec, plan: Plan, store: Store) -> api.Job:
    return api.submit(job, plan, engine="fake", store=store, key="nightly")


def fail_before(fake: FakeEngine, error: SupercloudError | None) -> None:
    """The engine raises this error instead of accepting a job."""

    def raise_error(point: str) -> None:
        if error is not None and point == "before":
            raise error

    fake.crash_hook = raise_error


@pytest.mark.parametrize("kind", UNDECIDED)
def test_a_job_that_was_not_sent_is_submitted_with_its_key_afterwards(
    job: Make, plan: Plan, store: Store, fake: FakeEngine, kind: type[EngineError]
) -> None:
    fail_before(fake, kind("connection refused"))
    for number in (1, 2):
        with pytest.raises(kind, match=r"^connection refused\. Nothing was submitted: run the same command again$"):
            submit(job(), plan, store)
        record = store.get(number)
        assert (record.state, record.reason) == (State.FAILED, "not sent: connection refused")
        assert store.find_by_key("nightly") is None
    assert reconcile(store) == [] and not fake.count_submissions("nightly"), "no poll submits what was reported"
    fail_before(fake, None)
    held = submit(job(["echo", "changed meanwhile"]), plan, store)
    assert (held.id, held.key, fake.count_submissions("nightly")) == (3, "nightly", 1)
    assert submit(job(["echo", "changed meanwhile"]), plan, store).id == 3
    assert fake.count_submissions("nightly") == 1


def test_a_refused_key_is_an_error_whenever_it_is_submitted(
    job: Make, plan: Plan, store: Store, fake: FakeEngine
) -> None:
    fail_before(fake, EngineError("no such queue"))
    with pytest.raises(EngineError, match="^no such queue$"):
        submit(job(), plan, store)
    fail_before(fake, None)
    for _ in range(2):
        with pytest.raises(EngineError, match=r"job 1 \(job\) is FAILED: no such queue.*use another --key$") as caught:
            submit(job(), plan, store)
        assert caught.value.exit_code == 1
    assert not fake.count_submissions("nightly")
    assert api.submit(job(), plan, engine="fake", store=store, key="nightly-2").id == 2


def test_a_job_that_failed_where_it_ran_is_returned_for_its_key(
    job: Make, plan: Plan, store: Store, fake: FakeEngine
) -> None:
    held = submit(job(["fake", "FAILED:3"]), plan, store)
    assert held.wait(5) is State.FAILED
    assert submit(job(["fake", "FAILED:3"]), plan, store).id == held.id


@pytest.mark.parametrize("kind", UNDECIDED)
def test_a_job_for_which_a_user_waits_is_looked_up_again_after_an_outage(
    job: Make, plan: Plan, store: Store, fake: FakeEngine, kind: type[EngineError]
) -> None:
    fail_before(fake, SubmissionUnknownError("timed out"))
    with pytest.raises(SubmissionUnknownError, match="supercloud wait 1"):
        submit(job(), plan, store)
    fail_before(fake, kind("connection refused"))
    for _ in range(2):
        assert [str(problem) for problem in reconcile(store)] == ["connection refused"]
        record = store.get(1)
        assert (record.state, record.key, record.owner) == (State.SUBMITTING, "nightly", "")
        assert record.reason == "not submitted again yet: connection refused"
    fail_before(fake, None)
    assert submit(job(), plan, store).id == 1 and fake.count_submissions("nightly") == 1


def test_a_lost_answer_keeps_the_key(job: Make, plan: Plan, store: Store, fake: FakeEngine) -> None:
    def lose_answer(point: str) -> None:
        if point == "after":
            raise SubmissionUnknownError("timed out")

    fake.crash_hook = lose_answer
    with pytest.raises(SubmissionUnknownError):
        submit(job(), plan, store)
    fail_before(fake, EngineUnreachableError("connection refused"))
    assert submit(job(), plan, store).record.state is not State.FAILED
    assert fake.count_submissions("nightly") == 1


def test_another_process_with_the_key_sees_that_nothing_was_sent(
    job: Make, plan: Plan, store: Store, fake: FakeEngine
) -> None:
    """It submits while the first one is still waiting for a connection."""
    seen = []

    def submit_there(point: str) -> None:
        with Store(store.folder) as other:
            seen.append(submit(job(), plan, other).record.state)
        raise EngineUnreachableError("connection refused")

    fake.crash_hook = submit_there
    with pytest.raises(EngineUnreachableError):
        submit(job(), plan, store)
    assert seen == [State.SUBMITTING] and store.get(1).reason == "not sent: connection refused"
    fail_before(fake, None)
    assert submit(job(), plan, store).id == 2 and fake.count_submissions("nightly") == 1


@pytest.mark.parametrize("is_known", [True, False], ids=["while it looks", "while it records"])
def test_a_key_that_another_process_releases_meanwhile(
    job: Make, plan: Plan, store: Store, fake: FakeEngine, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    spec = job().model_dump_json(exclude_defaults=True)

    def begin() -> None:
        store.record(NewJob("nightly", "job", spec))
        assert store.begin_submission(1)

    def release(*_: object) -> list[SupercloudError]:
        assert store.record_unsent(1, "not sent: connection refused")
        return []

    if is_known:
        begin()
        monkeypatch.setattr(api, "reconcile", release)
        assert submit(job(), plan, store).id == 2, "this process submits it now"
        return
    record = store.record

    def record_second(*arguments: NewJob) -> object:
        monkeypatch.setattr(store, "record", record)
        begin()
        found = store.record(*arguments)
        release()
        return found

    monkeypatch.setattr(store, "record", record_second)
    with pytest.raises(EngineUnreachableError, match="job 1 .*not sent.*run the same command again$"):
        submit(job(), plan, store)
    assert submit(job(), plan, store).id == 2


def test_a_submission_that_another_process_took_over_keeps_its_key(store: Store, fake: FakeEngine) -> None:
    store.record(NewJob("nightly", "job", "{}"))
    with submission_in_progress(store, "nightly"):
        assert store.begin_submission(1)
        owner = store.get(1).owner
        with store.transaction() as database:  # of another machine, on which this one was taken for dead
            database.execute("UPDATE jobs SET owner = '1 1 other pid:[1]' WHERE id = 1")
        assert not store.record_unsent(1, "not sent") and store.get(1).state is State.SUBMITTING
        with store.transaction() as database:
            database.execute("UPDATE jobs SET owner = ? WHERE id = 1", (owner,))
        store.record_submitted(1, "41")
        assert not store.record_unsent(1, "not sent") and store.get(1).key == "nightly"


def test_a_broker_holds_a_job_that_was_not_sent(store: Store, fake: FakeEngine) -> None:
    store.record(NewJob("nightly", "job", "{}", fleet="all"))
    assert store.begin_submission(1)
    fail_before(fake, EngineUnreachableError("connection refused"))
    with pytest.raises(EngineUnreachableError):
        submit_recorded(store, fake, 1, api.Submission("nightly", ("true",)))
    assert (store.get(1).state, store.get(1).key) == (State.HELD, "nightly")
