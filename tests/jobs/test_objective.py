from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from supercloud.catalog import Catalog
from supercloud.jobs.fleet.state import Cluster, Fleet, NodeState
from supercloud.jobs.placement.objective import ObjectiveTerms, build_weights, compute_carbon, compute_scores
from supercloud.jobs.placement.place import Placement, Refusal, place, why_not
from supercloud.plan.model.hall import EnergyPlan
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.quantity import CarbonIntensity
from supercloud.spec import FleetSpec, JobSpec
from supercloud.spec.fleet import FleetPolicy
from supercloud.spec.loader import loads
from supercloud.spec.pool import Pool

CATALOG = Catalog.load_default()
Make = Callable[..., JobSpec]
SPEC = """
name: {name}
site: {{kind: onprem, location: {place}}}
scheduler: {{kind: slurm, version: "25.11"}}
pools: [{{name: train, machine: dgx-h100, nodes: {nodes}}}]
storage: [{{name: scratch, kind: nfs, capacity: 100 TiB, throughput: {{write: 10 GB/s}}, mount: /scratch}}]
tenants: [{{name: llm, share: 70}}]
facility: {{energy: {{price: 0.1 USD/kWh}}, pue: 1.2}}
"""
NIGHT = tuple([100.0] * 6 + [500.0] * 12 + [300.0] * 6)
"""Cleanest from midnight to six."""


def build_plan(name: str, place_: str = "stockholm", nodes: int = 8, hours: tuple[float, ...] = ()) -> Plan:
    plan = resolve(loads(SPEC.format(name=name, place=place_, nodes=nodes)))
    facility = plan.facility
    assert facility and facility.energy_plan and not plan.errors
    return replace(plan, facility=replace(facility, energy_plan=replace(facility.energy_plan, carbon_by_hour=hours)))


def build_fleet(
    *plans: Plan, members: dict[str, Any] | None = None, spent: dict[tuple[str, str], float] | None = None, **more: Any
) -> Fleet:
    members_of_fleet = [{"spec": f"{plan.name}.yaml"} | (members or {}).get(plan.name, {}) for plan in plans]
    spec = FleetSpec.model_validate({"name": "f", "clusters": members_of_fleet} | more)
    return Fleet(spec, tuple(Cluster.from_plan(*both) for both in zip(plans, spec.clusters, strict=True)), spent or {})


def place_best(job: JobSpec, where: Plan | Cluster | Fleet, now: float = 0.0) -> Placement:
    answer = place(job, where, CATALOG, now)
    assert isinstance(answer, Placement), answer
    return answer


def place_refused_job(job: JobSpec, where: Fleet, pool: str) -> Refusal:
    answer = why_not(job, where, CATALOG, 0.0)[pool]
    assert isinstance(answer, Refusal), answer
    return answer


A, B = build_plan("a"), build_plan("b", "warsaw")
PRICED = {"a": {"prices": {"train": "50 USD/h"}}, "b": {"prices": {"train": "40 USD/h"}}}


def test_weights_of_the_user_choose_between_cost_and_carbon(job: Make) -> None:
    both = build_fleet(A, B, members=PRICED)
    asked: dict[str, Any] = {"accelerators": {"count": 16}, "time_limit": "10 h"}
    cheap = place_best(job(**asked), both)
    assert (cheap.cluster, cheap.price) == ("b", 80.0)
    clean = place_best(job(**asked, place={"minimize": "carbon"}), both)
    assert clean.cluster == "a" and clean.carbon == pytest.approx(2 * 10.2 * 1.2 * 10 * 2.73)
    assert place_best(job(**asked, place={"carbon": "prefer-low"}), both).cluster == "a"
    assert place_best(job(**asked, weights={"carbon": 0.1}), both).cluster == "b"
    assert place_best(job(**asked), build_fleet(A, B, members=PRICED, policy={"minimize": "carbon"})).cluster == "a"
    mine = job(**asked, place={"minimize": "cost"})
    assert place_best(mine, build_fleet(A, B, members=PRICED, policy={"minimize": "carbon"})).cluster == "b"


def test_the_default_price_is_that_of_energy(job: Make) -> None:
    at = place_best(job(accelerators={"count": 8}), build_fleet(A))
    assert at.price == pytest.approx(10.2 * 1.2 * 0.1)


def test_an_unknown_cost_counts_as_the_highest() -> None:
    known, unknown = ObjectiveTerms(10.0, 5.0, 0.0, 3600, 0, 0), ObjectiveTerms(None, None, None, 3600, 0, 0)
    weights = {"cost": 1.0, "carbon": 1.0, "wait": 1.0, "topology": 0.0, "fragmentation": 0.0}
    assert compute_scores([known, unknown], weights) == [2.0, 3.0]
    assert compute_scores([unknown], weights) == [1.0]


def test_data_transfers_have_a_cost_and_a_duration(job: Make) -> None:
    data = [{"name": "corpus", "size": "300 TB", "at": ["a/scratch"]}]
    members = {"a": PRICED["a"] | {"egress": "90 USD", "uplink": "100 Gb/s"}, "b": PRICED["b"]}
    both = build_fleet(A, B, members=members, data=data)
    short = job(accelerators={"count": 8}, time_limit="10 h", place={"data": ["corpus"]})
    assert place_best(short, both).cluster == "a"
    there = why_not(short, both, CATALOG, 0.0)["b/train"]
    assert isinstance(there, Placement)
    assert (there.egress, there.moved, there.wait) == (27_000.0, ("corpus",), 24_000.0)
    far = build_fleet(A, B, members=members | {"b": {"prices": {"train": "1 USD/h"}}}, data=data)
    long = job(accelerators={"count": 64}, time_limit="160 h", place={"data": ["corpus"]})
    assert place_best(long, far).cluster == "b"
    stays = build_fleet(A, B, members=members, data=[data[0] | {"stays": True}])
    assert place_refused_job(short, stays, "b/train").reason == "data 'corpus' may not leave a"
    assert "corpus" in place_refused_job(job(place={"data": ["corpsu"]}), stays, "b/train").suggestion


def test_a_region_can_be_required(job: Make) -> None:
    both = build_fleet(A, B, members=PRICED)
    asked = job(accelerators={"count": 8}, place={"regions": ["stockholm"]})
    assert place_best(asked, both).cluster == "a"
    assert place_refused_job(asked, both, "b/train").suggestion == "add warsaw to place.regions"


def test_flexible_jobs_wait_for_cleaner_energy(job: Make) -> None:
    """Submitted at noon, six hours of work, two days of time: it begins at midnight."""
    plan = build_plan("a", hours=NIGHT)
    asked = job(accelerators={"count": 8}, time_limit="6 h", deadline="2 d", place={"minimize": "carbon"})
    at = place_best(asked, plan, now=12 * 3600.0)
    assert at.begin == 12 * 3600
    assert at.carbon == pytest.approx(10.2 * 1.2 * 6 * 100)
    hurried = job(accelerators={"count": 8}, time_limit="6 h", deadline="12 h", place={"minimize": "carbon"})
    assert place_best(hurried, plan, now=12 * 3600.0).begin == 6 * 3600  # as far as the deadline lets it
    assert (
        place_best(job(accelerators={"count": 8}, time_limit="6 h", deadline="2 d"), plan, now=12 * 3600.0).begin == 0
    )


def test_a_flexible_job_runs_where_carbon_intensity_is_low(job: Make) -> None:
    here, there = build_plan("a", hours=NIGHT), build_plan("b", hours=NIGHT[12:] + NIGHT[:12])
    asked = job(accelerators={"count": 8}, time_limit="6 h", deadline="7 h", place={"minimize": "carbon"})
    assert place_best(asked, build_fleet(here, there), now=0.0).cluster == "a"
    assert place_best(asked, build_fleet(here, there), now=12 * 3600.0).cluster == "b"


@pytest.mark.parametrize(
    "begin, seconds, mean",
    [
        (0, 3600, 100),
        (0, 86400, 350),
        (5.5 * 3600, 3600, 300),
        (0, 3 * 86400, 350),
        (23 * 3600, 7200, 200),
    ],
)
def test_carbon_is_the_mean_of_the_hours(begin: float, seconds: float, mean: float) -> None:
    assert compute_carbon(build_plan("a", hours=NIGHT), 2.0, begin, seconds) == pytest.approx(2 * mean)


def test_carbon_without_hourly_values_uses_the_mean() -> None:
    assert compute_carbon(A, 1.0, 0, 3600) == pytest.approx(2.73)
    assert compute_carbon(A, None, 0, 3600) is None
    facility = A.facility
    assert facility and isinstance(facility.energy_plan, EnergyPlan)
    own = replace(facility.energy_plan, carbon=CarbonIntensity("40 g/kWh"))
    assert compute_carbon(replace(A, facility=replace(facility, energy_plan=own)), 2.0, 0, 3600) == 80


@pytest.mark.parametrize(
    "fields, spent, reason, suggestion",
    [
        ({"place": {"max_price": "45 USD/h"}}, 0, "a node costs 50.00 USD/h", "max_price to 50.00 USD/h"),
        ({"budget": "100 USD"}, 0, "a budget requires a time limit", "set time_limit"),
        ({"budget": "100 USD", "time_limit": "3 h"}, 0, "would cost 150.00 USD", "budget to 150.00 USD"),
        (
            {"tenant": "llm", "time_limit": "3 h"},
            900,
            "has 100.00 USD of its 1000 USD left this month",
            "raise the budget",
        ),
        ({"tenant": "llm"}, 1000, "has 0.00 USD of its", "wait for the next month"),
    ],
)
def test_budgets_limit_placement(job: Make, fields: dict[str, Any], spent: float, reason: str, suggestion: str) -> None:
    budgets = [{"tenant": "llm", "limit": "1000 USD"}]
    where = build_fleet(A, members={"a": PRICED["a"]}, spent={("llm", "month"): spent}, budgets=budgets)
    asked = job(accelerators={"count": 8}, **fields)
    refusal = place_refused_job(asked, where, "a/train")
    assert reason in refusal.reason and suggestion in refusal.suggestion


def test_limits_without_a_known_price_are_refused(job: Make, plan: Plan) -> None:
    for fields in ({"place": {"max_price": "45 USD/h"}}, {"budget": "100 USD", "time_limit": "1 h"}):
        answer = why_not(job(accelerators={"count": 8}, **fields), plan, CATALOG)["old"]
        assert isinstance(answer, Refusal) and "price unknown, and" in answer.reason


def build_busy_cluster(plan: Plan, until: float) -> Cluster:
    cluster = Cluster.from_plan(plan)
    return cluster.with_observations([NodeState(host, "up", 8, until) for host in plan.pools[0].hosts], 0.0)


def test_a_wait_is_weighed_against_a_price(job: Make) -> None:
    cheap = replace(build_busy_cluster(B, 36_000.0), member=build_fleet(B, members=PRICED).clusters[0].member)
    dear = build_fleet(A, members=PRICED).clusters[0]
    where = Fleet(FleetSpec.model_validate({"name": "f", "clusters": [{"spec": "a"}, {"spec": "b"}]}), (dear, cheap))
    asked: dict[str, Any] = {"accelerators": {"count": 8}, "time_limit": "10 h"}
    assert place_best(job(**asked, weights={"wait": 0.0}), where).cluster == "b"
    assert place_best(job(**asked, weights={"wait": 1.0}), where).cluster == "a"
    policy = {"max_wait": "5 h", "weights": {"wait": 0.0}}
    clusters = [{"spec": "a"}, {"spec": "b"}]
    hasty = replace(where, spec=FleetSpec.model_validate({"name": "f", "clusters": clusters, "policy": policy}))
    assert place_best(job(**asked), hasty).cluster == "a"  # bursts, although it is more expensive
    late = job(**asked, deadline="12 h")
    assert place_refused_job(late, where, "b/train").suggestion == "set deadline to at least 21 h"


def test_spot_machines_are_used_only_for_preemptible_jobs(job: Make, plan: Plan) -> None:
    pool = Pool.model_validate({"name": "train", "machine": "dgx-h100", "nodes": 8, "capacity": [{"kind": "spot"}]})
    spec = A.spec.model_copy(update={"pools": (pool,)})
    spot = replace(A, spec=spec)
    assert isinstance(why_not(job(accelerators={"count": 8}), spot, CATALOG)["train"], Placement)
    answer = why_not(job(accelerators={"count": 8}, preemptible=False), spot, CATALOG)["train"]
    assert isinstance(answer, Refusal) and "spot" in answer.reason


@pytest.mark.parametrize(
    "asked, policy, expected",
    [
        ({}, {}, {"cost": 1.0, "carbon": 0.0, "wait": 0.25}),
        ({"place": {"carbon": "prefer-low"}}, {}, {"cost": 1.0, "carbon": 0.5, "wait": 0.25}),
        ({"place": {"carbon": "prefer-low", "minimize": "carbon"}}, {}, {"cost": 0.0, "carbon": 1.0, "wait": 0.25}),
        ({"weights": {"wait": 0.1}}, {"weights": {"wait": 0.7, "topology": 0.2}}, {"wait": 0.1, "topology": 0.2}),
    ],
)
def test_weights_are_as_documented(
    job: Make, asked: dict[str, Any], policy: dict[str, Any], expected: dict[str, float]
) -> None:
    weights = build_weights(job(**asked), FleetPolicy.model_validate(policy))
    assert {name: weights[name] for name in expected} == expected
    assert weights["fragmentation"] == 0.0
