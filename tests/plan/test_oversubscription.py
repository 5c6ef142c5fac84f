"""Declared uplinks are compared with the oversubscription, and the plan shows the ratio as built."""

from __future__ import annotations

import re
from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec

from supercloud.errors import Finding
from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.summary import build_rows

INFINIBAND = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}


def build_plan(nodes: int = 128, **changes: Any) -> Plan:
    return plan_spec(pools=build_pools("dgx-h100", nodes), fabrics=[INFINIBAND | changes])


def list_findings(plan: Plan) -> list[Finding]:
    return [item for item in plan.findings if item.check == "fabric-oversubscription"]


def get_row(plan: Plan) -> str:
    return next(text for kind, _, text in build_rows(plan) if kind == "fabric")


@pytest.mark.parametrize("shape", ["rail-optimized", "fat-tree"])
@pytest.mark.parametrize("declared", [None, 1, 2])
def test_too_few_declared_uplinks_are_reported_with_both_ratios(declared: int | None, shape: str) -> None:
    more: dict[str, Any] = {"oversubscription": {"leaf": declared}} if declared else {}
    plan = build_plan(shape=shape, leaf_up=8, leaf_down=32, **more)
    (finding,) = list_findings(plan)
    assert (finding.level, finding.path) == ("warning", "fabrics[0].leaf_up")
    assert "32 ports down and 8 up, 4:1" in finding.problem and f"is {declared or 1}:1" in finding.problem
    assert "ports down:up leaf 4:1" in get_row(plan)
    assert "omit leaf_up" in finding.hint and "oversubscription: {leaf: 4}" in finding.hint
    fixes: tuple[dict[str, Any], ...] = ({"leaf_up": None}, {"oversubscription": {"leaf": 4}})
    for fix in fixes:
        changed = {"shape": shape, "leaf_up": 8, "leaf_down": 32, **more} | fix
        assert not list_findings(build_plan(**{key: value for key, value in changed.items() if value}))


def test_leaves_that_are_not_full_have_the_ratio_of_their_used_ports() -> None:
    """8 nodes on each leaf, so that 8 uplinks are as many as ports down."""
    plan = build_plan(9, leaf_up=8, su=8, leaf_down=32)
    assert not list_findings(plan) and "leaf 1:1" in get_row(plan)


@pytest.mark.parametrize("role, reported", [("storage", True), ("in-band", False)])
def test_only_declared_ratios_of_in_band_networks_are_compared(role: str, reported: bool) -> None:
    fabric = {"name": role, "kind": "ethernet", "shape": "rail-optimized", "switch": "nvidia-sn5600", "leaf_up": 2}
    pools = [pool | {"fabrics": [role]} for pool in build_pools("dgx-h100", 128)]
    assert bool(list_findings(plan_spec(pools=pools, fabrics=[fabric]))) is reported
    assert list_findings(plan_spec(pools=pools, fabrics=[fabric | {"oversubscription": {"leaf": 2}}]))


def test_every_tier_with_uplinks_has_a_ratio() -> None:
    row = get_row(build_plan(600, shape="fat-tree", oversubscription={"leaf": 2, "spine": 2}, tiers=3))
    assert re.search(r"ports down:up leaf [\d.]+:1, spine [\d.]+:1", row)
