"""What every engine does alike: the same questions to the fake, the local and a stand-in for Slurm."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import pytest
from jobs.waiting import end_everything, eventually

from supercloud.jobs.engine import Engine, Finds, StreamsLogs
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.engines.local.engine import LocalEngine
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.engines.slurm.runner import Answer
from supercloud.jobs.placement import Placement
from supercloud.jobs.states import State
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

AT = Placement("pod", "train", 1, 2, 8, "h100-sxm", "h100", "CUDA_VISIBLE_DEVICES")


class SlurmStandIn:
    """Answers in the form of the recordings; a job moves on each time the queue is listed."""

    def __init__(self) -> None:
        self.jobs: dict[str, list[str]] = {}
        self.comments: dict[str, str] = {}

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> Answer:
        verb = next(word for word in argv if word in ("sbatch", "squeue", "sacct", "scancel"))
        return getattr(self, verb)(list(argv), stdin)  # type: ignore[no-any-return]

    def sbatch(self, argv: list[str], stdin: IO[bytes] | None) -> Answer:
        assert stdin is not None
        text = stdin.read().decode()
        ref = str(len(self.jobs) + 1)
        self.comments[ref] = next(item.removeprefix("--comment=") for item in argv if item.startswith("--comment="))
        log = Path(next(item.removeprefix("--output=") for item in argv if item.startswith("--output=")))
        end = "FAILED|768" if "exit 3" in text else "COMPLETED|0"
        self.jobs[ref] = ["PENDING|0", "RUNNING|0"] + (["RUNNING|0"] * 500 if "sleep" in text else []) + [end]
        log.write_text("hello\n" if "echo hello" in text else "")
        return Answer(0, f"{ref}\n")

    def squeue(self, argv: list[str], stdin: object) -> Answer:
        lines = []
        for ref, states in self.jobs.items():
            state, code = states[0].split("|")
            lines.append(
                f"{ref:24}|{state:24}|{'None':64}|{0:12}|{code:16}|1795213461|1795213462|{self.comments[ref]:128}|\n"
            )
            if len(states) > 1:
                states.pop(0)
        return Answer(0, "".join(lines))

    def sacct(self, argv: list[str], stdin: object) -> Answer:
        return Answer(1, "", "Slurm accounting storage is disabled\n")

    def scancel(self, argv: list[str], stdin: object) -> Answer:
        if len(self.jobs.get(argv[-1], [])) > 1:
            self.jobs[argv[-1]] = ["CANCELLED|15"]
        return Answer(0, "")


@pytest.fixture(params=["fake", "local", "slurm"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    connection = Connection(engine=request.param)
    if request.param == "slurm":
        yield SlurmEngine(connection, tmp_path, SlurmStandIn())
    elif request.param == "fake":
        yield FakeEngine(connection, tmp_path)
    else:
        yield LocalEngine(connection, tmp_path)
        end_everything(tmp_path)


def a_job(engine: Engine, what: str) -> JobSpec:
    """The same wish, as each engine can be told it."""
    words = {"fine": ["sh", "-c", "echo hello"], "bad": ["sh", "-c", "exit 3"], "long": ["sleep", "60"]}[what]
    if isinstance(engine, FakeEngine):
        ends = {"fine": "COMPLETED:0", "bad": "FAILED:3"}
        words = ["fake", "QUEUED", *(["RUNNING", ends[what]] if what in ends else ["RUNNING"])]
    return JobSpec.model_validate({"name": "job", "command": words, "accelerators": {"count": 2}})


def submitted(engine: Engine, what: str, key: str = "k") -> str:
    return engine.submit(engine.prepare(a_job(engine, what), AT, key))


def reaches(engine: Engine, ref: str, *states: State) -> Callable[[], object]:
    def look() -> object:
        status = engine.poll([ref])[ref]
        return status if status.state in states else None

    return look


def test_preparing_is_pure_and_readable(engine: Engine, tmp_path: Path) -> None:
    one, other = (engine.prepare(a_job(engine, "fine"), AT, "k") for _ in range(2))
    assert one == other and str(one) == str(other)
    assert type(one).of_json(one.to_json()) == one
    assert a_job(engine, "fine").command[-1].split()[0] in str(one)  # type: ignore[index]
    assert not list(tmp_path.iterdir())


def test_a_job_completes(engine: Engine) -> None:
    ref = submitted(engine, "fine")
    status = eventually(reaches(engine, ref, State.COMPLETED))
    assert status.exit_code == 0 and status.attempt <= 1


def test_a_job_fails_with_its_code(engine: Engine) -> None:
    ref = submitted(engine, "bad")
    assert eventually(reaches(engine, ref, State.FAILED)).exit_code == 3


def test_a_job_is_cancelled(engine: Engine) -> None:
    ref = submitted(engine, "long")
    eventually(reaches(engine, ref, State.RUNNING))
    engine.cancel(ref)
    eventually(reaches(engine, ref, State.CANCELLED))
    engine.cancel(ref)
    assert engine.poll([ref])[ref].state is State.CANCELLED


def test_many_are_asked_for_at_once_and_strangers_left_out(engine: Engine) -> None:
    refs = [submitted(engine, "fine", f"k{n}") for n in range(3)]
    assert set(engine.poll([*refs, "4711"])) == set(refs)
    assert not engine.poll([])


def test_a_key_finds_its_job(engine: Engine) -> None:
    assert isinstance(engine, Finds)
    submitted(engine, "fine")
    answers = engine.find(["k", "other"], time.time() - 10)
    assert answers["other"] is None
    again = answers["k"] or submitted(engine, "fine")  # found, or safe to repeat
    assert list(engine.poll([again])) == [again]


def test_logs_are_read_from_where_one_is(engine: Engine) -> None:
    assert isinstance(engine, StreamsLogs)
    assert engine.read_log("k", 0) == b""
    ref = submitted(engine, "fine")
    eventually(reaches(engine, ref, State.COMPLETED))
    text = engine.read_log("k", 0)
    assert text.endswith(b"\n")
    assert engine.read_log("k", 2) == text[2:] and engine.read_log("k", len(text)) == b""
