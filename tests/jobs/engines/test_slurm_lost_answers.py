"""A job that Slurm may have accepted is looked up by its key, and never recorded as refused."""

from __future__ import annotations

import errno
import getpass
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import pytest
from jobs.engines.scheduler_stand_in import (
    LOST,
    NO_ANSWER,
    RECORDINGS,
    Scheduler,
    build_job,
    build_slurm_error,
    submit,
)

from supercloud.errors import EngineError, EngineUnreachableError
from supercloud.jobs import api
from supercloud.jobs.broker.polls import poll_connection
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.batch.runner import CommandResult
from supercloud.jobs.engines.slurm import communication
from supercloud.jobs.engines.slurm import rest as rest_module
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.fleet.state import ObservationCache
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec.fleet import Connection

BROKEN: list[tuple[int, Any]] = [
    (500, build_slurm_error(5004, "Socket timed out on send/recv operation")),
    (504, build_slurm_error(5004, "Socket timed out on send/recv operation")),
    (500, build_slurm_error(5005, "Zero Bytes were transmitted or received")),
    (500, {"errors": [{"error": "Zero Bytes were transmitted or received", "errno": 5005}]}),
    (502, build_slurm_error(1802, "Unable to contact slurm controller (receive failure)")),
    (500, build_slurm_error(1000, "Unexpected message received")),
    (500, build_slurm_error(1899, "an error of communication of a later release")),
    (500, build_slurm_error(errno.ECONNRESET, "Connection reset by peer")),
    (
        500,
        {
            "errors": [
                *build_slurm_error(2000, "Invalid partition name specified")["errors"],
                *build_slurm_error(5005, "Zero Bytes were transmitted or received")["errors"],
            ]
        },
    ),
    (500, {"errors": [{"error_number": True, "error": "x"}]}),
    (500, {"errors": [{"error_number": 0, "error": "x"}]}),
    (500, {"errors": [{"title": "Gateway Timeout", "status": "504"}]}),
    (500, {"errors": []}),
    (500, {}),
    (500, b""),
    (500, b"[]"),
    (502, b"<html>Bad Gateway</html>"),
    (503, b"busy"),
    (504, b"\xff"),
    (599, {"errors": 7}),
    (200, build_slurm_error(5004, "Socket timed out on send/recv operation")),
    (200, {"errors": [{"error": "Zero Bytes were transmitted or received"}]}),
    (200, {"job_id": 1.5}),
    (200, {"job_id": 0}),
    (200, {"job_id": -1}),
    (200, {"job_id": True}),
    (200, {}),
    (200, {"job_id": {"set": True, "number": 1.5}}),
    (200, b"{"),
    (200, NO_ANSWER),
    (500, {**build_slurm_error(2068, "Required node not available"), "job_id": 1.5}),
]
REFUSED: list[tuple[int, Any, str]] = [
    (500, json.loads((RECORDINGS / "rest-refused-26.05.json").read_text()), "refused.*Invalid qos specification"),
    (500, build_slurm_error(2000, "Invalid partition name specified"), "Invalid partition name"),
    (500, {"errors": [{"error": "Invalid partition name specified", "errno": 2000}]}, "Invalid partition name"),
    (500, {"errors": [{"error": "Invalid partition name specified", "error_code": 2000}]}, "Invalid partition name"),
    (500, build_slurm_error(-1, "Unspecified error"), "Unspecified error"),
    (500, build_slurm_error(errno.EAGAIN, "Resource temporarily unavailable"), "temporarily"),
    (
        502,
        build_slurm_error(1800, "Unable to contact slurm controller (connect failure)"),
        "does not respond.*connect fail",
    ),
    (502, build_slurm_error(1804, "Rate limit exceeded, please retry momentarily"), "Rate limit"),
    (511, build_slurm_error(1007, "Protocol authentication error"), "authentication"),
    (400, {"errors": [{"description": "Unable to parse job"}]}, "Unable to parse"),
    (429, b"slow down", "try again later, with another key"),
    (413, b"<html>Request Entity Too Large</html>", "413"),
    (413, {"errors": ["too large"]}, "413"),
    (401, b"expired", "SLURM_JWT"),
]


@pytest.mark.slow
@pytest.mark.parametrize("response", BROKEN, ids=range(len(BROKEN)))
def test_a_job_accepted_by_slurmrestd_with_an_error_response_is_found(
    rest: SlurmEngine, response: tuple[int, Any]
) -> None:
    Scheduler.next_responses = [response]
    with pytest.raises(SubmissionUnknownError):
        submit(rest)
    assert rest.find(["k"], time.time()) == {"k": "1"}


@pytest.mark.parametrize("code, body, text", REFUSED, ids=range(len(REFUSED)))
def test_a_refusal_by_slurmrestd_is_not_an_unknown_submission(
    rest: SlurmEngine, code: int, body: Any, text: str
) -> None:
    Scheduler.refusing, Scheduler.next_responses = True, [(code, body)]
    with pytest.raises(EngineError, match=text) as caught:
        submit(rest)
    assert not isinstance(caught.value, SubmissionUnknownError)
    assert isinstance(caught.value, EngineUnreachableError) == text.startswith("does not respond")


def test_an_answer_of_slurmrestd_without_an_id_is_not_one_of_sbatch(rest: SlurmEngine) -> None:
    Scheduler.next_responses = [(200, {})]
    with pytest.raises(SubmissionUnknownError, match="http.* answered without the ID of a job") as caught:
        submit(rest)
    assert "sbatch" not in str(caught.value)


def test_an_impossible_time_makes_only_its_job_unknown(rest: SlurmEngine) -> None:
    fine = {"job_state": ["RUNNING"], "comment": "supercloud:k", "user_name": getpass.getuser(), "start_time": 1}
    Scheduler.jobs = [fine | {"job_id": 7, "start_time": 10**15}, fine | {"job_id": 8}]
    found = rest.poll(["7", "8"])
    assert found["7"].state is State.UNKNOWN and "a time is" in found["7"].reason
    assert found["8"].state is State.RUNNING


def test_an_accepted_job_that_has_to_wait_is_not_refused(rest: SlurmEngine) -> None:
    """Slurmctld responds with the job ID and an error with the reason why it cannot start."""
    body = build_slurm_error(2068, "Required node not available (down, drained or reserved)") | {"job_id": 1}
    for code in (200, 500):
        Scheduler.next_responses = [(code, body)]
        assert submit(rest) == "1"


def test_communication_errors_are_distinguished_from_refusals() -> None:
    table = communication._load_table()
    for message in table["may_have_arrived"].values():
        assert communication.can_output_mean_arrival(f"sbatch: error: Batch job submission failed: {message}"), message
    for number, (message, _) in table["not_taken"].items():
        assert not communication.can_output_mean_arrival(f"sbatch: error: Batch job submission failed: {message}"), (
            message
        )
        assert communication.is_unreachable(message) == (table["not_taken"][number][1] == "no connection was made")
    assert not table["may_have_arrived"].keys() & table["not_taken"].keys()
    assert communication.can_output_mean_arrival(f"Batch job submission failed: {os.strerror(errno.EPIPE)}")


class Sbatch:
    """Keeps the job of sbatch, and then prints a given answer."""

    def __init__(self, result: CommandResult):
        self.result, self.comment = result, ""

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        if "sbatch" in argv:
            self.comment = next(word.removeprefix("--comment=") for word in argv if word.startswith("--comment="))
            return self.result
        if "squeue" in argv:
            return CommandResult(0, f"{1:24}|{'RUNNING':24}|None|0|0|1795213461|1795213461|{self.comment}|\n")
        return CommandResult(1, "", "Slurm accounting storage is disabled\n")


@pytest.mark.parametrize(
    "result",
    [
        CommandResult(1, "", "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received\n"),
        CommandResult(1, "", "sbatch: error: Batch job submission failed: Unexpected message received\n"),
        CommandResult(-15, ""),
    ],
    ids=range(3),
)
def test_a_job_submitted_by_a_failing_sbatch_is_found(tmp_path: Path, result: CommandResult) -> None:
    engine = SlurmEngine(Connection(engine="slurm"), tmp_path, Sbatch(result))
    with pytest.raises(SubmissionUnknownError):
        submit(engine)
    assert engine.find(["k"], time.time()) == {"k": "1"}


def test_a_job_whose_answer_was_lost_runs_once(address: str, plan: Plan, store: Store) -> None:
    """Through the store: the job is not FAILED, and who looks for it has it under its number."""
    Scheduler.next_responses = [(500, build_slurm_error(5004, "Socket timed out on send/recv operation"))]
    with pytest.raises(SubmissionUnknownError, match="run: supercloud wait 1"):
        api.submit(build_job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    assert not reconcile(store)
    assert (store.get(1).ref, store.get(1).state, len(Scheduler.jobs)) == ("1", State.QUEUED, 1)


def test_a_submission_without_an_answer_is_not_repeated_before_its_time_limit(
    address: str, plan: Plan, store: Store
) -> None:
    """The answer is lost, and the queue does not list the job yet: it is looked up, and submitted once, later."""
    Scheduler.refusing, Scheduler.next_responses = True, [LOST]
    with pytest.raises(SubmissionUnknownError):
        api.submit(build_job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    Scheduler.refusing = False
    for later in (0, 0, 60, SlurmEngine.late_arrival - 10):
        assert not reconcile(store, clock=lambda later=later: time.monotonic() + later)
        assert (store.get(1).state, Scheduler.jobs) == (State.SUBMITTING, [])
        assert "submission unknown, looked up again until 20" in store.get(1).reason
    assert not reconcile(store, clock=lambda: time.monotonic() + SlurmEngine.late_arrival + 1)
    assert (store.get(1).ref, store.get(1).reason, len(Scheduler.jobs)) == ("1", "", 1)


def test_a_job_that_slurm_cannot_look_up_is_not_submitted_again(
    address: str, plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without accounts, once the controller may have forgotten it."""
    Scheduler.refusing, Scheduler.next_responses = True, [LOST]
    with pytest.raises(SubmissionUnknownError):
        api.submit(build_job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    Scheduler.refusing = False
    monkeypatch.setattr(rest_module.RestController, "read_older_jobs", lambda self, seconds: None)
    assert not reconcile(store) and "looked up again until" in store.get(1).reason
    assert not reconcile(store, clock=lambda: time.monotonic() + SlurmEngine.late_arrival + 1)
    assert (
        "cannot determine whether it has the job, which" in store.get(1).reason and "the key k" in store.get(1).reason
    )
    assert not Scheduler.jobs and store.get(1).state is State.SUBMITTING


NONSENSE = "printf 'Welcome to the machine!\\n|||||||||\\nNone|a|b\\n'"


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes Slurm's commands as shell scripts, and has them found first."""
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def write(**scripts: str) -> None:
        for name, script in scripts.items():
            (folder / name).write_text(f'#!/bin/sh\n[ "$1" != --version ] || exit 0\n{script}\n')
            (folder / name).chmod(0o755)

    write(scontrol="echo MinJobAge = 300 sec")
    return write


@pytest.mark.parametrize("squeue, sacct", [(NONSENSE, "exit 1"), (NONSENSE, NONSENSE), ("", NONSENSE)])
def test_a_listing_that_cannot_be_read_leads_to_no_submission(
    commands: Callable[..., None], plan: Plan, store: Store, tmp_path: Path, squeue: str, sacct: str
) -> None:
    count = f"[ $1 != --version ] || exit 0; cat >/dev/null; echo x >> {tmp_path}/count"
    commands(sbatch=f"{count}; echo 'submission failed: Socket timed out on send/recv operation' >&2; exit 1")
    with pytest.raises(SubmissionUnknownError):
        api.submit(build_job(), plan, engine=Connection(engine="slurm"), key="k", store=store)
    commands(sbatch=f"{count}; echo 7", squeue=squeue, sacct=sacct)
    for later in (0.0, SlurmEngine.late_arrival + 1, 2 * SlurmEngine.late_arrival):
        [problem] = reconcile(store, clock=lambda later=later: time.monotonic() + later)
        assert "'s answer is not a list of jobs: it begins with 'Welcome to the machine!'" in str(problem)
    assert store.get(1).state is State.SUBMITTING and (tmp_path / "count").read_text() == "x\n"


def test_a_listing_that_cannot_be_read_is_an_outage(commands: Callable[..., None], plan: Plan, store: Store) -> None:
    """The jobs keep their state, instead of "job not found"."""
    commands(sbatch="cat >/dev/null; echo 7", sacct="exit 1", squeue="echo '7|RUNNING|None|0|0|1|2|supercloud:k'")
    api.submit(build_job(), plan, engine=Connection(engine="slurm"), key="k", store=store)
    assert not reconcile(store) and store.get(1).state is State.RUNNING
    commands(squeue=NONSENSE)
    answer = poll_connection(store, store.get(1).connection, [1], [], ObservationCache(), [], 0.0)
    assert answer.is_unresponsive and "squeue's answer is not a list of jobs" in str(answer.outage)
    assert store.get(1).state is State.RUNNING


def test_a_job_that_appears_during_the_lookup_runs_once(address: str, plan: Plan, store: Store) -> None:
    Scheduler.next_responses = [LOST]
    with pytest.raises(SubmissionUnknownError):
        api.submit(build_job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    late, Scheduler.jobs = Scheduler.jobs, []
    assert not reconcile(store) and store.get(1).ref is None
    assert api.submit(build_job(), plan, key="k", store=store).record.state is State.SUBMITTING
    Scheduler.jobs = late
    assert not reconcile(store) and (store.get(1).ref, len(Scheduler.jobs)) == ("1", 1)


def test_a_job_that_reuses_an_id_is_neither_polled_nor_cancelled(address: str, plan: Plan, store: Store) -> None:
    """The controller has lost its state, and has given the number to a job of another store."""
    ours = api.submit(build_job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    prefix = Scheduler.jobs[0]["comment"].rpartition(":")[0]
    Scheduler.jobs[0] |= {"comment": f"{prefix}:{'0' * 16}", "job_state": ["COMPLETED"]}
    assert not reconcile(store)
    assert store.get(1).state is not State.COMPLETED
    assert "Slurm now uses ID 1 for another job" in store.get(1).reason
    Scheduler.ended = []
    ours.cancel()
    assert not Scheduler.ended
