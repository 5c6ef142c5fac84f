"""Any number of nodes: no fabric gets more spines than its uplinks have to fill, whatever the number divides by."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan.test_resolve import build_pools, plan_spec

from supercloud.plan.model.plan import FabricPlan

ROCE = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}
SHAPES: list[dict[str, Any]] = [{}, {"shape": "fat-tree"}, {"shape": "clos", "su": 3}]
APART = {"leaf_rails": 1}
INFINIBAND = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}
IN_BAND = {"name": "in-band", "kind": "ethernet", "shape": "rail-optimized", "switch": "nvidia-sn4600c"}
STORAGE = {"name": "storage", "kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700"}
RATIOS = (1, 1.2, 1.75, 2, 2.5, 3)


def build_fabric(machine: str, nodes: int, of: dict[str, Any]) -> FabricPlan:
    pools = [pool | {"fabrics": [of["name"]]} for pool in build_pools(machine, nodes)]
    (found,) = plan_spec(pools=pools, fabrics=[of]).fabrics
    return found


def count_full_spines(found: FabricPlan) -> int:
    """Spines that so many uplinks fill."""
    spine = next(tier for tier in found.tiers if tier.name == "spine")
    return -(-found.link_counts["leaf_spine"] // found.planes // spine.radix) * found.planes


# By hand: 8 leaves, so many uplinks each, spines of 128 ports (SN5600) or 64 (QM9700), a number that divides both.
@pytest.mark.parametrize(
    "machine, nodes, of, spines, links",
    [
        ("dgx-h100", 17, ROCE | APART, 2, 8 * 18),
        ("dgx-h100", 31, ROCE, 2, 8 * 32),
        ("dgx-h100", 32, ROCE, 2, 8 * 32),
        ("dgx-h100", 37, ROCE | APART, 3, 8 * 39),
        ("dgx-h100", 59, ROCE, 4, 8 * 60),
        ("dgx-h100", 61, ROCE, 4, 8 * 64),
        ("mi300x-8gpu", 13, INFINIBAND | APART, 2, 8 * 14),
        ("mi300x-8gpu", 31, INFINIBAND, 4, 8 * 32),
        ("dgx-h100", 17, ROCE | APART | {"oversubscription": {"leaf": 2}}, 1, 8 * 9),
        ("dgx-h100", 31, INFINIBAND, 4, 8 * 32),  # the vendor's unit: as published
        ("dgx-h100", 95, INFINIBAND, 16, 24 * 32),
        # 11 uplinks would take 11 spines
        ("dgx-h100", 128, INFINIBAND | {"oversubscription": {"leaf": 3}}, 6, 32 * 12),
        ("dgx-h100", 128, INFINIBAND | {"oversubscription": {"leaf": 2}}, 8, 32 * 16),
        ("dgx-gb200", 144, INFINIBAND, 9, 576),
        ("dgx-h100", 59, ROCE | {"external_links": 40}, 5, 8 * 60),
        # no more uplinks than nodes need: 31 ports up would take 31 spines, as four further ports fit beside them
        # only then
        ("dgx-h200", 8, IN_BAND | {"external_links": 4, "peer_links": 2}, 1, 2 * 8),
        ("dgx-h200", 31, IN_BAND | {"external_links": 4, "peer_links": 1}, 2, 2 * 32),
        ("dgx-h200", 8, IN_BAND | {"external_links": 4}, 1, 2 * 8),
        # fewer nodes on a leaf: 91 down and 37 up take 37 spines, 60 and 24 three
        ("dgx-h200", 100, ROCE | {"oversubscription": {"leaf": 2.5}}, 3, 16 * 24),
        ("dgx-h200", 100, ROCE | {"oversubscription": {"leaf": 1.75}}, 4, 16 * 32),
        ("dgx-h200", 100, STORAGE | {"oversubscription": {"leaf": 1.5}}, 3, 6 * 24),
        ("dgx-h200", 100, STORAGE | {"oversubscription": {"leaf": 1.5}, "spines": 4}, 4, 6 * 24),
        ("dgx-h100", 260, ROCE, 32, 40 * 64),  # without oversubscription leaves keep room to grow
    ],
)
def test_spines_and_links_match_a_manual_count(
    machine: str, nodes: int, of: dict[str, Any], spines: int, links: int
) -> None:
    found = build_fabric(machine, nodes, of)
    assert (found.count_switches("spine"), found.link_counts["leaf_spine"]) == (spines, links)
    assert found.link_counts["node_leaf"] == found.rails * nodes


@pytest.mark.exhaustive
@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 260),
    st.sampled_from(["nvidia-sn5600", "nvidia-sn5400", "arista-7060x6-64pe"]),
    st.sampled_from([1, 2]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from(SHAPES),
)
def test_any_number_of_nodes_is_planned(
    nodes: int, switch: str, planes: int, ratio: int, shape: dict[str, Any]
) -> None:
    of = ROCE | {"switch": switch, "planes": planes, "oversubscription": {"leaf": ratio}} | shape
    plan = plan_spec(pools=build_pools("dgx-h100", nodes), fabrics=[of])
    if plan.errors or not plan.fabrics[0].count_switches("spine") or plan.fabrics[0].count_switches("core"):
        return
    (found,) = plan.fabrics
    assert found.count_switches("spine") <= 2 * count_full_spines(found)
    leaves = found.count_switches("leaf")
    assert found.link_counts["leaf_spine"] % leaves == 0
    assert found.link_counts["leaf_spine"] // leaves % (found.count_switches("spine") // planes) == 0
    assert found.link_counts["leaf_spine"] * ratio >= found.link_counts["node_leaf"]


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    st.integers(2, 160),
    st.sampled_from(
        [
            ("dgx-h200", ROCE),
            ("dgx-h200", ROCE | APART),
            ("dgx-h200", IN_BAND),
            ("dgx-h200", IN_BAND | {"peer_links": 2}),
            ("dgx-h200", INFINIBAND),
            ("dgx-h200", STORAGE),
            ("mi300x-8gpu", ROCE | {"shape": "fat-tree"}),
        ]
    ),
    st.sampled_from([0, 4]),
)
def test_less_bandwidth_needs_no_more_switches(nodes: int, of: tuple[str, dict[str, Any]], external_links: int) -> None:
    before = None
    for ratio in RATIOS:
        found = build_fabric(
            of[0], nodes, of[1] | {"external_links": external_links, "oversubscription": {"leaf": ratio}}
        )
        leaves, spines = found.count_switches("leaf"), found.count_switches("spine")
        switches = leaves + spines + found.count_switches("core")
        assert before is None or switches <= before, (ratio, leaves, spines)
        assert spines <= leaves or external_links or found.count_switches("core")
        before = switches


@pytest.mark.parametrize("more", [{"spines": 4, "leaf_up": 26}, {"spines": 5, "leaf_down": 38}, {"spines": 1000}])
def test_the_number_of_spines_of_a_hint_is_planned_with_as_few_tiers(more: dict[str, Any]) -> None:
    of = STORAGE | {"oversubscription": {"leaf": 1.5}} | more
    pools = [pool | {"fabrics": ["storage"]} for pool in build_pools("dgx-h200", 100)]
    (error,) = plan_spec(pools=pools, fabrics=[of]).errors
    hint = re.fullmatch(r"set spines: (\d+), or omit it", error.hint)
    assert hint
    fixed = build_fabric("dgx-h200", 100, of | {"spines": int(hint[1])})
    assert fixed.count_switches("spine") == int(hint[1]) and not fixed.count_switches("core")


def test_uplinks_of_spines_spread_over_few_cores() -> None:
    """25 uplinks of a spine spread over five cores of a group or more, 26 over two."""
    found = build_fabric("dgx-h100", 300, INFINIBAND | {"shape": "fat-tree"})
    assert (found.count_switches("spine"), found.count_switches("core")) == (96, 64)
    assert found.link_counts["spine_core"] == 96 * 26 and found.link_counts["leaf_spine"] == 2400


@pytest.mark.slow
def test_declared_sizes_are_kept_and_reported() -> None:
    plan = plan_spec(pools=build_pools("dgx-h100", 31), fabrics=[ROCE | {"su": 31, "leaf_down": 31}])
    assert plan.fabrics[0].count_switches("spine") == 31
    (found,) = (finding for finding in plan.findings if finding.check == "fabric-spines")
    assert found.problem.startswith(
        "31 uplinks of a leaf spread evenly over no fewer than 31 spines: each of them has 8 "
    )
    assert found.hint == "set leaf_up: 32, which takes 2 spines"
    fixed = plan_spec(pools=build_pools("dgx-h100", 31), fabrics=[ROCE | {"su": 31, "leaf_down": 31, "leaf_up": 32}])
    assert fixed.fabrics[0].count_switches("spine") == 2
    assert not [finding for finding in fixed.findings if finding.check == "fabric-spines"]


@pytest.mark.slow
def test_pods_that_need_more_switches_cause_a_warning() -> None:
    def find_core_spines(**more: Any) -> tuple[int, list[str]]:
        plan = plan_spec(pools=build_pools("dgx-gb200", 288), fabrics=[INFINIBAND | more])
        switches = sum(tier.count for tier in plan.fabrics[0].tiers)
        return switches, [item.problem for item in plan.findings if item.check == "fabric-core-spines"]

    fewest, _ = find_core_spines()
    switches, (problem,) = find_core_spines(spines=2)
    assert f"requires {switches} switches with spines: 2 in each pod, {fewest} without" in problem and switches > fewest
    assert not find_core_spines(spines=2, tiers=3)[1]


def test_spines_with_an_error_cause_no_warning() -> None:
    """The error names the number that fits, the warning another fix for the same number."""
    plan = plan_spec(pools=build_pools("mi300x-8gpu", 600), fabrics=[ROCE | {"spines": 8}])
    findings = [item.check for item in plan.findings if item.path == "fabrics[0].spines"]
    assert findings == ["fabric-tiers"]
