"""A job whose submission got no answer is submitted again only when the scheduler can no longer take the first one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import pytest

from supercloud.errors import EngineError
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.submission import Submission
from supercloud.jobs.reconcile import reconcile, submission_in_progress, submit_recorded
from supercloud.jobs.store.records import Assignment, NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store

ANOTHER_MACHINE = "4711 1 00000000-0000-0000-0000-000000000000 pid:[1]"


class LateScheduler:
    """Gives no answer to the first submission, whose command continues on the remote host."""

    poll_interval = 5.0
    late_arrival = 120.0

    def __init__(self) -> None:
        self.submissions, self.goes_on, self.is_silent = 0, False, False

    def submit(self, submission: Submission) -> str:
        self.submissions += 1
        if self.submissions == 1:
            self.goes_on = True
            raise SubmissionUnknownError("login: ssh broke off")
        return "102"

    def find(self, keys: Sequence[str], since: float) -> Mapping[str, None]:
        return {} if self.goes_on else dict.fromkeys(keys)

    def list_pending_submissions(self, keys: Sequence[str]) -> set[str]:
        if self.is_silent:
            raise EngineError("login is not reached")
        return set(keys) if self.goes_on else set()

    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        return {ref: Status(State.RUNNING) for ref in refs}


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> LateScheduler:
    scheduler = LateScheduler()
    monkeypatch.setattr("supercloud.jobs.reconcile.open_engine", lambda *_: scheduler)
    return scheduler


def record_job(store: Store) -> Submission:
    submission = Submission("k", ("sbatch",), "x")
    store.record(
        NewJob(
            key="k",
            name="j",
            spec="{}",
            assignment=Assignment(submission=submission.to_json(), connection='{"engine": "slurm"}', engine="slurm"),
        )
    )
    return submission


def submit_without_answer(store: Store, scheduler: LateScheduler) -> None:
    submission = record_job(store)
    with submission_in_progress(store, "k"), pytest.raises(SubmissionUnknownError):
        assert store.begin_submission(1)
        submit_recorded(store, scheduler, 1, submission)  # type: ignore[arg-type]


def look(store: Store, start: float, seconds: float) -> State:
    assert not reconcile(store, clock=lambda: start + seconds)
    return store.get(1).state


@pytest.mark.parametrize("is_silent", [False, True])
@pytest.mark.parametrize("looks", [(), (60, 169)], ids=["nobody looks", "somebody looks"])
def test_the_limit_of_a_late_arrival_counts_from_the_end_of_the_submission(
    store: Store, scheduler: LateScheduler, looks: Sequence[float], is_silent: bool
) -> None:
    """Ssh broke off at 0 s, sbatch ends at 170 s: the controller may take the job until 290 s."""
    start, scheduler.is_silent = time.monotonic(), is_silent
    submit_without_answer(store, scheduler)
    scheduler.is_silent = False
    for seconds in looks:
        assert look(store, start, seconds) is State.SUBMITTING
        assert "the submission to slurm has not" in store.get(1).reason
    scheduler.goes_on = False
    for seconds in (171, 290):
        assert look(store, start, seconds) is State.SUBMITTING and scheduler.submissions == 1
        assert "submission unknown, looked up again until 20" in store.get(1).reason
    look(store, start, 292)
    assert (store.get(1).ref, scheduler.submissions) == ("102", 2)


def test_the_limit_restarts_if_a_submission_is_still_in_progress(store: Store, scheduler: LateScheduler) -> None:
    """Its command reached the login node after a lookup there."""
    start = time.monotonic()
    submit_without_answer(store, scheduler)
    for seconds, scheduler.goes_on in ((1, False), (100, True), (171, False), (290, False)):
        assert look(store, start, seconds) is State.SUBMITTING and scheduler.submissions == 1
    look(store, start, 292)
    assert scheduler.submissions == 2


def test_the_limit_of_a_late_arrival_is_independent_of_the_lease_of_a_remote_owner(
    store: Store, scheduler: LateScheduler
) -> None:
    start = time.monotonic()
    record_job(store)
    scheduler.submissions, scheduler.goes_on = 1, True
    with store.transaction() as database:
        database.execute("UPDATE jobs SET state = 'SUBMITTING', owner = ?", (ANOTHER_MACHINE,))
    for seconds, scheduler.goes_on in ((0, True), (60.5, True), (61, False), (180, False)):
        assert look(store, start, seconds) is State.SUBMITTING and scheduler.submissions == 1
    look(store, start, 182)
    assert (store.get(1).ref, scheduler.submissions) == ("102", 2)


def test_the_limit_of_an_ended_submission_starts_immediately(store: Store, scheduler: LateScheduler) -> None:
    scheduler.list_pending_submissions = lambda keys: set()  # type: ignore[method-assign]
    submit_without_answer(store, scheduler)
    scheduler.goes_on = False
    look(store, time.monotonic(), 121)
    assert scheduler.submissions == 2
