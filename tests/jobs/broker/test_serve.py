from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jobs.broker.fleets import build_fleet, build_job

from supercloud.errors import EngineError, InputError, OperationError, SpecError
from supercloud.jobs import api
from supercloud.jobs.broker import ledger
from supercloud.jobs.broker.context import BrokerSettings
from supercloud.jobs.broker.lock import acquire_broker_lock
from supercloud.jobs.broker.loop import Reporter
from supercloud.jobs.broker.serve import Broker
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.fleet.state import Fleet
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.spec.fleet import Connection


class Clock:
    def __init__(self) -> None:
        import time

        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def open_fake_engine(here: Fleet, name: str, store: Store) -> FakeEngine:
    connection = next(one.member.connect for one in here.clusters if one.plan.name == name)
    assert connection is not None
    engine = api.open_engine(connection, store.folder)
    assert isinstance(engine, FakeEngine)
    return engine


def list_places(store: Store) -> dict[int, tuple[str, str, int]]:
    return {record.id: (record.cluster, str(record.state), record.launch) for record in store.select()}


def test_a_job_is_held_until_nodes_are_free(store: Store) -> None:
    here = build_fleet({"own": 1})
    first = api.submit(build_job(1, ["RUNNING", "RUNNING", "RUNNING", "COMPLETED"]), here, store=store)
    second = api.submit(build_job(1, ["RUNNING", "COMPLETED"]), here, store=store)
    assert (first.record.state, second.record.state) == (State.HELD, State.HELD)
    assert not second.done() and second.record.state is State.HELD
    broker = Broker(store, here)
    assert broker.step() == 1
    assert second.reload().reason.startswith("no free capacity: it waits for 1 node of pool train")
    for _ in range(4):
        broker.step()
    assert first.reload().state is State.COMPLETED and second.reload().state is not State.HELD
    assert second.wait(5) is State.COMPLETED
    notes = [event.note for event in second.list_events()]
    assert notes[0] == "recorded" and notes[1].startswith("own: 1 node")


def test_a_job_that_fits_no_cluster_is_refused_at_once(store: Store) -> None:
    with pytest.raises(SpecError, match="can ever run") as caught:
        api.submit(build_job(9), build_fleet({"own": 1}), store=store)
    assert caught.value.findings[0].path == "pool own/train"
    assert not api.list_jobs(store)


def test_an_engine_for_a_fleet_is_refused_as_its_broker_would_not_use_it(store: Store) -> None:
    with pytest.raises(InputError, match="engine='local' is for the plan of a cluster; .* set connect: in the fleet"):
        api.submit(build_job(1), build_fleet({"own": 1}), engine="local", store=store)
    assert not api.list_jobs(store)


@pytest.mark.slow
def test_a_job_does_not_wait_for_a_misconfigured_cluster(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No token goes over plain http, however long the job waits."""
    monkeypatch.setenv("SUPERCLOUD_SECRETS", str(tmp_path))
    whole = build_fleet({"own": 1, "far": 4})
    own, far = whole.clusters
    plain = far.member.model_copy(update={"connect": Connection(engine="slurm", via="http://192.0.2.1:6820")})
    here = replace(whole, clusters=(own, replace(far, member=plain)))
    large = api.submit(build_job(4), here, store=store)
    Broker(store, here).step()
    reason = large.reload().reason
    assert reason.startswith("far/train: it cannot be queried now: http://192.0.2.1:6820 is plain http")
    assert reason.endswith("would fit there then: correct this, waiting does not help")


def test_a_job_for_an_unreachable_cluster_has_the_reason(store: Store) -> None:
    whole = build_fleet({"own": 1, "plan-only": 4})
    own, other = whole.clusters
    here = replace(whole, clusters=(own, replace(other, member=other.member.model_copy(update={"connect": None}))))
    for name, message in (("plan-only", "set connect: for it"), ("onw", "did you mean own")):
        with pytest.raises(SpecError, match=f"{name}(.|\n)*{message}"):
            api.submit(build_job(2, place={"clusters": [name]}), here, store=store)


def test_a_tenant_over_budget_is_refused_at_submission(store: Store) -> None:
    budgets = [{"tenant": "llm", "per": "day", "limit": "50 USD"}]
    here = build_fleet({"own": 2}, {"own": 100.0}, budgets=budgets)
    with pytest.raises(SpecError, match="50.00 USD of its 50 USD left.*would cost 100.00 USD"):
        api.submit(build_job(1, tenant="llm", time_limit="1 h"), here, store=store)
    fine = api.submit(build_job(1, tenant="llm", time_limit="20 min"), here, store=store)
    Broker(store, here).step()
    with store.transaction() as database:  # it has run for an hour
        database.execute("UPDATE jobs SET started = started - 3600 WHERE id = ?", (fine.id,))
        database.execute("UPDATE jobs SET started = recorded - 3600 WHERE started IS NULL")
    assert store.compute_tenant_cost("llm", 0.0, fine.record.recorded) == pytest.approx(100.0, abs=1)
    with pytest.raises(SpecError, match="has 0.00 USD of its 50 USD left this day"):
        api.submit(build_job(1, tenant="llm", time_limit="1 min"), here, store=store)
    assert api.submit(build_job(1, tenant="vision", time_limit="1 min"), here, store=store).id, "others continue"


def test_a_lost_job_is_restarted_elsewhere_with_a_later_epoch(store: Store) -> None:
    here = build_fleet({"a": 1, "b": 1})
    held = api.submit(build_job(1, ["RUNNING", "NODE_FAIL", "|", "COMPLETED"], retries=1), here, store=store)
    broker = Broker(store, here)
    broker.step()
    assert held.get_state() is State.RUNNING
    assert held.get_state() is State.HELD, "its engine says NODE_FAIL"
    assert held.record.reason == "; it is restarted" or held.record.reason.endswith("it is restarting")
    broker.step()
    assert held.wait(5) is State.COMPLETED
    assert (held.record.launch, held.record.total_attempts, held.record.engine_key) == (1, 2, f"{held.key}.e1")
    from supercloud.jobs.engines.submission import Submission

    assert Submission.from_json(held.record.submission).settings["epoch"] == 10_001


def test_a_lost_job_without_retries_fails(store: Store) -> None:
    here = build_fleet({"a": 1})
    held = api.submit(build_job(1, ["RUNNING", "NODE_FAIL"]), here, store=store)
    broker = Broker(store, here)
    for _ in range(3):
        broker.step()
    assert held.reload().state is State.NODE_FAIL


@pytest.mark.slow
def test_a_waiting_job_moves_to_a_cluster_with_free_nodes(store: Store, clock: Clock) -> None:
    here = build_fleet({"a": 1, "b": 1})
    api.submit(build_job(1, ["RUNNING", "COMPLETED", "COMPLETED"]), here, store=store)
    blocker = api.submit(build_job(1, ["RUNNING"] * 30), here, store=store)
    broker = Broker(store, here, BrokerSettings(move_after=60), clock=clock)
    broker.step()
    assert {row[0] for row in list_places(store).values()} == {"a", "b"}
    # others use the nodes: a job that is QUEUED at an engine waits there
    stuck = api.submit(build_job(1, ["QUEUED"] * 50), here, store=store)
    broker.step(), broker.step()
    at = stuck.reload()
    assert at.state is State.QUEUED and at.cluster
    clock.now += 100
    if at.cluster == blocker.reload().cluster:
        pytest.fail("it was given a full cluster")
    open_fake_engine(here, at.cluster, store)
    broker.step()
    assert stuck.reload().launch == 0, "nowhere else is room"
    store.disable_requeue(blocker.id, "x")
    open_fake_engine(here, blocker.reload().cluster, store).cancel(blocker.reload().ref or "")
    broker.step()
    broker.step()
    assert stuck.reload().recalled or stuck.reload().launch == 1
    broker.step()
    moved = stuck.reload()
    assert (moved.launch, moved.total_attempts) == (1, 1) and moved.cluster == blocker.reload().cluster
    assert open_fake_engine(here, moved.cluster, store).count_submissions(moved.key) == 1, (
        "the first engine took it once"
    )


@pytest.mark.slow
def test_a_job_that_has_started_is_not_recalled(store: Store) -> None:
    here = build_fleet({"a": 1})
    held = api.submit(build_job(1, ["QUEUED", "RUNNING", "COMPLETED"]), here, store=store)
    broker = Broker(store, here)
    broker.step(), broker.step()
    assert held.reload().state is State.QUEUED
    assert ledger.request_recall(store, held.reload(), "x")
    assert not ledger.request_recall(store, held.reload(), "x"), "once"
    engine = open_fake_engine(here, "a", store)
    assert held.get_state() is State.RUNNING and not held.record.recalled
    engine.recall(held.record.ref or "")
    assert held.wait(5) is State.COMPLETED


@pytest.mark.slow
def test_a_cancelled_job_stays_cancelled(store: Store) -> None:
    here = build_fleet({"a": 1})
    first = api.submit(build_job(1, ["QUEUED"], retries=3), here, store=store)
    second = api.submit(build_job(1), here, store=store)
    assert second.cancel() is State.CANCELLED and second.cancel() is State.CANCELLED
    broker = Broker(store, here)
    broker.step()
    ledger.request_recall(store, first.reload(), "x")
    assert first.cancel() is State.CANCELLED, "what the user says counts, not what the broker asked before"
    broker.step()
    assert first.reload().state is State.CANCELLED


@pytest.mark.slow
def test_jobs_of_an_unresponsive_cluster_are_abandoned_and_their_copies_cancelled(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = build_fleet({"a": 1, "b": 1})
    held = api.submit(build_job(1, ["RUNNING"], retries=1), here, store=store)
    broker = Broker(store, here, BrokerSettings(lost_after=600), clock=clock)
    broker.step(), broker.step()
    assert held.reload().state is State.RUNNING
    lost = open_fake_engine(here, held.reload().cluster, store)
    old, ref = held.reload().cluster, held.reload().ref

    def raise_no_answer(*_: Any) -> Any:
        raise EngineError("no answer")

    def nodes() -> Any:
        raise_no_answer()

    monkeypatch.setattr(lost, "poll", raise_no_answer)
    monkeypatch.setattr(lost, "cancel", raise_no_answer)
    monkeypatch.setattr(lost, "list_nodes", nodes, raising=False)
    broker.step()
    clock.now += 601
    broker.step()
    broker.step()
    moved = held.reload()
    assert (
        moved.launch == 1
        and moved.cluster != old
        and "has not responded for 600 s" in str([event.note for event in held.list_events()])
    )
    assert [item.ref for item in ledger.list_abandoned(store)] == [ref]
    monkeypatch.undo()
    broker.step()
    assert not ledger.list_abandoned(store) and lost.poll([ref or ""])[ref or ""].state is State.CANCELLED


@pytest.mark.parametrize(
    "sizes, retries, why",
    [({"a": 1, "b": 1}, 0, "it has no retries left"), ({"a": 1}, 1, "no other cluster fits it now")],
)
def test_a_job_that_cannot_be_restarted_elsewhere_is_not_given_up(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int], retries: int, why: str
) -> None:
    here = build_fleet(sizes)
    held = api.submit(build_job(1, ["RUNNING"], retries=retries), here, store=store)
    lines: list[str] = []
    reporter = Reporter(lines.append)
    broker = Broker(store, here, BrokerSettings(lost_after=600), clock=clock, reporter=reporter)
    broker.step(), broker.step()
    lost = open_fake_engine(here, held.reload().cluster, store)

    def raise_no_answer(*_: Any) -> Any:
        raise EngineError("no answer")

    for name in ("poll", "cancel", "list_nodes"):
        monkeypatch.setattr(lost, name, raise_no_answer, raising=False)
    for _ in range(4):
        broker.step()
        reporter.end_step()
        clock.now += 601
    assert held.reload().state is State.RUNNING and not ledger.list_abandoned(store)
    [message] = [line for line in lines if f"job {held.id} (job) stays on" in line]
    assert message.endswith(f"has not responded for 600 s: {why}")


@pytest.mark.slow
def test_a_job_starts_after_its_dependency(store: Store) -> None:
    here = build_fleet({"a": 4})
    first = api.submit(build_job(1, ["RUNNING", "COMPLETED"], name="first"), here, store=store)
    second = api.submit(build_job(1, ["COMPLETED"], after=["first"]), here, store=store)
    broker = Broker(store, here)
    broker.step()
    assert second.reload().reason == "it waits for job 1 (first)"
    first.wait(5)
    broker.step()
    assert second.wait(5) is State.COMPLETED
    bad = api.submit(build_job(1, ["FAILED:3"], name="bad"), here, store=store)
    after = api.submit(build_job(1, after=["bad"]), here, store=store)
    broker.step(), broker.step()
    assert bad.reload().state is State.FAILED
    broker.step()
    assert after.reload().state is State.FAILED and "can never start" in after.reload().reason
    with pytest.raises(InputError, match="ID, key or name 'nobody'"):
        api.submit(build_job(1, after=["nobody"]), here, store=store)


@pytest.mark.slow
def test_a_dependency_is_the_job_with_that_name_at_submission(store: Store) -> None:
    here = build_fleet({"a": 8})
    prep = api.submit(build_job(1, ["RUNNING", "RUNNING", "COMPLETED"], name="prep"), here, store=store)
    train = api.submit(build_job(1, ["COMPLETED"], name="train", after=["prep"]), here, store=store, key="t")
    later = api.submit(build_job(1, ["FAILED:3"], name="prep"), here, store=store)
    again = api.submit(build_job(1, ["COMPLETED"], name="train", after=["train"]), here, store=store)
    broker = Broker(store, here)
    for _ in range(8):
        broker.step()
    states = [str(one.reload().state) for one in (prep, train, later, again)]
    assert states == ["COMPLETED", "COMPLETED", "FAILED", "COMPLETED"]
    same = build_job(1, ["COMPLETED"], name="train", after=["prep"])
    assert api.submit(same, here, store=store, key="t").id == train.id, "the same key is still the same job"


def test_a_job_that_depends_on_itself_is_refused(store: Store) -> None:
    here = build_fleet({"a": 1})
    with pytest.raises(InputError, match="ID, key or name 'train'"):
        api.submit(build_job(1, name="train", after=["train"]), here, store=store)
    alone = api.submit(build_job(1, name="train"), here, store=store)
    with store.transaction() as database:  # as a version left it that resolved names at every step
        database.execute("UPDATE jobs SET spec = json_insert(spec, '$.after', json('[\"train\"]'))")
    Broker(store, here).step()
    assert alone.reload().state is State.FAILED and "unknown earlier job 'train'" in alone.reload().reason


@pytest.mark.slow
def test_a_dependency_by_id_is_never_a_job_with_that_key(store: Store) -> None:
    here = build_fleet({"a": 8})
    first = api.submit(build_job(1, ["COMPLETED"]), here, store=store)
    waits = api.submit(build_job(1, ["COMPLETED"], after=[str(first.id)]), here, store=store)
    with store.transaction() as database:
        database.execute("DELETE FROM jobs WHERE id = ?", (first.id,))
    api.submit(build_job(1, ["COMPLETED"]), here, store=store, key=str(first.id))
    Broker(store, here).step()
    assert waits.reload().state is State.FAILED and f"unknown job '{first.id}'" in waits.reload().reason


def test_a_job_that_one_cluster_refuses_runs_on_another(store: Store, clock: Clock) -> None:
    here = build_fleet({"a": 1, "b": 1})
    open_fake_engine(here, "a", store).refusal = "Invalid qos"
    held = api.submit(build_job(1, ["COMPLETED"]), here, store=store)
    broker = Broker(store, here, clock=clock)
    broker.step()
    assert held.reload().state is State.HELD and "a: Invalid qos" in held.reload().reason
    broker.step()
    assert held.wait(5) is State.COMPLETED and held.record.cluster == "b"


def test_a_store_has_one_broker(tmp_path: Path) -> None:
    with (
        acquire_broker_lock(tmp_path),
        pytest.raises(OperationError, match="already serves"),
        acquire_broker_lock(tmp_path),
    ):
        pass
    with acquire_broker_lock(tmp_path):
        pass


def test_jobs_of_other_fleets_are_not_changed(store: Store) -> None:
    held = api.submit(build_job(1), build_fleet({"a": 1}), store=store)
    other = build_fleet({"b": 1}, name="other")
    assert Broker(store, other).step() == 0 and held.reload().state is State.HELD


@pytest.mark.slow
def test_a_fleet_without_reachable_clusters_is_reported(store: Store) -> None:
    here = build_fleet({"a": 1})
    alone = Fleet(
        here.spec,
        tuple(
            type(one)(one.plan, one.pools, None, one.member.model_copy(update={"connect": None}))
            for one in here.clusters
        ),
    )
    with pytest.raises(InputError, match="no cluster of fleet has a connection") as caught:
        api.submit(build_job(1), alone, store=store)
    assert [item.check for item in caught.value.findings] == ["fleet-connect"]
    assert Connection(engine="fake") != Connection(engine="fake", context="a")
