"""Work that is shifted in time: what placement decides reaches the engine, counted from the present."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from jobs.test_objective import build_plan

from supercloud.jobs import api
from supercloud.jobs.placement.place import Placement, place, why_not
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.spec import JobSpec

Make = Callable[..., JobSpec]


def list_intensities(hour: int) -> tuple[float, ...]:
    """A day with one clean hour."""
    return tuple(10.0 if at == hour % 24 else 500.0 for at in range(24))


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [3, 7, 20])
def test_a_begin_time_is_relative_to_now(job: Make, ahead: int) -> None:
    """No time is specified: the answer is about now."""
    hour = int(time.time() // 3600)
    plan = build_plan("a", hours=list_intensities(hour + ahead))
    asked = job(accelerators={"count": 8}, time_limit="30 min", deadline="30 h", place={"minimize": "carbon"})
    at = place(asked, plan)
    assert isinstance(at, Placement)
    begins = (time.time() + at.begin) // 3600
    assert int(begins) % 24 == (hour + ahead) % 24, "within the clean hour"
    again = why_not(asked, plan)["train"]
    assert isinstance(again, Placement) and again.begin == pytest.approx(at.begin, abs=60)
    placed, submission = api.prepare(asked, plan, engine="slurm")
    assert f"--begin=now+{math.ceil(placed.begin)}seconds" in submission.argv
    placed, submission = api.prepare(asked, plan, engine="local")
    assert submission.settings["begin"] == placed.begin == pytest.approx(at.begin, abs=60)


@pytest.mark.slow
def test_the_local_engine_waits_for_the_begin_time(job: Make, store: Store) -> None:
    hour = int(time.time() // 3600)
    asked = job(accelerators={"count": 8}, time_limit="30 min", deadline="30 h", place={"minimize": "carbon"})
    later = api.submit(asked, build_plan("a", hours=list_intensities(hour + 5)), engine="local", store=store)
    now = api.submit(job(), build_plan("a"), engine="local", store=store)
    assert now.wait(20) is State.COMPLETED
    assert later.get_state() is State.QUEUED and later.record.reason == "its start time has not come"
    later.cancel()
    assert later.wait(20) is State.CANCELLED


def test_a_snapshot_counts_from_its_time(job: Make) -> None:
    from supercloud.jobs.fleet.state import Cluster, NodeState

    plan = build_plan("a", nodes=1)
    seen = Cluster.from_plan(plan).with_observations([NodeState("train-0001", "up", 8, 5_000.0)], 1_000.0)
    at = place(job(accelerators={"count": 8}), seen)
    assert isinstance(at, Placement) and at.wait == 4_000.0
    assert place(job(accelerators={"count": 8}), replace(seen, observed_at=2_000.0)).wait == 3_000.0  # type: ignore[union-attr]
