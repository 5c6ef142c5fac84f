"""Fabrics that a cloud owns: pools with different numbers of adapters share one; wires that one lays oneself do not."""

from __future__ import annotations

import pytest
import yaml
from plan.clouds import KUBERNETES, TWO, build_plan, build_pool
from plan.test_wrong_networks import ROCE, build_spec

from supercloud.plan.build.kubernetes.fabrics import list_attachments
from supercloud.plan.publish.document import build_document
from supercloud.plan.publish.summary import build_rows
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads

MIXED = [build_pool(), build_pool(name="infer", machine="g6e.48xlarge", nodes=2)]


@pytest.mark.parametrize("pools", [MIXED, MIXED[::-1]])
def test_pools_with_different_numbers_of_adapters_share_a_fabric(pools: list[dict[str, object]]) -> None:
    plan = build_plan(pools=list(pools))
    assert not plan.errors
    fabric = plan.fabrics[0]
    assert {pool.name: fabric.count_node_links(pool.name) for pool in plan.pools} == {"train": 32, "infer": 4}
    assert plan.cloud is not None
    cards = {group.pool: sum(item.kind.startswith("efa") for item in group.interfaces) for group in plan.cloud.groups}
    assert cards == {"train": 32, "infer": 4}
    document = build_document(plan).fabrics[0]
    assert (document.rails, document.pool_links) == (4, {"train": 32})
    assert "32 of 100 Gb/s in train" in str(build_rows(plan)) and "4 of 100 Gb/s in infer" in str(build_rows(plan))


def test_links_of_each_pool_have_their_own_speed() -> None:
    b200 = build_pool(name="new", machine="p6-b200.48xlarge", nodes=2)
    plan = build_plan(pools=[build_pool(), b200], site=TWO | {"zones": ["us-east-1a"]})
    fabric = plan.fabrics[0]
    assert [(str(fabric.get_link_speed(name)), fabric.count_node_links(name)) for name in ("train", "new")] == [
        ("100 Gb/s", 32),
        ("400 Gb/s", 8),
    ]


def test_pods_request_the_adapters_of_their_own_pool() -> None:
    plan = build_plan(pools=MIXED, scheduler=KUBERNETES, site=TWO)
    assert not [item for item in plan.errors if item.check == "fabric-adapters"]
    found = {pool.name: list_attachments(plan, pool)[0].resources for pool in plan.pools}
    assert found == {"train": {"vpc.amazonaws.com/efa": 32}, "infer": {"vpc.amazonaws.com/efa": 4}}


def test_links_that_are_cabled_have_one_number() -> None:
    pools = [
        {"name": name, "machine": machine, "nodes": 8, "fabrics": ["compute"]}
        for name, machine in (("a", "dgx-h100"), ("b", "dgx-gb200"))
    ]

    plan = resolve(loads(yaml.safe_dump(build_spec(ROCE, pools=pools))))
    (found,) = [item for item in plan.errors if item.check == "fabric-adapters"]
    assert "pools have 8 and 4 links per node" in found.problem
