"""Limits and budgets of tenants over several clusters, and what a job that begins later does to others."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from jobs.broker.fleets import build_fleet, build_job
from jobs.broker.test_decide import NOW, get_place, list_clusters, record

from supercloud.errors import InputError, SpecError
from supercloud.jobs import api
from supercloud.jobs.broker.capacity import allocate
from supercloud.jobs.broker.decide import Hold, Start, decide, rebalance
from supercloud.jobs.broker.limits import TenantAllocation, add_allocation, compute_allocations, find_exceeded_limit
from supercloud.jobs.broker.serve import Broker
from supercloud.jobs.fleet.state import Fleet
from supercloud.jobs.placement.place import place
from supercloud.jobs.store.spending import compute_spending
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store
from supercloud.primitives.quantity import Duration
from supercloud.spec import JobSpec

LLM = {"name": "llm"}


def build_limited_fleet(own: dict[str, int] | None = None, **limits: Any) -> Fleet:
    """Two clusters of four nodes; ``own`` are the limits of the cheaper one, ``limits`` those over both."""
    here = build_fleet({"a": 4, "b": 4}, {"a": 10.0, "b": 90.0}, tenants=[LLM | {"limits": limits}])
    if own is None:
        return here
    first = here.clusters[0]
    tenants = tuple(
        item.model_copy(update={"limits": item.limits.model_copy(update=own)}) for item in first.plan.spec.tenants
    )
    plan = replace(
        first.plan,
        tenants=tuple(
            replace(item, limits=tenants[0].limits) if item.name == "llm" else item for item in first.plan.tenants
        ),
    )
    return replace(here, clusters=(replace(first, plan=plan), here.clusters[1]))


@pytest.mark.parametrize(
    "limits, nodes, begun",
    [
        ({"accelerators": 24}, [1, 1, 1, 1], 3),
        ({"nodes": 5}, [2, 2, 1, 1], 3),
        ({"jobs": 2}, [1, 1, 1], 2),
        ({}, [1, 1, 1, 1], 4),
        ({"accelerators": 24}, [2, 2, 1], 2),
    ],
)
def test_a_limit_counts_all_clusters(limits: dict[str, int], nodes: list[int], begun: int) -> None:
    here = build_limited_fleet(**limits)
    waiting = [record(number, tenant="llm") for number in range(len(nodes))]
    actions = decide(here, waiting, {n: build_job(size, tenant="llm") for n, size in enumerate(nodes)}, NOW)
    assert sum(isinstance(action, Start) for action in actions) == begun
    for action in actions:
        assert isinstance(action, Start) or "in all clusters of fleet" in action.reason


def test_a_job_beyond_the_limit_on_one_cluster_runs_on_another() -> None:
    here = build_limited_fleet(own={"nodes": 1})
    waiting = [record(number, tenant="llm") for number in range(3)]
    specs = {number: build_job(1, tenant="llm") for number in range(3)}
    assert list_clusters(decide(here, waiting, specs, NOW)) == ["a", "b", "b"]
    held = add_allocation({}, "llm", get_place(here, "a"), "a")
    assert list_clusters(decide(here, waiting, specs, NOW, allocations=held)) == ["b", "b", "b"]
    assert "1 of its limit of 1 nodes in a" in find_exceeded_limit(here, held, "llm", get_place(here, "a"))


def test_a_tenant_at_its_limit_reserves_no_nodes() -> None:
    here = build_limited_fleet(accelerators=8)
    waiting = [record(0, tenant="llm"), record(1, tenant="llm"), record(2, tenant="vision")]
    specs = {0: build_job(1, tenant="llm"), 1: build_job(1, tenant="llm"), 2: build_job(4, tenant="vision")}
    assert list_clusters(decide(here, waiting, specs, NOW)) == ["a", "-", "b"]


def test_allocations_are_those_of_submitted_jobs() -> None:
    here = build_limited_fleet()
    at = get_place(here, "a")
    records = [
        record(1, tenant="llm", placement=at.to_json(), cluster="a", state=State.RUNNING),
        record(2, tenant="llm", placement=at.to_json(), cluster="b", state=State.QUEUED),
        record(3),
    ]
    assert compute_allocations(records) == {
        ("llm", "a"): TenantAllocation(8, 1, 1),
        ("llm", "b"): TenantAllocation(8, 1, 1),
        ("llm", ""): TenantAllocation(16, 2, 2),
    }


def test_a_move_stays_within_the_limits() -> None:
    here = build_limited_fleet(accelerators=8)
    there = get_place(here, "a")
    waits = record(1, state=State.QUEUED, placement=there.to_json(), cluster="a", submitted=NOW - 100, tenant="llm")
    held = compute_allocations([waits])
    busy = here
    for _ in range(4):
        busy = allocate(busy, there)
    [move] = rebalance(busy, [waits], {1: build_job(1, tenant="llm")}, NOW, 60, held)
    assert move.placement.cluster == "b", "what it has where it waits it gives back"
    held = add_allocation(held, "llm", get_place(here, "b"), "b")
    assert not rebalance(busy, [waits], {1: build_job(1, tenant="llm")}, NOW, 60, held)


@pytest.mark.slow
def test_more_than_the_limit_is_refused_at_once(store: Store) -> None:
    here = build_limited_fleet(accelerators=8, max_time=Duration("1 h"), submitted=1)
    with pytest.raises(SpecError, match="tenant llm is limited to 8 at one time in fleet"):
        api.submit(build_job(2, tenant="llm"), here, store=store)
    with pytest.raises(SpecError, match="2 h exceeds the maximum of tenant llm, 1 h"):
        api.submit(build_job(1, tenant="llm", time_limit="2 h"), here, store=store)
    api.submit(build_job(1, tenant="llm"), here, store=store)
    with pytest.raises(InputError, match="has 1 running or waiting jobs in fleet, its limit is 1"):
        api.submit(build_job(1, tenant="llm"), here, store=store)
    assert api.submit(build_job(1, tenant="vision"), here, store=store)


BUDGETS = [{"tenant": "llm", "per": "day", "limit": "30 USD"}, {"tenant": "llm", "per": "month", "limit": "100 USD"}]


def test_two_budgets_of_one_tenant_both_apply(store: Store) -> None:
    here = build_fleet({"a": 4}, {"a": 10.0}, budgets=BUDGETS)
    now = 1_700_000_000.0  # in the middle of a month
    old = api.submit(build_job(1, tenant="llm", time_limit="1 h"), here, store=store)
    with store.transaction() as database:
        database.execute(
            "UPDATE jobs SET state = 'COMPLETED', ended = ?, dollars = 95 WHERE id = ?", (now - 5 * 86_400, old.id)
        )
    assert compute_spending(store, here.spec.budgets, now) == {("llm", "day"): 0.0, ("llm", "month"): 95.0}
    asked = build_job(1, tenant="llm", time_limit="1 h")
    for kept, reason in ((95.0, "has 5.00 USD of its 100 USD left this month"), (85.0, "")):
        answer = place(asked, Fleet(here.spec, here.clusters, {("llm", "month"): kept}), now=now)
        assert bool(reason) is isinstance(answer, tuple) and reason in str(answer)


def test_reserved_cost_is_counted_once(store: Store) -> None:
    here = build_fleet({"a": 4}, {"a": 10.0}, budgets=BUDGETS)
    waiting = [record(number, tenant="llm") for number in range(4)]
    specs = {number: build_job(1, tenant="llm", time_limit="1 h") for number in range(4)}
    actions = decide(here, waiting, specs, NOW)
    assert list_clusters(actions) == ["a", "a", "a", "-"], "three cost the 30 USD of the day"
    assert isinstance(actions[3], Hold) and "0.00 USD of its 30 USD left this day" in actions[3].reason
    held = [api.submit(specs[0], here, store=store) for _ in range(3)]
    broker = Broker(store, here)
    assert broker.step() == 3 and broker.step() == 0
    with pytest.raises(SpecError, match="left this day"):
        api.submit(specs[0], here, store=store)
    held[0].cancel()
    assert api.submit(specs[0], here, store=store), "what was promised to it is free again"


def test_a_job_with_a_later_start_leaves_its_nodes_free_until_then() -> None:
    here = build_fleet({"a": 1, "b": 1})
    later = replace(get_place(here, "a"), begin=3600.0)
    assert allocate(here, later) is here
    waits = record(1, state=State.QUEUED, placement=later.to_json(), cluster="a", submitted=NOW - 100)
    assert not rebalance(here, [waits], {1: build_job(1)}, NOW, 60), "it does not wait in vain"
    assert rebalance(allocate(here, get_place(here, "a")), [waits], {1: build_job(1)}, NOW + 3700, 60)


def test_a_deadline_counts_from_the_submission(store: Store) -> None:
    here = build_fleet({"a": 1})
    asked: JobSpec = build_job(1, deadline="10 min", time_limit="5 min")
    held = api.submit(asked, here, store=store)
    now = [time.time() + 240]
    broker = Broker(store, here, clock=lambda: now[0])
    broker.context.fleet = allocate(here, get_place(here, "a"))
    broker.step()
    assert broker.specs[held.id].deadline is not None and 355 < broker.specs[held.id].deadline.to("s") <= 361
    now[0] += 361
    broker.step()
    assert held.reload().state is State.FAILED and held.record.reason == "its deadline passed before it started"


def test_a_job_that_its_engine_forgot_counts_until_then_only(store: Store) -> None:
    here = build_fleet({"a": 4}, {"a": 10.0}, budgets=BUDGETS)
    job_id = api.submit(build_job(1, ["RUNNING"], tenant="llm", time_limit="1 h"), here, store=store).id
    Broker(store, here).step()
    Broker(store, here).step()
    now = time.time()
    with store.transaction() as database:
        database.execute("UPDATE jobs SET started = ?, promised = 500 WHERE id = ?", (now - 7200, job_id))
    assert store.compute_tenant_cost("llm", now - 86400, now) == pytest.approx(500)
    store.record_statuses({job_id: Status(State.UNKNOWN, reason="job not found")})
    with store.transaction() as database:
        database.execute(
            "INSERT INTO events (job, at, state, attempt, note) VALUES (?, ?, 'UNKNOWN', 1, 'requested to cancel')",
            (job_id, now + 20 * 3600),
        )
    for later in (now, now + 30 * 3600):
        assert store.compute_tenant_cost("llm", now - 86400, later) == pytest.approx(20, abs=0.1)
    assert store.compute_tenant_cost("llm", now + 3600, now + 30 * 3600) == 0
