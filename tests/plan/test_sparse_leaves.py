"""A few nodes more than fill scalable units have leaves of their own: they are reported, with what avoids them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec

from supercloud.errors import Finding
from supercloud.plan.model.plan import Plan

INFINIBAND = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}


def build_plan(nodes: int, **changes: Any) -> Plan:
    return plan_spec(pools=build_pools("dgx-h100", nodes), fabrics=[INFINIBAND | changes])


def list_findings(plan: Plan) -> list[Finding]:
    return [item for item in plan.findings if item.check == "fabric-leaves-sparse"]


def count_switches(plan: Plan) -> int:
    return sum(tier.count for tier in plan.fabrics[0].tiers)


@pytest.mark.parametrize("nodes, few", [(33, 1), (36, 4), (65, 1), (130, 2)])
def test_nearly_empty_leaves_are_reported_with_settings_that_work(nodes: int, few: int) -> None:
    plan = build_plan(nodes)
    (finding,) = list_findings(plan)
    leaves = plan.fabrics[0].count_switches("leaf")
    assert finding.problem.startswith(f"8 of the {leaves} leaves of compute connect {few} node port")
    suggested = re.search(r"use (\d+) nodes, which need (\d+) switches instead of (\d+)", finding.hint)
    assert suggested
    smaller = build_plan(int(suggested[1]))
    assert not list_findings(smaller)
    assert (count_switches(smaller), count_switches(plan)) == (int(suggested[2]), int(suggested[3]))
    setting = re.search(r"leaf_rails: (\d+), so that rails share leaves, which needs (\d+) switches", finding.hint)
    if setting:
        changed = build_plan(nodes, leaf_rails=int(setting[1]))
        assert not list_findings(changed) and count_switches(changed) == int(setting[2]) < count_switches(plan)


@pytest.mark.parametrize("nodes, su", [(36, 18), (65, 22), (130, 26)])
def test_the_hint_names_the_size_of_a_unit_that_spreads_the_nodes_evenly(nodes: int, su: int) -> None:
    plan = build_plan(nodes)
    (finding,) = list_findings(plan)
    assert f"set su: {su}, which spreads the nodes evenly over the leaves" in finding.hint
    changed = build_plan(nodes, su=su)
    assert not list_findings(changed) and count_switches(changed) <= count_switches(plan)


def test_a_unit_that_needs_more_switches_is_not_suggested() -> None:
    plan = build_plan(33)
    (finding,) = list_findings(plan)
    assert "set su: " not in finding.hint and count_switches(build_plan(33, su=17)) > count_switches(plan)


def test_one_node_more_than_a_unit_has_a_setting_with_fewer_switches() -> None:
    (finding,) = list_findings(build_plan(33))
    assert "set leaf_rails: " in finding.hint and "up to 31 nodes will be added" in finding.hint


@pytest.mark.parametrize("nodes", [16, 31, 32, 48, 64, 127, 128])
def test_units_that_are_well_filled_are_not_reported(nodes: int) -> None:
    assert not list_findings(build_plan(nodes))


def test_leaves_of_whole_nodes_are_not_reported() -> None:
    """A further node takes one leaf, not one for each rail."""
    assert not list_findings(build_plan(33, shape="fat-tree"))
