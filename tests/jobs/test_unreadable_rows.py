"""An unreadable row is reported by its number with a next step; all other jobs continue."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from jobs.broker.fleets import build_fleet, build_job

from supercloud.errors import StoreError
from supercloud.jobs import api
from supercloud.jobs.broker.loop import PlainReporter, Reporter
from supercloud.jobs.broker.serve import Broker
from supercloud.jobs.engines.local.queue import Queue
from supercloud.jobs.engines.submission import Submission
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store

NEWER = {
    "spec": '{"name": "j", "command": ["fake"], "quantum": {"qubits": 5}}',
    "placement": '{"cluster": "a", "near": {"orbit": 1}}',
}
DAMAGED = {"no checksum": "name = 'x'", "no text": "spec = CAST(x'7bff7d' AS TEXT)", "no state": "state = state || '!'"}


def rewrite(store: Store, number: int, column: str, value: str) -> None:
    """As a newer version would have written it."""
    with store.transaction() as database:
        database.execute(f"UPDATE jobs SET {column} = ? WHERE id = ?", (value, number))


def damage(store: Store, number: int, what: str) -> None:
    """Behind the back of the triggers that keep checksums."""
    with contextlib.closing(sqlite3.connect(store.folder / "jobs.db")) as other:
        ((trigger,),) = other.execute("SELECT sql FROM sqlite_master WHERE name = 'jobs_changed'")
        other.execute("DROP TRIGGER jobs_changed")
        other.execute(f"UPDATE jobs SET {what} WHERE id = {number}")
        other.execute(trigger)
        other.commit()


@pytest.mark.slow
@pytest.mark.parametrize("what", [*NEWER, "no checksum", "no text"])
def test_an_unreadable_held_job_does_not_stop_others(store: Store, what: str) -> None:
    here = build_fleet({"a": 3})
    first, odd, last = (api.submit(build_job(1), here, store=store) for _ in range(3))
    if what in NEWER:
        rewrite(store, odd.id, what, NEWER[what])
    else:
        damage(store, odd.id, DAMAGED[what])
    lines: list[str] = []
    reporter = Reporter(lines.append)
    broker = Broker(store, here, reporter=PlainReporter(reporter.report))
    for _ in range(3):
        broker.step()
        reporter.end_step()
    assert first.reload().state is last.reload().state is State.RUNNING
    (line,) = (line for line in lines if "warning" in line)
    assert re.search(
        rf"warning: job {odd.id} .*(update this one, or cancel the job: supercloud cancel {odd.id}|store restore)", line
    )
    if what in NEWER:
        assert odd.cancel() is State.CANCELLED


def test_a_submitted_job_that_is_unreadable_is_still_polled(store: Store) -> None:
    here = build_fleet({"a": 2})
    odd = api.submit(build_job(1, ["RUNNING", "COMPLETED"]), here, store=store)
    broker = Broker(store, here)
    broker.step()
    rewrite(store, odd.id, "placement", NEWER["placement"])
    later = api.submit(build_job(1), here, store=store)
    for _ in range(2):
        broker.step()
    assert odd.reload().state is State.COMPLETED and later.reload().state is State.RUNNING
    assert odd.record.location == "a: its placement cannot be read"


@pytest.mark.slow
@pytest.mark.parametrize("what", DAMAGED)
def test_lists_and_waits_skip_a_damaged_row(store: Store, what: str) -> None:
    here = build_fleet({"a": 3}, tenants=[{"name": "llm", "limits": {"submitted": 9}}])
    fine, odd = (api.submit(build_job(1, ["COMPLETED"], tenant="llm"), here, store=store) for _ in range(2))
    damage(store, odd.id, DAMAGED[what])
    shown = subprocess.run(
        [sys.executable, "-m", "supercloud", "jobs", "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "SUPERCLOUD_STATE": str(store.folder)},
    )
    assert shown.returncode == 0 and [one["id"] for one in json.loads(shown.stdout)] == [fine.id], shown.stderr
    if what != "no state":  # it then is in no list
        assert shown.stderr.count(f"warning: job {odd.id} of the store is damaged") == 1
    assert api.submit(build_job(1, tenant="llm"), here, store=store).id
    for _ in range(3):
        Broker(store, here).step()
    assert fine.wait(60) is State.COMPLETED
    with pytest.raises(StoreError, match=f"job {odd.id} of the store is damaged"):
        api.get(odd.id, store)


def test_the_local_queue_skips_a_damaged_entry(tmp_path: Path) -> None:
    queue = Queue(tmp_path)
    first, odd, last = (queue.add(Submission(key, ("true",))) for key in "abc")
    with queue.transaction() as database:
        database.execute("UPDATE tasks SET submission = 'nonsense' WHERE ref = ?", (odd,))
    assert [task.key for task in queue.list_waiting(9)] == ["a", "c"]
    status = queue.read_statuses([odd])[odd]
    assert status.state is State.FAILED and "submit it again" in status.reason
    queue.close()
