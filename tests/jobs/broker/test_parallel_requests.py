"""A cluster that hangs delays no job on the others, and is reported as an outage while it lasts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jobs.broker.fleets import build_cluster, build_fleet, build_job
from jobs.test_bounded import run_service

from supercloud.errors import EngineError
from supercloud.jobs import api
from supercloud.jobs.broker import ledger
from supercloud.jobs.broker.context import BrokerSettings
from supercloud.jobs.broker.loop import PlainReporter, Reporter
from supercloud.jobs.broker.parallel_requests import ParallelRequests
from supercloud.jobs.broker.serve import Broker
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.engines.submission import Submission
from supercloud.jobs.fleet.state import Fleet
from supercloud.jobs.placement.answer import Placement
from supercloud.jobs.store.records import Assignment
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection, FleetSpec

PATIENCE = 0.3


def wait_until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A slurmrestd that sends blanks until it is released; and what was asked of it."""
    released = threading.Event()

    def drip(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not released.wait(0.01):
            handler.wfile.write(b" ")

    monkeypatch.setenv("SLURM_JWT", "a.b.c")
    with run_service(drip) as service:
        monkeypatch.setenv("SUPERCLOUD_SLURM_ADDRESS", service.address)
        yield service, released
        released.set()


@pytest.mark.slow
def test_a_cluster_that_answers_too_slowly_delays_no_other_and_is_lost_after_the_limit(
    store: Store, hanging: Any
) -> None:
    service, released = hanging
    slow, quick = build_cluster("slow", 4), build_cluster("quick", 4)
    member = slow.member.model_copy(update={"connect": Connection(engine="slurm", via=service.address)})
    slow = type(slow).from_plan(slow.plan, member)
    here = Fleet(FleetSpec(name="fleet", clusters=(member, quick.member)), (slow, quick))
    there = api.submit(build_job(1, retries=1), here, store=store)
    at = Placement.from_json(_format_placement(store, here))
    text = member.connect.model_dump_json(exclude_defaults=True)
    submission = Submission(there.key, ("true",), "", {}, {})
    assignment = Assignment("slow", text, "slurm", at.to_json(), submission.to_json())
    assert ledger.assign(store, there.record, assignment, "assigned")
    store.record_submitted(there.id, "7")
    now, messages = [time.time()], list[str]()
    broker = Broker(
        store,
        here,
        BrokerSettings(lost_after=600, timeout=PATIENCE),
        clock=lambda: now[0],
        reporter=PlainReporter(messages.append),
    )
    other = api.submit(build_job(1), here, store=store)
    assert broker.step() == 1 and other.reload().cluster == "quick" and other.reload().ref
    outage = [line for line in messages if line.startswith("warning: slow: no answer within 0.3 s")]
    assert len(outage) == 1
    asked = len(service.seen)
    now[0] += 601
    began = time.monotonic()
    broker.step()
    assert len(service.seen) == asked == 1, "what has not answered is not asked again"
    assert time.monotonic() - began < 30, "nor waited for again"
    assert there.reload().cluster == "quick" and there.reload().launch == 1, "its silence is judged while it lasts"
    assert [line for line in messages if line.startswith("warning: slow")] == outage * 2, "word for word: said once"
    released.set()
    wait_until(lambda: broker.step() >= 0 and len(service.seen) > 1)


def _format_placement(store: Store, here: Fleet) -> str:
    from supercloud.jobs.placement.place import place

    found = place(build_job(1), Fleet(here.spec, here.clusters[:1]))
    assert isinstance(found, Placement)
    return found.to_json()


@pytest.mark.slow
def test_a_cluster_that_hangs_during_a_submission_gets_the_job_once(store: Store) -> None:
    here = build_fleet({"a": 1, "b": 3})
    engine = api.open_engine(_connect(here, "a"), store.folder)
    assert isinstance(engine, FakeEngine)
    released = threading.Event()
    engine.crash_hook = lambda point: None if released.wait(60) else None
    messages: list[str] = []
    broker = Broker(store, here, BrokerSettings(timeout=PATIENCE), reporter=PlainReporter(messages.append))
    large = api.submit(build_job(3), here, store=store)
    small = api.submit(build_job(1), here, store=store)
    assert broker.step() == 1 and large.reload().ref and small.reload().state is State.SUBMITTING
    assert [line for line in messages if "a: no answer to a submission within 0.3 s; other clusters continue" in line]
    assert (
        broker.step() == 0 and small.reload().state is State.SUBMITTING and "a" not in broker.poller.unresponsive_since
    )
    released.set()
    wait_until(lambda: small.reload().ref is not None)
    broker.step()
    assert engine.count_submissions(small.key) == 1 and small.reload().state is State.RUNNING


def _connect(here: Fleet, name: str) -> Connection:
    connection = next(one.member.connect for one in here.clusters if one.plan.name == name)
    assert connection is not None
    return connection


def test_a_late_answer_is_used() -> None:
    sides, released = ParallelRequests(0.05), threading.Event()
    done, late = sides.run("poll", {"a": lambda: released.wait(60) and "a's", "b": lambda: "b's"})
    assert [answer.result() for answer in done.values()] == ["b's"] and late == {"a": "poll"}
    assert sides.run("submit", {"a": lambda: "never asked"}) == ({}, {"a": "poll"})
    released.set()
    wait_until(lambda: bool(sides.run("poll", {"a": lambda: "asked anew"})[0]))


@pytest.mark.slow
def test_a_defect_of_one_engine_does_not_affect_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    here = build_fleet({"a": 1, "b": 1})
    first, second = (api.submit(build_job(1, ["RUNNING"]), here, store=store) for _ in range(2))
    messages: list[str] = []
    broker = Broker(store, here, reporter=PlainReporter(messages.append))
    assert broker.step() == 2
    engine = api.open_engine(_connect(here, first.reload().cluster), store.folder)

    def raise_defect(refs: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(engine, "poll", raise_defect)
    broker.step()
    assert any("failed with ZeroDivisionError: a defect" in line for line in messages)
    assert second.reload().state is State.RUNNING and first.reload().state is State.QUEUED


def test_an_error_is_raised_where_its_answer_is_read() -> None:
    def raise_error() -> None:
        raise EngineError("no")

    done, _ = ParallelRequests().run("poll", {"a": raise_error})
    with pytest.raises(EngineError, match="no"):
        done["a"].result()


@pytest.mark.slow
def test_a_job_that_cannot_be_prepared_delays_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = build_fleet({"a": 2})
    with Store(tmp_path) as store:
        odd, fine = (api.submit(build_job(1, name=name), here, store=store) for name in ("odd", "fine"))
        prepare = FakeEngine.prepare

        def raise_error(self: FakeEngine, job: JobSpec, placement: Placement, key: str) -> Submission:
            if job.name == "odd":
                raise TypeError("a defect")
            return prepare(self, job, placement, key)

        monkeypatch.setattr(FakeEngine, "prepare", raise_error)
        lines: list[str] = []
        broker = Broker(store, here, reporter=(reporter := Reporter(lines.append)))
        for _ in range(3):
            broker.step()
            reporter.end_step()
        assert fine.reload().ref and odd.reload().state is State.HELD and "TypeError: a defect" in odd.record.reason
        assert sum("cannot be submitted" in line for line in lines) == 1, lines


@pytest.mark.slow
def test_jobs_of_a_cluster_with_slow_accounting_are_not_restarted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A poll hangs in the look-up of an ended job, while the controller answers."""
    here = build_fleet({"a": 1, "b": 1})
    kept = api.submit(build_job(1, ["RUNNING"], retries=1), here, store=store)
    now, messages, released = [time.time()], list[str](), threading.Event()
    settings = BrokerSettings(lost_after=600, timeout=PATIENCE)
    broker = Broker(store, here, settings, clock=lambda: now[0], reporter=PlainReporter(messages.append))
    broker.step(), broker.step()
    assert kept.reload().state is State.RUNNING
    name = kept.record.cluster
    engine = api.open_engine(_connect(here, name), store.folder)
    monkeypatch.setattr(engine, "poll", lambda refs: released.wait(60) and {})
    monkeypatch.setattr(type(engine), "list_nodes", lambda self: (), raising=False)
    broker.step()
    assert name in broker.poller.unresponsive_since
    now[0] += 601
    broker.step()
    assert kept.reload().cluster == name and kept.reload().launch == 0 and kept.reload().state is State.RUNNING
    assert any("its jobs continue there; check the database of its accounts" in line for line in messages)
    released.set()


def test_a_list_of_nodes_that_cannot_be_read_is_not_silence(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The polls of the jobs are answered: they run, and are not given up."""
    here = build_fleet({"a": 1, "b": 1})
    kept = api.submit(build_job(1, ["RUNNING"], retries=1), here, store=store)
    now, messages = [time.time()], list[str]()
    settings = BrokerSettings(lost_after=600, timeout=PATIENCE)
    broker = Broker(store, here, settings, clock=lambda: now[0], reporter=PlainReporter(messages.append))
    broker.step(), broker.step()
    name = kept.reload().cluster
    engine = api.open_engine(_connect(here, name), store.folder)

    def list_nodes(self: object) -> tuple[()]:
        if self is engine:
            raise EngineError("invalid response")
        return ()

    monkeypatch.setattr(type(engine), "list_nodes", list_nodes, raising=False)
    broker.step()
    assert name not in broker.poller.unresponsive_since
    now[0] += 601
    broker.step()
    assert kept.reload().cluster == name and kept.reload().launch == 0 and kept.reload().state is State.RUNNING
