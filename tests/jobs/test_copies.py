"""What the scheduler has twice of a job is named and ended, whatever else goes wrong; no engine is asked in vain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any

import pytest

from supercloud.errors import EngineError, StoreError
from supercloud.jobs import api
from supercloud.jobs.broker import ledger
from supercloud.jobs.broker.polls import poll_connection
from supercloud.jobs.engines.base import JobCopies
from supercloud.jobs.engines.batch.copies import select_live_starts
from supercloud.jobs.engines.batch.runner import CommandResult
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.engines.submission import JobIdentity, compute_record_digest, compute_spec_digest
from supercloud.jobs.fleet.state import ObservationCache
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.records import Assignment, NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store
from supercloud.spec.fleet import Connection

CONNECTION = '{"engine": "slurm"}'


class Scheduler:
    """Jobs 1 and 2 carry one key; job 1 has ended, job 2 runs."""

    def __init__(self) -> None:
        self.state, self.copies_asked, self.ended = State.COMPLETED, 0, list[str]()
        self.problem: Exception | None = None

    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        return {ref: Status(self.state, reason="said") for ref in refs}

    def find_copies(self, jobs: Mapping[str, JobIdentity]) -> Mapping[str, JobCopies]:
        self.copies_asked += 1
        if self.problem:
            raise self.problem
        return {ref: JobCopies(certain=("2",)) for ref in jobs if not self.ended}

    def cancel(self, ref: str) -> None:
        self.ended.append(ref)


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Scheduler:
    scheduler = Scheduler()
    for module in ("reconcile", "job", "broker.polls"):
        monkeypatch.setattr(f"supercloud.jobs.{module}.open_engine", lambda *_: scheduler)
    return scheduler


def record_running(store: Store, submissions: int, connection: str = CONNECTION, **fields: Any) -> int:
    """A job that was submitted so often before it ran."""
    number = store.record(
        NewJob(key="k", name="j", spec="{}", **fields, assignment=Assignment(connection=connection, engine="slurm"))
    )[0].id
    with store.transaction() as database:
        for _ in range(submissions):
            database.execute("UPDATE jobs SET state = 'PENDING', owner = ''")
            assert store.begin_submission(number)
    store.record_submitted(number, "1")
    store.record_statuses({number: Status(State.RUNNING)})
    return number


def fill_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, "transaction", refuse)


def test_copies_of_a_job_submitted_once_are_not_looked_up(store: Store, scheduler: Scheduler) -> None:
    number = record_running(store, 1)
    assert not reconcile(store) and api.get(number, store).cancel() is State.COMPLETED
    assert (store.get(number).reason, scheduler.copies_asked) == ("said", 0)


def test_a_restored_store_does_not_know_how_often_a_job_was_submitted(store: Store, scheduler: Scheduler) -> None:
    number = record_running(store, 1)
    with store.transaction() as database:
        database.execute("INSERT INTO restores (at, since, last) VALUES (1, ?, 1)", (store.get(number).recorded,))
    assert not reconcile(store) and "slurm still had job 2 of the same key" in store.get(number).reason


@pytest.mark.parametrize("problem", [EngineError("no answer"), OSError("no answer"), OverflowError("no answer")])
def test_a_failed_lookup_of_copies_keeps_the_state(store: Store, scheduler: Scheduler, problem: Exception) -> None:
    number = record_running(store, 2)
    scheduler.problem = problem
    assert not reconcile(store)
    record = store.get(number)
    assert record.state is State.COMPLETED
    assert "said; it is unknown whether slurm has a live copy of it (no answer); " in record.reason
    assert record.reason.endswith(f"supercloud cancel {number} checks again and cancels it")


@pytest.mark.parametrize(
    "connection",
    [
        '{"engine": "slurm", "via": "ssh:gone"}',
        '{"engine": "slurm", "via": "https://gone.example:6820"}',
        '{"engine": "plugin-that-was-removed"}',
    ],
)
@pytest.mark.parametrize("submissions", [1, 2])
def test_a_finished_job_stays_finished_if_its_cluster_is_missing(
    store: Store,
    connection: str,
    submissions: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("SLURM_JWT", raising=False)
    number = record_running(store, submissions, connection)
    store.record_statuses({number: Status(State.COMPLETED)})
    assert api.get(number, store).cancel() is State.COMPLETED
    warned = [f"job {number} has ended; copies of it that slurm may still have were not cancelled: " in caplog.text]
    assert warned == [submissions > 1], caplog.text


def test_a_copy_is_cancelled_on_a_full_disk(
    store: Store, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = record_running(store, 2)
    assert not reconcile(store)
    fill_disk(store, monkeypatch)
    assert api.get(number, store).cancel() is State.COMPLETED and scheduler.ended == ["2"]


class Slurm:
    """Slurm's queue as id -> key and digest of the record, in which everything runs; it forgets what is not in it."""

    def __init__(self, jobs: dict[str, tuple[str, str]]):
        self.jobs, self.ended = jobs, list[str]()

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        if "scancel" in argv:
            self.ended.append(argv[-1])
            known = argv[-1] in self.jobs
            return CommandResult(0, "") if known else CommandResult(1, "", "scancel: error: Invalid job id specified\n")
        spec = compute_spec_digest("{}")
        rows = (
            f"{ref}|RUNNING|None|0|0|1795213461|1795213461|supercloud:{key}:{spec}:{record}|\n"
            for ref, (key, record) in self.jobs.items()
        )
        return CommandResult(0, "".join(rows) if "squeue" in argv else "")


@pytest.mark.parametrize(
    "jobs, ended",
    [
        ({}, []),  # Slurm has forgotten it
        ({"1": ("k", "")}, ["1"]),
        ({"1": ("k", ""), "2": ("k", "")}, ["1", "2"]),  # with its copy
        ({"1": ("k.e1", "")}, []),  # the id is of the next start of this job
        ({"1": ("k", 16 * "0")}, []),  # the id is of another record
        ({"1": ("other", 16 * "0"), "7": ("k", "")}, ["7"]),
    ],
)
def test_an_abandoned_start_is_identified_by_key_and_record(
    store: Store, monkeypatch: pytest.MonkeyPatch, jobs: dict[str, tuple[str, str]], ended: list[str]
) -> None:
    """Slurm uses ids again, and what it has forgotten has ended: nothing is left to be ended later."""
    record = store.get(record_running(store, 1, fleet="all", retries=2))
    mine = compute_record_digest(record.recorded)
    slurm = Slurm({ref: (key, digest or mine) for ref, (key, digest) in jobs.items()})
    engine = SlurmEngine(Connection(engine="slurm"), store.folder, slurm)
    monkeypatch.setattr("supercloud.jobs.broker.polls.open_engine", lambda *_: engine)
    ledger.abandon_launch(store, record, "no answer")
    assert [item.key for item in ledger.list_abandoned(store)] == ["k"] and store.get(record.id).engine_key == "k.e1"
    poll_connection(store, CONNECTION, [], [], ObservationCache(), [], 0.0)
    assert slurm.ended == ended and not ledger.list_abandoned(store)


@pytest.mark.parametrize("problem", [None, EngineError("no answer")])
def test_copies_of_a_job_that_is_started_again_are_left_to_the_broker(
    store: Store, scheduler: Scheduler, problem: Exception | None
) -> None:
    """Its record names the next start from then on: cancel would not find them."""
    number = record_running(store, 2, fleet="all", retries=2)
    scheduler.state, scheduler.problem = State.NODE_FAIL, problem
    assert not reconcile(store)
    record = store.get(number)
    assert (record.state, record.ref) == (State.HELD, None) and "supercloud cancel" not in record.reason
    assert "supercloud serve" in record.reason and record.reason.endswith("; it is restarted")
    ref = "1" if problem else "2"  # Slurm's cancel of job 1 ends its copies
    assert [item.ref for item in ledger.list_abandoned(store)] == [ref]
    api.get(number, store).cancel()
    poll_connection(store, CONNECTION, [number], [], ObservationCache(), [], 0.0)
    assert scheduler.ended == [ref] and not ledger.list_abandoned(store)


def test_a_key_with_another_spec_is_another_job() -> None:
    job = JobIdentity("key", "spec")
    assert job.can_be_same_job(JobIdentity("key", "spec", "record")) and job.can_be_same_job(JobIdentity("key"))
    assert not job.can_be_same_job(JobIdentity("key", "other spec"))
    assert not job.can_be_same_job(JobIdentity("other", "spec")) and not job.can_be_same_job(JobIdentity("other"))


def test_a_job_of_another_spec_is_no_start_of_a_job_without_a_record() -> None:
    """Its ID may have been given to another job with the key, which must not be cancelled."""
    start = JobIdentity("key", "spec", compute_record_digest(1.0))
    found = {spec: ("7", Status(State.RUNNING), JobIdentity("key", spec)) for spec in ("spec", "other spec", "")}
    live = {spec: select_live_starts([row], "7", start) for spec, row in found.items()}
    assert live == {"spec": ["7"], "other spec": [], "": ["7"]}
