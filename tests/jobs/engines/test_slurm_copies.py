"""Several jobs of Slurm with the key of one job: reported, and cancelled together if they are of one record."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest
from jobs.engines.scheduler_stand_in import (
    LOST,
    Scheduler,
    build_job,
    submit,
)

from supercloud.jobs import api, futures
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.batch.runner import CommandResult
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.job import Job
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec.fleet import Connection


def test_two_jobs_with_one_key_are_reported_and_cancelled_together(rest: SlurmEngine, tmp_path: Path) -> None:
    ended, ref, again = submit(rest), submit(rest), submit(rest)
    submitted_other, of_another_store = submit(rest, "other"), submit(rest, recorded=1795213461.5)
    Scheduler.jobs[0]["job_state"] = ["COMPLETED"]
    statuses = rest.poll([ended, ref, again, submitted_other, of_another_store])
    for number in (ref, again):
        assert (
            "several copies of it: jobs 2 and 3; cancel it to end them all; Slurm also has job 5 of the same key, which"
            in (statuses[number].reason)
        )
    assert statuses[of_another_store].reason == "Slurm also has jobs 2 and 3 of the same key, which cancel does not end"
    assert not statuses[ended].reason and not statuses[submitted_other].reason
    rest.cancel(of_another_store)
    assert Scheduler.ended == ["5"]
    rest.cancel(ref)
    assert Scheduler.ended == ["5", "2", "3"]

    class Queue:
        ran: list[str] = []

        def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
            self.ran += argv[1:] if argv[0] == "scancel" else ()
            rows = [(1, "COMPLETED", "k"), (2, "RUNNING", "k"), (3, "PENDING", "k"), (4, "RUNNING", "other")]
            return CommandResult(
                0,
                "".join(
                    f"{number}|{state}|None|0|0|1795213461|1795213461|supercloud:{key}:{16 * 'a'}:{16 * 'b'}|\n"
                    for number, state, key in rows
                ),
            )

    by_commands = SlurmEngine(Connection(engine="slurm"), tmp_path, Queue())
    assert "several copies of it: jobs 2 and 3" in by_commands.poll(["2"])["2"].reason
    by_commands.cancel("2")
    assert Queue.ran == ["2", "3"]


@pytest.mark.parametrize("kept", [3, 2, 1], ids=["another record", "an earlier version", "without digests"])
@pytest.mark.parametrize("is_forgotten", [False, True], ids=["another store", "forgotten"])
def test_a_job_whose_answer_was_lost_is_not_the_job_of_another_record(
    address: str, plan: Plan, store: Store, tmp_path: Path, kept: int, is_forgotten: bool
) -> None:
    """Two records of one key and an equal spec: the second is looked for, and submitted itself in the end."""
    at = Connection(engine="slurm", via=address)
    with Store(tmp_path / "other") as other:
        api.submit(build_job(), plan, engine=at, key="k", store=store if is_forgotten else other)
    Scheduler.jobs[0]["comment"] = ":".join(Scheduler.jobs[0]["comment"].split(":")[: kept + 1])
    if is_forgotten:
        with store.transaction() as database:
            database.execute("DELETE FROM events")
            database.execute("DELETE FROM jobs")
    Scheduler.refusing, Scheduler.next_responses = True, [LOST]
    with pytest.raises(SubmissionUnknownError):
        api.submit(build_job(), plan, engine=at, key="k", store=store)
    Scheduler.refusing = False
    assert not reconcile(store)
    [record] = store.select()
    assert (record.ref, record.state) == (None, State.SUBMITTING)
    text = "slurm has job 1 with key k, which was submitted for another record"
    assert text in record.reason and "it is not changed" in record.reason
    assert not reconcile(store, clock=lambda: time.monotonic() + SlurmEngine.late_arrival + 1)
    assert (store.get(record.id).ref, len(Scheduler.jobs), Scheduler.ended) == ("2", 2, [])
    assert [event.note for event in store.list_events(record.id) if text in event.note]


class Queue:
    """A controller and its commands: jobs as number -> state, all of one key; it forgets and ends the given ones."""

    def __init__(self, jobs: dict[int, str], comment: str = f"supercloud:k:{16 * 'a'}:{16 * 'b'}"):
        self.jobs, self.comment, self.forgotten = jobs, comment, dict[int, str]()
        self.begins: set[int] = set()

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        if "scancel" in argv:
            number = int(argv[-1])
            self.jobs |= dict.fromkeys(self.begins, "RUNNING")
            if self.jobs.get(number) in (("PENDING",) if "--state=PENDING" in argv else ("PENDING", "RUNNING")):
                self.jobs[number] = "CANCELLED"
        if "squeue" in argv:
            return CommandResult(
                0,
                "".join(
                    f"{number}|{state}|None|0|0|1795213461|1795213461|{self.comment}|\n"
                    for number, state in self.jobs.items()
                ),
            )
        if any(word.startswith("--jobs=") for word in argv):
            return CommandResult(
                0,
                "".join(
                    f"{number}|{state}|0:0|1795213461|1795213461|None\n" for number, state in self.forgotten.items()
                ),
            )
        return CommandResult(0, "")


class Amnesiac:
    """Slurm without accounting, whose controller forgets immediately; the caller of sbatch is killed."""

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        if "sbatch" in argv:
            os._exit(9)
        if "sacct" in argv:
            return CommandResult(1, "", "Slurm accounting storage is disabled\n")
        return CommandResult(0, "MinJobAge               = 60 sec\n" if "scontrol" in argv else "")


@pytest.mark.slow
def test_the_record_of_a_job_whose_submitter_was_killed_has_the_known_status(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where Slurm never can say whether it has the job; time is counted from the end of its sbatch."""
    folder = tmp_path / "jobs"
    engine = SlurmEngine(Connection(engine="slurm"), folder, Amnesiac())
    for module in ("api", "recording", "reconcile", "futures"):
        monkeypatch.setattr(f"supercloud.jobs.{module}.open_engine", lambda *_: engine)
    monkeypatch.setattr(SlurmEngine, "require_reachable", lambda self: None)
    child = os.fork()
    if child == 0:
        try:
            api.submit(build_job(), plan, engine=Connection(engine="slurm"), key="k", store=Store(folder))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with Store(folder) as store:
        with open(folder / "slurm" / "k" / "script") as sbatch:
            fcntl.flock(sbatch, fcntl.LOCK_EX)
            assert not reconcile(store)
            assert "the submission to slurm has not" in store.get(1).reason
        futures.wait([api.get(1, store)], 0.0)
        assert (message := store.get(1).reason).startswith("submission unknown, looked up again until 20")
        assert [record.message for record in caplog.records] == [f"job 1 (job, key k) is SUBMITTING: {message}"]
        assert not reconcile(store, clock=lambda: time.monotonic() + SlurmEngine.late_arrival + 1)
        assert "slurm cannot determine whether it has the job, which" in store.get(1).reason
        assert store.get(1).state is State.SUBMITTING


def submit_twice(address: str, plan: Plan, store: Store) -> Job:
    """A job whose first submission got no answer, and which was submitted again when its time was up."""
    Scheduler.refusing, Scheduler.next_responses = True, [LOST]
    with pytest.raises(SubmissionUnknownError):
        api.submit(build_job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    Scheduler.refusing = False
    assert not reconcile(store, clock=lambda: time.monotonic() + SlurmEngine.late_arrival + 1)
    assert (store.get(1).ref, len(Scheduler.jobs)) == ("1", 1)
    return api.get(1, store)


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_live_copy_of_an_ended_job_is_reported_and_cancelled(
    address: str, plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch, is_forgotten: bool
) -> None:
    """Whether the controller still lists the one that ended or only the accounts know it."""
    first = submit_twice(address, plan, store)
    queue = Queue({1: "COMPLETED", 2: "RUNNING", 3: "PENDING"}, Scheduler.jobs[0]["comment"])
    if is_forgotten:
        queue.forgotten = {1: queue.jobs.pop(1)}
    engine = SlurmEngine(Connection(engine="slurm"), store.folder, queue)
    monkeypatch.setattr("supercloud.jobs.reconcile.open_engine", lambda *_: engine)
    monkeypatch.setattr("supercloud.jobs.job.open_engine", lambda *_: engine)
    assert first.wait(60) is State.COMPLETED
    assert "slurm still had jobs 2 and 3 of the same key; to cancel them: supercloud cancel 1" in first.record.reason
    assert first.cancel() is State.COMPLETED
    assert (queue.jobs[2], queue.jobs[3]) == ("CANCELLED", "CANCELLED")
    assert [event.note for event in first.list_events()][-1].startswith("cancellation of slurm job 3, a copy of job 1")
    queue.comment = f"supercloud:k:{16 * '0'}:{16 * '0'}"  # jobs of a user with the same key for another spec
    queue.jobs = {5: "RUNNING"}
    first.cancel()
    assert queue.jobs == {5: "RUNNING"}


@pytest.mark.slow
@pytest.mark.parametrize("kept", [3, 2], ids=["another store", "an earlier version"])
def test_cancel_ends_only_jobs_of_its_own_store(
    address: str,
    plan: Plan,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    kept: int,
) -> None:
    """A runner of CI that is set up for every run has a separate store, and may use the same key every night."""
    mine = submit_twice(address, plan, store)
    with Store(tmp_path / "other") as other:
        theirs = api.submit(build_job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=other)
        [own, comment] = [one["comment"] for one in Scheduler.jobs]
        assert own.split(":")[:3] == comment.split(":")[:3] and own != comment
        Scheduler.jobs[1]["comment"] = comment if kept == 3 else ":".join(comment.split(":")[:3])
        assert not reconcile(store)
        assert store.get(1).reason == "Slurm also has job 2 of the same key, which cancel does not end"
        Scheduler.jobs[0]["job_state"] = ["COMPLETED"]
        assert mine.wait(60) is State.COMPLETED
        assert "supercloud cancel" not in mine.record.reason
        assert "slurm still had job 2 of the same key, not ended by cancel" in mine.record.reason
        assert mine.cancel() is State.COMPLETED and not Scheduler.ended
        assert caplog.messages[-1].startswith("note: slurm has job 2 of the same key as job 1, which is not cancelled")
        theirs.cancel()
        assert Scheduler.ended == ["2"]


@pytest.mark.parametrize(
    "jobs, begins, left",
    [
        ({100: "PENDING", 101: "PENDING"}, set(), {100: "CANCELLED", 101: "CANCELLED"}),
        ({100: "RUNNING", 101: "PENDING"}, set(), {100: "RUNNING", 101: "PENDING"}),
        ({100: "PENDING", 101: "PENDING"}, {100}, {100: "RUNNING", 101: "PENDING"}),
        ({100: "PENDING", 101: "PENDING"}, {101}, {100: "CANCELLED", 101: "RUNNING"}),
        ({100: "CONFIGURING", 101: "PENDING"}, set(), {100: "CONFIGURING", 101: "PENDING"}),
        ({100: "REQUEUED", 101: "PENDING"}, set(), {100: "REQUEUED", 101: "PENDING"}),
    ],
)
def test_all_jobs_of_a_key_are_recalled_or_none(
    tmp_path: Path, jobs: dict[int, str], begins: set[int], left: dict[int, str]
) -> None:
    """Also where one begins while they are asked back."""
    queue = Queue(dict(jobs))
    queue.begins = begins
    SlurmEngine(Connection(engine="slurm"), tmp_path, queue).recall("101")
    assert queue.jobs == left
