"""Rendered objects of Volcano: HyperNodes, queues, configuration of the scheduler."""

from __future__ import annotations

import yaml
from kube_specs import H100, VARIANTS, build_plan, render_objects, select_kind

from supercloud.targets import render


def test_tiers_of_volcano_are_counted_from_the_nodes() -> None:
    items = render_objects({"scheduler": {"kind": "kubernetes", "version": "1.36", "queue": "volcano"}})
    nodes = select_kind(items, "HyperNode")
    tiers = {name: item["spec"]["tier"] for name, item in nodes.items()}
    assert sorted(set(tiers.values())) == [1, 2]
    [top] = [item for item in nodes.values() if item["spec"]["tier"] == 2]
    below = {member["selector"]["exactMatch"]["name"] for member in top["spec"]["members"]}
    assert below == {name for name, tier in tiers.items() if tier == 1}
    queues = select_kind(items, "Queue")
    assert queues["llm"]["spec"]["weight"] == 70 and queues["llm"]["spec"]["deserved"]["nvidia.com/gpu"] == "360"
    assert not select_kind(items, "ClusterQueue")


def test_volcano_has_one_tier_for_a_level_whatever_the_pool() -> None:
    """A unit is above the domains of one pool and the nodes of another: one number, one HyperNode, one parent."""
    link = {"kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}
    pools = [H100 | {"nodes": 32}, {"name": "nvl", "machine": "dgx-gb200", "nodes": 36, "fabrics": ["domains"]}]
    fabrics = [{"name": name, **link} for name in ("compute", "domains")]
    scheduler = {"kind": "kubernetes", "version": "1.36", "queue": "volcano"}
    items = render_objects({"scheduler": scheduler, "pools": pools, "fabrics": fabrics, "facility": None})
    listed = [item for item in items if item["kind"] == "HyperNode"]
    nodes = select_kind(items, "HyperNode")
    assert len(listed) == len(nodes)
    tiers = {(item["spec"]["tierName"], item["spec"]["tier"]) for item in listed}
    assert {name for name, _ in tiers} == {"scale-up", "su", "fabric", "cluster"} and len(tiers) == 4
    parents: list[str] = []
    for item in listed:
        for member in item["spec"]["members"]:
            if member["type"] == "HyperNode":
                parents.append(member["selector"]["exactMatch"]["name"])
                assert nodes[parents[-1]]["spec"]["tier"] < item["spec"]["tier"]
    assert len(parents) == len(set(parents)) == len(listed) - 1, "a tree"


def test_gangs_can_be_preempted_under_volcano() -> None:
    """Its defaults preempt only pods beyond the minimum of a gang, and the rendered gangs have none beyond."""
    bundle = render(build_plan(VARIANTS["volcano"]), "kubernetes")
    document = yaml.safe_load(yaml.safe_load(bundle["charts/volcano.yaml"])["custom"]["scheduler_config_override"])
    [tier] = document["tiers"]
    plugins = {item["name"]: item for item in tier["plugins"]}
    actions = set(document["actions"].split(", "))
    assert {"preempt", "reclaim"} <= actions and "enqueue" not in actions, "it keeps out who would take a place"
    assert plugins["gang"]["enablePreemptable"] is plugins["gang"]["enableReclaimable"] is False
    assert "capacity" in plugins, "what a queue deserves is protected in the same tier"
