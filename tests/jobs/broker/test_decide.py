from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs.broker.fleets import build_fleet, build_job

from supercloud.jobs.broker.capacity import allocate, mark_pool_unavailable
from supercloud.jobs.broker.decide import RECENTLY_RECALLED, Hold, Start, decide, rebalance
from supercloud.jobs.broker.fair_share import compute_fair_share_order, compute_shares
from supercloud.jobs.placement.place import Placement, place
from supercloud.jobs.store.records import JobRecord
from supercloud.jobs.store.states import State

NOW = 1_000_000.0


def record(number: int, **fields: Any) -> JobRecord:
    return JobRecord(
        **{
            "id": number,
            "key": f"k{number}",
            "name": "job",
            "spec": "{}",
            "placement": "",
            "submission": "",
            "cluster": "",
            "connection": "",
            "engine": "",
            "ref": None,
            "state": State.HELD,
            "attempt": 1,
            "exit_code": None,
            "reason": "",
            "owner": "",
            "recorded": NOW,
            "submitted": None,
            "started": None,
            "ended": None,
        }
        | fields
    )


def list_clusters(actions: list[Start | Hold]) -> list[str]:
    return [action.placement.cluster if isinstance(action, Start) else "-" for action in actions]


@pytest.mark.slow
def test_a_job_takes_the_cheapest_free_placement() -> None:
    here = build_fleet({"cloud": 4, "own": 2}, {"cloud": 90.0, "own": 10.0})
    waiting = [record(number) for number in range(1, 5)]
    specs = {item.id: build_job(1) for item in waiting}
    assert list_clusters(decide(here, waiting, specs, NOW)) == ["own", "own", "cloud", "cloud"], (
        "what is full bursts at once"
    )


@pytest.mark.slow
def test_a_job_waits_for_the_cheapest_placement_up_to_max_wait() -> None:
    here = build_fleet({"cloud": 4, "own": 1}, {"cloud": 90.0, "own": 10.0}, policy={"max_wait": "10 min"})
    here = allocate(here, get_place(here, "own"))
    # the wait is unknown, so the policy uses the more expensive cluster; a known short wait does not
    specs = {1: build_job(1)}
    assert list_clusters(decide(here, [record(1, recorded=NOW - 700)], specs, NOW)) == ["cloud"]


def get_place(here: Any, name: str) -> Placement:
    one = next(cluster for cluster in here.clusters if cluster.plan.name == name)
    answer = place(build_job(1), one)
    assert isinstance(answer, Placement)
    return answer


@pytest.mark.slow
def test_a_budget_keeps_jobs_out_of_the_cloud() -> None:
    budgets = [{"tenant": "llm", "per": "month", "limit": "100 USD"}]
    here = build_fleet({"cloud": 4, "own": 1}, {"cloud": 90.0, "own": 10.0}, budgets=budgets)
    waiting = [record(1), record(2)]
    specs = {number: build_job(1, tenant="llm", time_limit="2 h") for number in (1, 2)}
    actions = decide(here, waiting, specs, NOW)
    assert list_clusters(actions) == ["own", "-"], "180 USD are not left"


@pytest.mark.slow
def test_nodes_that_a_large_job_waits_for_are_reserved() -> None:
    here = build_fleet({"own": 4})
    here = allocate(here, get_place(here, "own"))
    waiting = [record(1), record(2)]
    actions = decide(here, waiting, {1: build_job(4), 2: build_job(1)}, NOW)
    assert list_clusters(actions) == ["-", "-"]
    assert isinstance(actions[0], Hold) and "no free capacity" in actions[0].reason


@pytest.mark.slow
def test_a_cluster_that_refused_a_job_is_avoided() -> None:
    here = build_fleet({"a": 2, "b": 2})
    assert list_clusters(decide(here, [record(1)], {1: build_job(1)}, NOW, {1: {"a": RECENTLY_RECALLED}})) == ["b"]
    assert list_clusters(
        decide(here, [record(1)], {1: build_job(1)}, NOW, {1: {"a": RECENTLY_RECALLED, "b": RECENTLY_RECALLED}})
    ) == ["-"]


@pytest.mark.slow
def test_after_many_jobs_without_placement_the_others_wait_for_the_next_cycle() -> None:
    here = build_fleet({"own": 1})
    waiting = [record(number) for number in range(1, 500)]
    actions = decide(here, waiting, dict.fromkeys(range(1, 500), build_job(1)), NOW)
    assert list_clusters(actions).count("own") == 1 and len(actions) == 499


@pytest.mark.slow
def test_a_waiting_job_moves_to_the_nodes_that_become_free_first() -> None:
    here = build_fleet({"a": 1, "b": 1})
    there = get_place(here, "a")
    waiting = record(1, state=State.QUEUED, placement=there.to_json(), cluster="a", submitted=NOW - 100, ref="1")
    here = allocate(allocate(here, there), there)
    [move] = rebalance(here, [waiting], {1: build_job(1)}, NOW, 60)
    assert move.placement.cluster == "b"
    assert not rebalance(here, [waiting], {1: build_job(1)}, NOW, 200), "not yet"
    again = record(1, state=State.QUEUED, placement=there.to_json(), cluster="a", submitted=NOW - 100, launch=1)
    assert not rebalance(here, [again], {1: build_job(1)}, NOW, 60), "each move takes longer"
    assert not rebalance(mark_pool_unavailable(here, "b", "train"), [waiting], {1: build_job(1)}, NOW, 60)


def test_jobs_are_sorted_by_priority_then_share_then_age() -> None:
    waiting = [
        record(1, tenant="vision"),
        record(2, tenant="llm"),
        record(3, tenant="llm", priority="high"),
        record(4, tenant="llm"),
        record(5, tenant="vision"),
        record(6, tenant="vision", priority="low"),
    ]
    shares = compute_shares(build_fleet({"a": 1}))
    assert shares == {"llm": 0.75, "vision": 0.25}
    sizes = {item.id: 8 for item in waiting}
    assert [item.id for item in compute_fair_share_order(waiting, {}, shares, sizes)] == [3, 1, 2, 4, 5, 6]
    assert [item.id for item in compute_fair_share_order(waiting, {"vision": 8}, shares, sizes)] == [3, 2, 4, 1, 5, 6]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), st.integers(1, 6), min_size=1), st.lists(st.integers(1, 5), max_size=12))
def test_no_cluster_is_overallocated(sizes: dict[str, int], wishes: list[int]) -> None:
    here = build_fleet(sizes)
    waiting = [record(number) for number in range(len(wishes))]
    specs = {number: build_job(nodes) for number, nodes in enumerate(wishes)}
    given_: dict[str, int] = {}
    for action in decide(here, waiting, specs, NOW):
        if isinstance(action, Start):
            given_[action.placement.cluster] = given_.get(action.placement.cluster, 0) + action.placement.nodes
    assert all(count <= sizes[name] for name, count in given_.items())
    started = {action.record.id for action in decide(here, waiting, specs, NOW) if isinstance(action, Start)}
    assert decide(here, waiting, specs, NOW) == decide(here, waiting, specs, NOW)
    if wishes and wishes[0] <= max(sizes.values()):
        assert 0 in started, "the first in turn finds its place"


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1])
def test_without_jobs_there_are_no_actions(count: int) -> None:
    assert (
        decide(build_fleet({"a": 1}), [], {}, NOW) == [] and rebalance(build_fleet({"a": 1}), [], {}, NOW, count) == []
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "wants, expected, excluded",
    [
        (
            {"clusters": ["far"]},
            ["far/train: its scheduler does not respond", "wait, or omit place.clusters"],
            ["add near"],
        ),
        (
            {"clusters": ["far"], "nodes": ["train-0002"]},
            ["not respond", "omit place.clusters and place.nodes"],
            [],
        ),
        ({"clusters": ["near"]}, ["near/train", "the pool has 1"], ["does not respond", "add far"]),
        ({}, ["far/train: its scheduler does not respond"], ["place.", "near"]),
    ],
)
def test_a_job_that_fits_only_an_unresponsive_cluster_waits_for_it(
    wants: dict[str, Any], expected: list[str], excluded: list[str]
) -> None:
    whole = build_fleet({"near": 1, "far": 4})
    near, far = whole.clusters
    number = 1 if "nodes" in wants else 2
    [found] = decide(
        replace(whole, clusters=(near,)), [record(1)], {1: build_job(number, place=wants)}, NOW, unresponsive=[far]
    )
    assert isinstance(found, Hold)
    assert all(words in found.reason for words in expected) and not any(words in found.reason for words in excluded)


@pytest.mark.slow
def test_a_job_recalled_from_its_only_cluster_names_no_other() -> None:
    here = build_fleet({"near": 1, "far": 4})
    wanted = {1: build_job(2, place={"clusters": ["far"]})}
    [found] = decide(here, [record(1)], wanted, NOW, {1: {"far": RECENTLY_RECALLED}})
    assert isinstance(found, Hold)
    assert found.reason.startswith("far/train: the job was recalled from it recently") and "near" not in found.reason
