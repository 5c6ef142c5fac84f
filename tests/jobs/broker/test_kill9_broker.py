"""The broker and the submitter are killed at random points, and two brokers run at the same time: nothing is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs.broker.fleets import build_fleet, build_job
from jobs.waiting import wait_for

from supercloud.jobs import api
from supercloud.jobs.broker.context import BrokerSettings
from supercloud.jobs.broker.serve import Broker
from supercloud.jobs.fleet.state import Fleet
from supercloud.jobs.placement.place import place
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

TRIALS = 200
STORIES = (
    ["QUEUED", "RUNNING", "COMPLETED"],
    ["RUNNING", "NODE_FAIL", "|", "RUNNING", "COMPLETED"],
    ["QUEUED", "QUEUED", "QUEUED", "RUNNING", "REQUEUE", "RUNNING", "NODE_FAIL", "|", "COMPLETED"],
)


def start_child(work: Callable[[Store], None], folder: Path) -> int:
    """A separate process; the parent has no open connection."""
    pid = os.fork()
    if pid == 0:
        try:
            with Store(folder) as store:
                work(store)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)
    return pid


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL, "it had not failed by itself"


def build_broker(here: Fleet) -> Callable[[Store], None]:
    def work(store: Store) -> None:
        broker = Broker(store, here, BrokerSettings(move_after=0.01))
        while True:
            broker.step()

    return work


def build_submitter(here: Fleet, trial: int, returned: Path) -> Callable[[Store], None]:
    def work(store: Store) -> None:
        log = os.open(returned, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        for number in range(3):
            key = f"t{trial}-{number}"
            api.submit(build_job(1 + number, STORIES[number], retries=9), here, store=store, key=key)
            os.write(log, f"{key}\n".encode())
        while True:
            time.sleep(1)

    return work


def count_submissions(folder: Path) -> dict[str, int]:
    """How often each key was given to an engine."""
    return {path.stem: json.loads(path.read_text())["taken"] for path in (folder / "fake").glob("*.json")}


def finish(store: Store, here: Fleet) -> None:
    broker = Broker(store, here)

    def is_done() -> bool:
        broker.step()
        return not store.list_live()

    wait_for(is_done, 60)


def test_killed_brokers_and_submitters_lose_and_repeat_no_job(tmp_path: Path) -> None:
    folder, returned = tmp_path / "jobs", tmp_path / "returned"
    here = build_fleet({"a": 40, "b": 10})
    place(build_job(1), here)  # what a process learns once is learnt before the children are born
    chance = random.Random(20261121)
    submitter = None
    for trial in range(TRIALS):
        if submitter is None:
            submitter = start_child(build_submitter(here, trial, returned), folder)
        broker = start_child(build_broker(here), folder)
        time.sleep(chance.uniform(0, 0.03))
        kill(broker)
        if chance.random() < 0.4:
            kill(submitter)
            submitter = None
    if submitter is not None:
        kill(submitter)
    with Store(folder) as store:
        finish(store, here)
        records = {record.key: record for record in store.select()}
        assert set(returned.read_text().split()) <= set(records)
        assert len(records) > 50, "the test has tested something"
        assert {record.state for record in records.values()} == {State.COMPLETED}
        launched = {
            record.engine_key if n == record.launch else f"{record.key}.e{n}" if n else record.key
            for record in records.values()
            for n in range(record.launch + 1)
        }
        times = count_submissions(folder)
        assert set(times.values()) == {1}, "no start was made twice"
        assert set(times) <= launched and {record.engine_key for record in records.values()} <= set(times)
        assert any(record.launch for record in records.values())


def test_two_brokers_start_a_job_once(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    here = build_fleet({"a": 30, "b": 30})
    with Store(folder) as store:
        for number in range(40):
            api.submit(build_job(1, STORIES[number % 3], retries=9), here, store=store, key=f"k{number}")
    brokers = [start_child(build_broker(here), folder) for _ in range(2)]
    time.sleep(1.5)
    for broker in brokers:
        kill(broker)
    with Store(folder) as store:
        finish(store, here)
        assert {record.state for record in store.select()} == {State.COMPLETED}
        assert set(count_submissions(folder).values()) == {1}
