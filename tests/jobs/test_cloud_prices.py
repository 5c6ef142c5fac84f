"""A job on a cloud costs what the plan of its cluster says, alone and in a fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from supercloud.cli.place import _explain_placement
from supercloud.jobs.fleet.state import Cluster, Fleet
from supercloud.jobs.placement.place import Placement, Refusal, place, why_not
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import FleetSpec, JobSpec
from supercloud.spec.loader import loads

Make = Callable[..., JobSpec]

CLOUD = """
name: trainer
site: {{kind: aws, region: {region}, zones: [{region}a]}}
scheduler: {{kind: slurm, version: "25.11"}}
network: {{cidr: 10.0.0.0/16}}
pools: [{{name: train, machine: {machine}, nodes: 16, capacity: [{{kind: on-demand}}]}}]
"""
FIELDS: dict[str, Any] = {"accelerators": {"count": 16}, "time_limit": "10 h"}


def build_plan(machine: str = "p5.48xlarge", region: str = "us-east-1") -> Plan:
    return resolve(loads(CLOUD.format(machine=machine, region=region)))


def iter_destinations(plan: Plan) -> Iterator[Plan | Fleet]:
    yield plan
    spec = FleetSpec.model_validate({"name": "all", "clusters": [{"spec": "trainer"}]})
    yield Fleet(spec, (Cluster.from_plan(plan),))


def test_a_job_has_the_price_of_the_plan(job: Make) -> None:
    plan = build_plan()
    assert plan.cloud is not None
    line = next(item for item in plan.cloud.cost.lines if item.item.startswith("train"))
    assert line.unit_price is not None
    for where in iter_destinations(plan):
        found = place(job(**FIELDS), where)
        assert isinstance(found, Placement) and found.price == pytest.approx(2 * line.unit_price.to("USD"))
        assert isinstance(place(job(**FIELDS, budget="1200 USD"), where), Placement)
        refusal = next(iter(why_not(job(**FIELDS, budget="1000 USD"), where).values()))
        assert isinstance(refusal, Refusal) and "it would cost 1100.80 USD until its time limit" in refusal.reason
        assert refusal.change == {"budget": "1100.80 USD"}
        dear = next(iter(why_not(job(**FIELDS, place={"max_price": "50 USD/h"}), where).values()))
        assert isinstance(dear, Refusal) and "a node costs 55.04 USD/h" in dear.reason


def test_the_price_in_the_fleet_is_used_first(job: Make) -> None:
    cluster = Cluster.from_plan(build_plan())
    spec = FleetSpec.model_validate({"name": "all", "clusters": [{"spec": "trainer", "prices": {"train": "30 USD/h"}}]})
    found = place(job(**FIELDS), Fleet(spec, (Cluster(**vars(cluster) | {"member": spec.clusters[0]}),)))
    assert isinstance(found, Placement) and found.price == 60.0


def test_explain_prints_price_and_carbon_also_if_they_are_unknown(job: Make) -> None:
    found = place(job(**FIELDS), build_plan())
    assert isinstance(found, Placement)
    lines = list(_explain_placement(found))
    assert "price    110.08 USD/h" in lines
    # 16 x 700 W for 10 h, at 323.05 g/kWh
    assert found.carbon is None and found.accelerator_carbon == pytest.approx(16 * 0.7 * 10 * 323.05)
    assert any(line.startswith("carbon   36.1816 kgCO2e of the accelerators at full power") for line in lines), lines
    assert Placement.from_json(found.to_json()) == found
    unknown = place(job(**FIELDS), build_plan(region="me-central-1"))
    assert isinstance(unknown, Placement) and "price    unknown" in list(_explain_placement(unknown))
