"""Fair shares with a memory: what was used counts half after a half-life."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs.broker.fleets import build_fleet, build_job
from jobs.broker.test_decide import record

from supercloud.errors import SpecError
from supercloud.jobs import api
from supercloud.jobs.broker.fair_share import compute_fair_share_order, compute_shares
from supercloud.jobs.broker.serve import Broker
from supercloud.jobs.broker.usage import Usage
from supercloud.jobs.store.records import Assignment, NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.spec.fleet import FleetSpec
from supercloud.spec.loader import load_fleet

DAY = 86_400.0
WEEK = 7 * DAY


def record_ended_job(store: Store, tenant: str, units: float, started: float, end: float, key: str = "") -> None:
    """A job that has ended, as the store writes it."""
    row, _ = store.record(
        NewJob(
            key=key or f"{tenant}{started}{end}{units}",
            name="j",
            spec="{}",
            tenant=tenant,
            assignment=Assignment(units=units),
        )
    )
    with store.transaction() as database:
        database.execute(
            "UPDATE jobs SET state = 'COMPLETED', started = ?, ended = ? WHERE id = ?", (started, end, row.id)
        )
        store.add_note(row.id, "ended")


def test_usage_decays_with_the_half_life(store: Store) -> None:
    """Slurm's rule: after one half-life a use counts half. 8 for one half-life, until now: 8 · (1 - 1/2)."""
    now = 100 * WEEK
    record_ended_job(store, "llm", 8, now - WEEK, now)
    assert Usage(store, WEEK).compute_usage([], now) == {"llm": pytest.approx(4.0)}
    assert Usage(store, WEEK).compute_usage([], now + WEEK) == {"llm": pytest.approx(2.0)}
    assert Usage(store, WEEK).compute_usage([], now + 3 * WEEK) == {"llm": pytest.approx(0.5)}
    runs = record(1, tenant="vision", units=16.0, started=now - 2 * WEEK)
    assert Usage(store, WEEK).compute_usage([runs], now)["vision"] == pytest.approx(12.0), "16 · (1 - 1/4)"
    forever = record(1, tenant="vision", units=16.0, started=now - 90 * WEEK)
    assert Usage(store, WEEK).compute_usage([forever], now)["vision"] == pytest.approx(16.0)


Life = st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 64), st.floats(0, 30), st.floats(0.01, 20))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(Life, max_size=3), min_size=1, max_size=5))
def test_usage_does_not_depend_on_the_number_of_updates(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[tuple[str, int, float, float]]]
) -> None:
    """Each job that has ended is read once, however late it is heard of."""
    now = 200 * DAY
    with Store(tmp_path_factory.mktemp("usage")) as store:
        often = Usage(store, WEEK)
        for number, batch in enumerate(batches):
            for place, (tenant, units, ago, lasted) in enumerate(batch):
                record_ended_job(
                    store, tenant, units, now - (ago + lasted) * DAY, now - ago * DAY, f"k{number}-{place}"
                )
            now += 0.5 * DAY
            assert often.compute_usage([], now) == pytest.approx(Usage(store, WEEK).compute_usage([], now))


def test_the_tenant_with_less_usage_comes_first(store: Store) -> None:
    """Nothing runs; llm has used the machines all day, vision has not. Without memory the older job came first."""
    here = build_fleet({"a": 1})
    now = time.time()
    record_ended_job(store, "llm", 8, now - DAY, now)
    first, second = (api.submit(build_job(1, tenant=tenant), here, store=store) for tenant in ("llm", "vision"))
    broker = Broker(store, here)
    assert broker.step() == 1
    assert (first.reload().state, second.reload().state) == (State.HELD, State.QUEUED)


@pytest.mark.slow
def test_restarts_elsewhere_are_counted(store: Store) -> None:
    here = build_fleet({"a": 1, "b": 1})
    held = api.submit(
        build_job(1, ["RUNNING", "NODE_FAIL", "|", "RUNNING"], tenant="llm", retries=1), here, store=store
    )
    broker = Broker(store, here)
    broker.step()
    held.get_state()
    with store.transaction() as database:
        database.execute("UPDATE jobs SET started = ? WHERE id = ?", (time.time() - 1000, held.id))
    assert held.get_state() is State.HELD
    assert held.record.units is None and held.record.unit_seconds == pytest.approx(8000, abs=200)


def test_shares_of_the_fleet_take_precedence() -> None:
    here = build_fleet({"a": 4})
    assert compute_shares(here) == {"llm": 0.75, "vision": 0.25}
    fleet = build_fleet({"a": 4}, tenants=[{"name": "llm", "share": 1}, {"name": "vision", "share": 3}])
    assert compute_shares(fleet) == {"llm": 0.25, "vision": 0.75}
    waiting = [record(1, tenant="llm"), record(2, tenant="vision"), record(3, tenant="vision")]
    order = compute_fair_share_order(
        waiting, {"llm": 2.0, "vision": 2.0}, compute_shares(fleet), dict.fromkeys(range(4), 8)
    )
    assert [item.id for item in order] == [2, 1, 3]


@pytest.mark.parametrize(
    "text, message",
    [
        ("policy: {half_life: 0 d}", "half_life"),
        ("tenants: [{name: a}, {name: a}]", "duplicate name 'a'"),
        ("tenants: [{name: a, limits: {gpus: 3}}]", "gpus"),
    ],
)
def test_an_invalid_half_life_is_reported(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(f"name: f\nclusters: [{{spec: a.yaml}}]\n{text}\n")
    with pytest.raises(SpecError) as caught:
        load_fleet(path)
    assert message in str(caught.value.findings)


def test_the_default_half_life_is_that_of_slurm() -> None:
    """PriorityDecayHalfLife is 7-0 where slurm.conf does not say otherwise."""
    assert FleetSpec.model_validate({"name": "f", "clusters": [{"spec": "a"}]}).policy.half_life.to("d") == 7
