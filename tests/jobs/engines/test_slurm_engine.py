from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import pytest

from supercloud.errors import EngineError, EngineUnreachableError
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.batch.copies import select_latest
from supercloud.jobs.engines.batch.runner import CommandResult, LocalRunner
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.engines.slurm.system import SLURM
from supercloud.jobs.engines.slurm.texts import parse_jobs
from supercloud.jobs.engines.submission import JobIdentity
from supercloud.jobs.placement.place import Placement
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.jobs.store.states import State
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

AT = Placement("pod", "train", 1, 8, 8, "h100-sxm", request=SlurmRequest("h100"))
RECORDINGS = Path(__file__).parent.parent / "recordings"


class Says:
    """Gives prepared answers by the name of the command, and remembers what was asked."""

    def __init__(self, **answers: CommandResult):
        self.answers, self.asked = answers, list[str]()

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        name = next(word for word in argv if word in ("sbatch", "squeue", "sacct", "scancel", "scontrol"))
        self.asked.append(name)
        return self.answers[name]


def read_recording(name: str) -> CommandResult:
    _, *lines, last = (RECORDINGS / name).read_text().splitlines()
    return CommandResult(int(last.removeprefix("# rc=")), "\n".join(lines) + "\n")


def open_engine(folder: Path, **answers: CommandResult) -> SlurmEngine:
    return SlurmEngine(Connection(engine="slurm"), folder, Says(**answers))


FAILED = "sbatch: error: Batch job submission failed:"
DOWN = CommandResult(1, "", "squeue: error: x\nslurm_load_jobs error: Unable to contact slurm controller\n")


def test_the_queue_is_read_before_accounting(tmp_path: Path) -> None:
    lost, gone = (
        select_latest(parse_jobs(read_recording("queue-22.05.txt").stdout))[key] for key in ("lost", "lost-for-good")
    )
    both = open_engine(
        tmp_path, squeue=read_recording("queue-lost-22.05.txt"), sacct=read_recording("accounts-22.05.txt")
    )
    assert both.poll([lost])[lost].attempt == 2
    assert both.runner.asked == ["squeue"]  # type: ignore[attr-defined]
    forgotten = open_engine(tmp_path, squeue=CommandResult(0, ""), sacct=read_recording("accounts-22.05.txt"))
    assert forgotten.poll([lost, gone])[gone].state is State.NODE_FAIL
    without = open_engine(
        tmp_path, squeue=CommandResult(0, ""), sacct=CommandResult(1, "", "Slurm accounting storage is disabled")
    )
    assert without.poll([gone]) == {}


def test_a_controller_that_is_down_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="does not respond.*Unable to contact"):
        open_engine(tmp_path, squeue=DOWN).poll(["4"])


@pytest.mark.parametrize(
    "answer, error, text",
    [
        (CommandResult(1, "", f"{FAILED} Invalid qos specification\n"), EngineError, "refused the job.*set priority"),
        (
            CommandResult(1, "", f"{FAILED} Socket timed out on send/recv operation\n"),
            SubmissionUnknownError,
            "timed out",
        ),
        (CommandResult(0, "welcome\n"), SubmissionUnknownError, "unknown whether Slurm has the job.*welcome"),
        (
            CommandResult(1, "", f"{FAILED} Zero Bytes were transmitted or received\n"),
            SubmissionUnknownError,
            "unknown whether Slurm has the job.*Zero Bytes",
        ),
        (
            CommandResult(1, "", f"{FAILED} Unable to contact slurm controller (receive failure)\n"),
            SubmissionUnknownError,
            "receive failure",
        ),
        (
            CommandResult(1, "", f"{FAILED} Unable to contact slurm controller (connect failure)\n"),
            EngineUnreachableError,
            "^Slurm does not respond: Unable to contact slurm controller .connect failure.; try again when",
        ),
        (
            CommandResult(1, "", f"sbatch: error: x\n{FAILED} Connection reset by peer\n"),
            SubmissionUnknownError,
            "reset by peer",
        ),
        (
            CommandResult(1, "", f"sbatch: error: x: Connection reset by peer\n{FAILED} Access/permission denied\n"),
            EngineError,
            "permission denied",
        ),
        (
            CommandResult(1, "", f"{FAILED} Connection timed out establishing\n"),
            EngineUnreachableError,
            "does not respond.*establishing",
        ),
        (CommandResult(1, "", f"{FAILED} Unspecified error\n"), EngineError, "Unspecified error"),
        (CommandResult(-9, ""), SubmissionUnknownError, "exit code -9"),
        (CommandResult(143, ""), SubmissionUnknownError, "exit code 143"),
        (CommandResult(200, "", f"{FAILED} Invalid qos specification\n"), EngineError, "Invalid qos"),
    ],
)
def test_a_refusal_is_not_an_unknown_submission(
    tmp_path: Path, job: Callable[..., JobSpec], answer: CommandResult, error: type[Exception], text: str
) -> None:
    refused = open_engine(tmp_path, sbatch=answer)
    with pytest.raises(error, match=text) as caught:
        refused.submit(refused.prepare(job(), AT, "k"))
    assert type(caught.value) is error


def test_a_key_is_looked_up_in_queue_and_accounting(tmp_path: Path) -> None:
    now, long_ago = time.time(), time.time() - 7200
    key, other = "ok", "nobody"
    queue, accounts = read_recording("queue-22.05.txt"), read_recording("found-22.05.txt")
    off, nothing = CommandResult(1, "", "Slurm accounting storage is disabled"), CommandResult(0, "")
    assert open_engine(tmp_path, squeue=nothing, sacct=accounts).find([key, other], long_ago) == {key: "1", other: None}
    assert open_engine(tmp_path, squeue=queue, sacct=nothing).find([key, other], now) == {key: "1", other: None}
    set_back = open_engine(tmp_path, squeue=queue, sacct=nothing).find([key, other], now + 7200)
    assert set_back == {key: "1"}, "how long ago the other was submitted nobody knows"
    for age, left, answers in (
        (300, now, {key: "1", other: None}),
        (300, long_ago, {key: "1"}),
        (90, now - 60, {key: "1"}),
    ):
        settings = CommandResult(0, f"MaxJobCount             = 10000\nMinJobAge               = {age} sec\n")
        here = open_engine(tmp_path, squeue=queue, sacct=off, scontrol=settings)
        assert here.find([key, other], left) == answers, "where nobody keeps accounts: as long as it is remembered"
    with pytest.raises(EngineError):
        open_engine(tmp_path, squeue=DOWN).find([key], now)


def test_a_job_that_the_controller_has_forgotten_is_ended(tmp_path: Path) -> None:
    gone = CommandResult(1, "", "scancel: error: Kill job error on job id 5: Invalid job id specified\n")
    open_engine(tmp_path, scancel=gone, squeue=CommandResult(0, "")).cancel("5")
    with pytest.raises(EngineError, match="Slurm does not respond"):
        open_engine(tmp_path, scancel=DOWN).cancel("5")


def test_a_submission_in_progress_is_not_repeated(tmp_path: Path, job: Callable[..., JobSpec]) -> None:
    """The lock is held by the process with the open script: sbatch, even if its parent was killed."""
    looking = open_engine(
        tmp_path, sbatch=CommandResult(0, "5\n"), squeue=CommandResult(0, ""), sacct=CommandResult(0, "")
    )
    looking.submit(looking.prepare(job(), AT, "k"))
    with open(tmp_path / "slurm/k/script", "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert looking.find(["k"], time.time()) == {}
    assert looking.find(["k"], time.time()) == {"k": None}


def test_local_commands_return_code_and_output(tmp_path: Path) -> None:
    assert LocalRunner(SLURM).run(["sh", "-c", "echo a; echo b >&2; exit 3"]) == CommandResult(3, "a\n", "b\n")
    with pytest.raises(EngineError, match="nosuchcommand not found on this machine"):
        LocalRunner(SLURM).run(["nosuchcommand"])


@pytest.mark.parametrize("comment, is_ours", [("supercloud:ok", True), ("supercloud:other", False), ("", True)])
def test_accounting_records_are_matched_with_the_job(tmp_path: Path, comment: str, is_ours: bool) -> None:
    """A record without a comment counts by its ID."""
    accounts = CommandResult(0, f"7|COMPLETED|0:0|1795213461|1795213462|None||sbatch --comment={comment}\n")
    ours = ("7", JobIdentity("ok", "a" * 16, "b" * 16))
    status = open_engine(tmp_path, squeue=CommandResult(0, ""), sacct=accounts).poll_jobs([ours])[ours]
    assert status.state is (State.COMPLETED if is_ours else State.UNKNOWN)
    assert ("Slurm now uses ID 7 for another job" in status.reason) is not is_ours
