"""A job that is in the queue of this machine is looked up, and never recorded as refused."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jobs.engines.scheduler_stand_in import SLURM_AT, build_job

from supercloud.errors import StoreError
from supercloud.jobs import api
from supercloud.jobs import maintenance as upkeep
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.local import engine as local
from supercloud.jobs.engines.local.queue import Queue
from supercloud.jobs.engines.submission import Submission
from supercloud.jobs.integrity import check_integrity
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec.fleet import Connection


def test_a_queued_job_is_not_refused_if_no_agent_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = local.LocalEngine(Connection(engine="local"), tmp_path)

    def refuse_process(*_: Any) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(local, "ensure_agent", refuse_process)
    with pytest.raises(SubmissionUnknownError, match="temporarily unavailable"):
        engine.submit(engine.prepare(build_job(image=None), SLURM_AT, "k"))
    assert engine.find(["k"], 0.0) == {"k": "1"}


@pytest.mark.parametrize("array", [None, 3])
def test_a_restored_store_neither_shows_nor_cancels_jobs_of_another_queue(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch, array: int | None
) -> None:
    """The queue of its new folder has given the number to another job."""
    monkeypatch.setattr(local, "ensure_agent", lambda *_: None)
    job = build_job(image=None, array=array)
    with Store(tmp_path / "one") as first:
        api.submit(job, plan, engine="local", key="ours", store=first)
        upkeep.back_up(first, tmp_path / "backup")
    upkeep.restore(tmp_path / "two", tmp_path / "backup")
    with Store(tmp_path / "two") as second:
        ours = api.get(1, second)
        assert ours.get_state() is State.UNKNOWN and ours.record.reason == "job not found by local"
        other = api.submit(job, plan, engine="local", key="other", store=second)
        assert other.record.ref == ours.record.ref
        assert ours.get_state() is State.UNKNOWN and "uses number 1" in ours.record.reason
        assert ours.cancel() is State.UNKNOWN
        assert not Queue(tmp_path / "two/local").list_cancelled_waiting()
        other.cancel()
        assert Queue(tmp_path / "two/local").list_cancelled_waiting()


def test_an_array_whose_first_number_is_free_is_not_another_job(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ref 1/3 of another queue overlaps job 2 of this one."""
    monkeypatch.setattr(local, "ensure_agent", lambda *_: None)
    engine = local.LocalEngine(Connection(engine="local"), tmp_path)
    prepared = engine.prepare(build_job(image=None), SLURM_AT, "a")
    assert engine.submit(prepared) == "1" and engine.submit(replace(prepared, key="b")) == "2"
    assert engine.poll_jobs([("2/3", prepared.identity)])["2/3", prepared.identity].state is State.UNKNOWN
    engine.cancel_job("0/3", prepared.identity)
    assert not Queue(tmp_path / "local").list_cancelled_waiting()


@pytest.mark.parametrize("column, value", [("started", 1e13), ("started", "soon"), ("attempt", -1e30), ("state", "x")])
def test_an_impossible_value_makes_only_its_job_unknown(tmp_path: Path, column: str, value: object) -> None:
    queue = Queue(tmp_path)
    refs = [queue.add(Submission(key, ("true",))) for key in ("a", "b")]
    with queue.transaction() as connection:
        connection.execute(f"UPDATE tasks SET {column} = ? WHERE key = 'a'", (value,))
    found = queue.read_statuses(refs)
    assert found["1"].state is State.UNKNOWN and "cannot be read" in found["1"].reason
    assert found["2"].state is State.QUEUED
    queue.close()


def test_damage_of_the_queue_is_found_and_described(tmp_path: Path) -> None:
    """Neither a restore of the store nor its engine has the jobs of this file."""
    with Store(tmp_path) as store:
        assert [path.name for path in check_integrity(store)] == ["jobs.db"]
        Queue(tmp_path / "local").close()
        assert [path.name for path in check_integrity(store)] == ["jobs.db", "queue.db"]
        (tmp_path / "local/queue.db").write_bytes(bytes(range(256)) * 64)
        with pytest.raises(StoreError) as found:
            check_integrity(store)
    assert "queue.db is not the queue of the local engine: damaged" in str(found.value)
    assert "store restore" not in str(found.value) and "move the file away" in str(found.value)
