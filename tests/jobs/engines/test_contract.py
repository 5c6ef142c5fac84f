"""The contract of engines: the same tests for each.

``SUPERCLOUD_TEST_ENGINES`` names others than the fake, the local and a stand-in for Slurm, each as ``ENGINE`` or
``ENGINE=VIA``, with spaces between them: ``slurm=ssh:login``. The tests against real parts run this file so.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
from jobs.waiting import end_everything, wait_for

from supercloud.jobs.engines.base import (
    CarriesDigests,
    DistinguishesJobs,
    EndsStarts,
    Engine,
    FindsByKey,
    FindsSubmitted,
    RecallsJobs,
    StreamsLogs,
    SubmittedJob,
    open_engine,
)
from supercloud.jobs.engines.batch.runner import CommandResult
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.engines.submission import compute_spec_digest
from supercloud.jobs.placement.place import Placement
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

AT = Placement("pod", "train", 1, 2, 8, "h100-sxm", "CUDA_VISIBLE_DEVICES", request=SlurmRequest("h100"))
LATER = replace(AT, begin=3600.0)
PATIENCE = 60.0


class SlurmStandIn:
    """Answers in the form of the recordings; a job moves on each time the queue is listed."""

    def __init__(self) -> None:
        self.jobs: dict[str, list[str]] = {}
        self.comments: dict[str, str] = {}
        self.begins: dict[str, float] = {}

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        verb = next(word for word in argv if word in ("sbatch", "squeue", "sacct", "scancel", "scontrol"))
        return getattr(self, verb)(list(argv), stdin)  # type: ignore[no-any-return]

    def sbatch(self, argv: list[str], stdin: IO[bytes] | None) -> CommandResult:
        assert stdin is not None
        text = stdin.read().decode()
        ref = str(len(self.jobs) + 1)
        self.comments[ref] = next(item.removeprefix("--comment=") for item in argv if item.startswith("--comment="))
        log = Path(next(item.removeprefix("--output=") for item in argv if item.startswith("--output=")))
        end = "FAILED|768" if "exit 3" in text else "COMPLETED|0"
        self.jobs[ref] = ["PENDING|0", "RUNNING|0"] + (["RUNNING|0"] * 500 if "sleep" in text else []) + [end]
        later = next((item for item in argv if item.startswith("--begin=now+")), "--begin=now+0seconds")
        self.begins[ref] = time.time() + float(later.removeprefix("--begin=now+").removesuffix("seconds"))
        log.write_text("hello\n" if "echo hello" in text else "")
        return CommandResult(0, f"{ref}\n")

    def squeue(self, argv: list[str], stdin: object) -> CommandResult:
        lines = []
        for ref, states in self.jobs.items():
            state, code = states[0].split("|")
            later = state == "PENDING" and self.begins[ref] > time.time()
            reason, start = "BeginTime" if later else "None", max(1795213461, self.begins[ref])
            end = 1795213461 if state == "CANCELLED" else start + 1
            lines.append(
                f"{ref:24}|{state:24}|{reason:64}|{0:12}|{code:16}|{start:.0f}|{end:.0f}|{self.comments[ref]:128}|\n"
            )
            if len(states) > 1 and not later:
                states.pop(0)
        return CommandResult(0, "".join(lines))

    def sacct(self, argv: list[str], stdin: object) -> CommandResult:
        return CommandResult(1, "", "Slurm accounting storage is disabled\n")

    def scontrol(self, argv: list[str], stdin: object) -> CommandResult:
        return CommandResult(0, "MinJobAge               = 300 sec\n")

    def scancel(self, argv: list[str], stdin: object) -> CommandResult:
        states = self.jobs.get(argv[-1], [])
        if len(states) > 1 and ("--state=PENDING" not in argv or states[0] == "PENDING|0"):
            self.jobs[argv[-1]] = ["CANCELLED|15"]
        return CommandResult(0, "")


@pytest.fixture(params=os.environ.get("SUPERCLOUD_TEST_ENGINES", "fake local stand-in").split())
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    name, _, via = request.param.partition("=")
    if name == "stand-in":
        stand_in = SlurmEngine(Connection(engine="slurm"), tmp_path, SlurmStandIn())
        stand_in.poll_interval = 0.1
        yield stand_in
        return
    yield open_engine(Connection(engine=name, via=via or None), tmp_path)
    end_everything(tmp_path)


@pytest.fixture
def key() -> str:
    """Of this test alone: a real cluster remembers the jobs of the one before."""
    return f"k{secrets.token_hex(6)}"


def build_job(engine: Engine, what: str) -> JobSpec:
    """The same job, in the form that each engine supports."""
    words = {"fine": ["sh", "-c", "echo hello"], "bad": ["sh", "-c", "exit 3"], "long": ["sleep", "60"]}[what]
    if isinstance(engine, FakeEngine):
        ends = {"fine": "COMPLETED:0", "bad": "FAILED:3"}
        words = ["fake", "QUEUED", *(["RUNNING", ends[what]] if what in ends else ["RUNNING"])]
    return JobSpec.model_validate({"name": "job", "command": words, "accelerators": {"count": 2}})


def submit(engine: Engine, what: str, key: str, at: Placement = AT) -> str:
    return engine.submit(engine.prepare(build_job(engine, what), at, key))


def build_poll(engine: Engine, ref: str, *states: State) -> Callable[[], Status | None]:
    def look() -> Status | None:
        status = engine.poll([ref]).get(ref)
        return status if status and status.state in states else None

    return look


def test_prepare_is_pure_and_readable(engine: Engine, tmp_path: Path, key: str) -> None:
    one, other = (engine.prepare(build_job(engine, "fine"), AT, key) for _ in range(2))
    assert one == other and str(one) == str(other)
    assert type(one).from_json(one.to_json()) == one
    assert build_job(engine, "fine").command[-1].split()[0] in str(one)  # type: ignore[index]
    assert not [path for path in tmp_path.iterdir() if path.name != "state"]


def test_a_job_completes(engine: Engine, key: str) -> None:
    ref = submit(engine, "fine", key)
    status = wait_for(build_poll(engine, ref, State.COMPLETED), PATIENCE)
    assert status.exit_code == 0 and status.attempt <= 1


def test_a_job_fails_with_its_code(engine: Engine, key: str) -> None:
    ref = submit(engine, "bad", key)
    assert wait_for(build_poll(engine, ref, State.FAILED), PATIENCE).exit_code == 3


@pytest.mark.slow
def test_a_job_is_cancelled(engine: Engine, key: str) -> None:
    ref = submit(engine, "long", key)
    wait_for(build_poll(engine, ref, State.RUNNING), PATIENCE)
    engine.cancel(ref)
    wait_for(build_poll(engine, ref, State.CANCELLED), PATIENCE)
    engine.cancel(ref)
    assert engine.poll([ref])[ref].state is State.CANCELLED


def test_a_job_that_has_not_started_is_recalled(engine: Engine, key: str) -> None:
    assert isinstance(engine, RecallsJobs)
    runs, waits = submit(engine, "long", f"{key}a"), submit(engine, "fine", f"{key}b", LATER)
    wait_for(build_poll(engine, runs, State.RUNNING), PATIENCE)
    for ref in (runs, waits):
        engine.recall(ref)
    ended = wait_for(build_poll(engine, waits, State.CANCELLED), PATIENCE)
    assert ended.started is None or ended.started >= ended.ended
    assert engine.poll([runs])[runs].state is State.RUNNING
    engine.cancel(runs)


@pytest.mark.slow
def test_a_job_starts_at_its_begin_time(engine: Engine, key: str) -> None:
    """Where the time has come it begins no later than whatever comes next."""
    at, delay = time.time(), max(1.0, engine.poll_interval)
    ref = submit(engine, "fine", f"{key}a", replace(AT, begin=delay))
    assert engine.poll([ref])[ref].reason == "its start time has not come"
    wait_for(lambda: time.time() > at + delay)
    submit(engine, "fine", f"{key}b")
    status = wait_for(build_poll(engine, ref, State.COMPLETED), PATIENCE)
    assert status.started is None or status.started >= at + delay - 1  # Slurm counts whole seconds


def test_many_jobs_are_polled_together_without_unknown_references(engine: Engine, key: str) -> None:
    refs = [submit(engine, "fine", f"{key}{n}") for n in range(3)]
    assert set(engine.poll([*refs, "4711"])) == set(refs)
    assert not engine.poll([])


def test_a_key_finds_its_job(engine: Engine, key: str) -> None:
    assert isinstance(engine, FindsByKey)
    submit(engine, "fine", key)
    answers = engine.find([key, "other"], time.time() - 10)
    assert answers["other"] is None
    again = answers[key] or submit(engine, "fine", key)  # found, or safe to repeat
    assert list(engine.poll([again])) == [again]


def test_a_job_carries_the_digest_of_its_spec(engine: Engine, key: str) -> None:
    assert isinstance(engine, FindsByKey) and isinstance(engine, CarriesDigests)
    digest, since = compute_spec_digest("{}"), time.time() - 10
    with_digest = replace(engine.prepare(build_job(engine, "fine"), AT, key), spec=digest)
    without_digest = replace(engine.prepare(build_job(engine, "fine"), AT, f"{key}b"), spec="")
    refs = [engine.submit(with_digest), engine.submit(without_digest)]
    assert list(engine.find([key, f"{key}b"], since).values()) == refs
    assert engine.find_digests(refs, since) == {refs[0]: digest}


def test_a_job_is_found_and_ended_only_for_its_record(engine: Engine, key: str) -> None:
    """Another record has the same key and spec in another store, or in this one after it has forgotten a job."""
    assert isinstance(engine, FindsSubmitted) and isinstance(engine, EndsStarts)
    since, earlier = time.time() - 10, f"{key}b"
    mine = replace(
        engine.prepare(build_job(engine, "long"), AT, key), recorded=since + 1, spec=compute_spec_digest("{}")
    )
    other = replace(mine, recorded=since + 2)
    assert engine.find_submitted([mine.identity], since) == {key: SubmittedJob(None)}
    ref = engine.submit(mine)
    assert engine.find_submitted([mine.identity], since) == {key: SubmittedJob(ref)}
    found = engine.find_submitted([other.identity], since)[key]
    assert found.ref is None and len(found.others) == 1
    # an earlier version wrote no digest of the record
    engine.submit(replace(engine.prepare(build_job(engine, "fine"), AT, earlier), spec=mine.spec))
    found = engine.find_submitted([mine.identity._replace(key=earlier)], since)[earlier]
    assert found.ref is None and len(found.others) == 1
    for gone, identity in ((ref, other.identity), (ref, mine.identity._replace(key=earlier)), ("4711", other.identity)):
        engine.end_start(gone, identity)
    wait_for(build_poll(engine, ref, State.RUNNING), PATIENCE)
    engine.end_start(ref, mine.identity)
    wait_for(build_poll(engine, ref, State.CANCELLED), PATIENCE)


def test_a_reference_reused_by_another_job_is_unknown(engine: Engine, key: str) -> None:
    """The scheduler has counted from the beginning again, or another store has an object of the same name."""
    if not isinstance(engine, DistinguishesJobs):
        pytest.skip("its references belong to one job for ever")
    there = replace(
        engine.prepare(build_job(engine, "long"), AT, key), recorded=time.time(), spec=compute_spec_digest("{}")
    )
    ours = replace(there, recorded=there.recorded - 3600)
    ref = engine.submit(there)
    wait_for(build_poll(engine, ref, State.RUNNING), PATIENCE)
    status = engine.poll_jobs([(ref, ours.identity)])[ref, ours.identity]
    assert status.state is State.UNKNOWN and "for another job" in status.reason
    engine.cancel_job(ref, ours.identity)
    assert engine.poll_jobs([(ref, there.identity)])[ref, there.identity].state is State.RUNNING
    engine.cancel_job(ref, there.identity)
    wait_for(build_poll(engine, ref, State.CANCELLED), PATIENCE)


@pytest.mark.slow
def test_logs_are_read_from_an_offset(engine: Engine, key: str) -> None:
    assert isinstance(engine, StreamsLogs)
    assert engine.read_log(key, 0) == b""
    ref = submit(engine, "fine", key)
    wait_for(build_poll(engine, ref, State.COMPLETED), PATIENCE)
    text = wait_for(lambda: engine.read_log(key, 0))
    assert text.endswith(b"\n")
    assert engine.read_log(key, 2) == text[2:] and engine.read_log(key, len(text)) == b""
