"""A subnet manager needs a switch port: fabrics whose nodes and uplinks have all of them are found."""

from __future__ import annotations

import re
from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec
from samples import EXAMPLES

from supercloud.errors import Finding
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load


def build_plan(machine: str, nodes: int, **changes: Any) -> Plan:
    fabric = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}
    return plan_spec(pools=build_pools(machine, nodes), fabrics=[fabric | changes])


def list_findings(nodes: int, **changes: Any) -> list[Finding]:
    plan = build_plan("dgx-b200", nodes, **changes)
    return [item for item in plan.findings if item.check == "subnet-manager-port"]


def test_a_full_switch_has_no_port_for_the_subnet_manager() -> None:
    (finding,) = list_findings(8)  # 64 ports of one switch
    assert finding.level == "warning" and "64 switch ports" in finding.problem and "manager:" in finding.hint


def test_full_tiers_have_no_port_for_the_subnet_manager() -> None:
    assert list_findings(32) and not list_findings(31)


@pytest.mark.slow
def test_a_free_port_or_a_declared_manager_is_enough() -> None:
    assert not list_findings(7)
    assert not list_findings(7, manager={"links": 2})
    assert not list_findings(8, manager={"links": 2})
    assert not list_findings(7, services=[{"name": "mgmt", "count": 2}])
    assert not list_findings(8, kind="roce", switch="nvidia-sn5600")


# Sizes that fill every port of the default design.
FULL = [
    ("dgx-h100", 32, {}),
    ("dgx-h100", 128, {}),
    ("dgx-h100", 256, {}),
    ("dgx-h100", 64, {"su": 32}),
    ("dgx-h100", 64, {"leaf_down": 32}),
    ("dgx-h100", 8, {"shape": "fat-tree", "tiers": 1}),
    ("dgx-h100", 32, {"shape": "fat-tree"}),
    ("dgx-gb300", 144, {"switch": "nvidia-q3400-ra"}),
    ("dgx-gb300", 144, {"switch": "nvidia-q3400-ra", "leaf_down": 72}),
]


@pytest.mark.slow
@pytest.mark.parametrize("machine, nodes, changes", FULL)
def test_the_suggested_fix_plans_without_errors(machine: str, nodes: int, changes: dict[str, Any]) -> None:
    warned = build_plan(machine, nodes, **changes)
    (finding,) = [item for item in warned.findings if item.check == "subnet-manager-port"]
    assert "set manager: {links: 2}" in finding.hint
    advised: dict[str, Any] = {"manager": {"links": 2}}
    if field := re.search(r"set (su|leaf_down): (\d+)", finding.hint):
        advised[field[1]] = int(field[2])
    elif fewer := re.search(r"(?:take|use) (\d+) nodes", finding.hint):
        nodes = int(fewer[1])
    fixed = build_plan(machine, nodes, **changes | advised)
    assert not fixed.errors
    assert not [item for item in fixed.findings if item.check == "subnet-manager-port"]
    (fabric,) = fixed.fabrics
    switches = re.search(r"requires (\d+) switches instead of (\d+)", finding.hint)
    counts = [sum(tier.count for tier in plan.fabrics[0].tiers) for plan in (fixed, warned)]
    assert not switches or list(map(int, switches.groups())) == counts
    domain = fixed.pools[0].machine.domain_nodes
    assert all(level.size % domain == 0 for level in fabric.wiring.levels if level.name == "su")


def test_the_suggested_number_of_nodes_keeps_the_switches() -> None:
    """That "fewer nodes do not" require more switches read as the opposite."""
    changes = {"leaf_rails": 4, "spines": 4, "tiers": 2}
    warned = build_plan("mi325x-8gpu", 32, **changes)
    (finding,) = [item for item in warned.findings if item.check == "subnet-manager-port"]
    match = re.search(
        r"requires (\d+) switches instead of (\d+), but with (\d+) nodes (\d+) (?:is|are) enough$", finding.hint
    )
    assert match
    more, before, nodes, after = map(int, match.groups())
    assert before == after < more and nodes < 32

    def count(nodes: int) -> int:
        advised = build_plan("mi325x-8gpu", nodes, manager={"links": 2}, **changes)
        assert not advised.errors
        return sum(tier.count for tier in advised.fabrics[0].tiers)

    assert count(32) == more and count(nodes) == before and (nodes == 31 or count(nodes + 1) > before)


def test_a_manager_without_links_gets_a_suggestion() -> None:
    (finding,) = list_findings(8, manager={"links": 0, "product": "UFM appliance"})
    assert "set manager: {links: 2}" in finding.hint
    assert not list_findings(8, manager={"links": 2, "product": "UFM appliance"})


@pytest.mark.slow
def test_smaller_units_are_chosen_only_if_the_spec_does_not_fix_them() -> None:
    (refused,) = build_plan("dgx-h100", 64, su=32, manager={"links": 2}).errors
    assert refused.hint == "set su: 22, or use 63 nodes"
    (refused,) = build_plan("dgx-gb300", 144, switch="nvidia-q3400-ra", leaf_down=72, manager={"links": 2}).errors
    assert refused.hint == "set leaf_down: 54, or use 126 nodes"  # whole domains of 18
    usual = build_plan("dgx-h100", 31, manager={"links": 2})
    assert [tier.count for tier in usual.fabrics[0].tiers] == [8, 4]


# The first example is its machines and nothing else; what it lacks is shown by the plan in docs/demo.md.
@pytest.mark.parametrize("path", EXAMPLES[1:], ids=lambda path: path.parent.name)
def test_examples_have_a_port_for_the_subnet_manager(path: Any) -> None:
    assert not [item for item in resolve(load(path)).findings if item.check == "subnet-manager-port"]
