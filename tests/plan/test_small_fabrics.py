"""Small clusters need the fewest switches, and growth beyond a leaf is reported as recabling."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan.test_resolve import build_pools, plan_spec

from supercloud.plan.build.cabling.cables import build_cable_table
from supercloud.plan.model.plan import FabricPlan, Plan
from supercloud.plan.publish.diff import diff_plans

INFINIBAND = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}
ROCE = INFINIBAND | {"kind": "roce", "switch": "nvidia-sn5600"}


def build_plan(nodes: int, machine: str = "dgx-h100", of: dict[str, Any] = INFINIBAND, **more: Any) -> Plan:
    return plan_spec(pools=build_pools(machine, nodes), fabrics=[of | more])


def count_switches(plan: Plan) -> tuple[int, int]:
    (fabric,) = plan.fabrics
    return fabric.count_switches("leaf"), fabric.count_switches("spine")


# RA-11127-001 V5: up to eight systems at 400 Gb/s on QM9700 switches; earlier versions sixteen at 200 Gb/s.
@pytest.mark.parametrize(
    "machine, nodes, speed",
    [
        ("dgx-h100", 1, "400 Gb/s"),
        ("dgx-h100", 8, "400 Gb/s"),
        ("dgx-h200", 8, "400 Gb/s"),
        ("dgx-b200", 8, "400 Gb/s"),
        ("dgx-h100", 16, "200 Gb/s"),
        ("dgx-gb200", 16, "400 Gb/s"),
    ],
)
def test_a_basepod_fits_one_switch(machine: str, nodes: int, speed: str) -> None:
    plan = build_plan(nodes, machine, speed=speed)
    assert not plan.errors and count_switches(plan) == (1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("nodes, rails, expected", [(8, 8, (1, 1)), (16, 4, (2, 1)), (32, 2, (4, 2))])
def test_small_designs_on_800g_switches_match_the_reference(nodes: int, rails: int, expected: tuple[int, int]) -> None:
    declared = build_plan(nodes, of=ROCE, leaf_rails=rails, leaf_down=64, **({"tiers": 2} if nodes == 8 else {}))
    assert count_switches(declared) == expected and not declared.errors
    assert sum(count_switches(build_plan(nodes, of=ROCE))) <= sum(expected)


@pytest.mark.parametrize(
    "more, expected",
    [
        ({"leaf_rails": 1}, (8, 4)),  # as printed: a leaf a rail
        ({"leaf_rails": 8}, (5, 4)),
        ({"su": 32}, (8, 4)),
        ({"spines": 4}, (8, 4)),
        ({"manager": {"links": 2}}, (6, 3)),
        ({"external_links": 100}, (6, 5)),
    ],
)
def test_declared_sizes_are_kept(more: dict[str, Any], expected: tuple[int, int]) -> None:
    plan = build_plan(20, **more)
    assert not plan.errors and count_switches(plan) == expected


def test_networks_for_storage_keep_a_leaf_for_each_port_of_a_node() -> None:
    plan = plan_spec(
        pools=[build_pools("dgx-h100", 4)[0] | {"fabrics": ["compute", "storage"]}],
        fabrics=[INFINIBAND, INFINIBAND | {"name": "storage"}],
    )
    assert [(fabric.count_switches("leaf"), fabric.rails_per_leaf) for fabric in plan.fabrics] == [(1, 8), (2, 1)]


def test_the_nodes_of_a_scale_up_domain_stay_on_the_same_leaves() -> None:
    plan = build_plan(54, "dgx-gb200")
    assert count_switches(plan) == (12, 4) and plan.fabrics[0].unit_nodes == 18
    assert not [finding for finding in plan.findings if finding.check == "fabric-split-domain"]


def count_ends(fabric: FabricPlan, plan: Plan) -> Counter[tuple[str, int]]:
    table = build_cable_table(plan, fabric)
    found: Counter[tuple[str, int]] = Counter()
    for kinds, numbers, ports in (
        (table.links.source_set, table.links.source, table.links.source_port),
        (table.links.target_set, table.links.target, table.links.target_port),
    ):
        for kind, number, port in zip(kinds, numbers, ports, strict=True):
            devices = table.devices[int(kind)]
            found[f"{devices.kind}{int(number)}", int(port)] += 1
    return found


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 40),
    st.sampled_from(["dgx-h100", "dgx-b300", "dgx-gb200", "mi300x-8gpu"]),
    st.sampled_from([INFINIBAND, ROCE]),
    st.sampled_from([None, 1, 2, 4]),
    st.sampled_from([0, 2]),
)
def test_every_port_of_a_node_has_one_cable_and_no_port_two(
    nodes: int, machine: str, of: dict[str, Any], sharing: int | None, links: int
) -> None:
    more = {"leaf_rails": sharing} if sharing else {}
    plan = build_plan(
        nodes, machine, of, services=[{"name": "login", "count": 1, "links": links}] if links else [], **more
    )
    for fabric in plan.fabrics:
        used = count_ends(fabric, plan)
        assert max(used.values()) == 1
        assert sum(device.startswith("node") for device, _ in used) == nodes * fabric.rails * fabric.planes


def list_moves(before: Plan, after: Plan) -> dict[str, str]:
    return {item.path.rpartition(".")[2]: item.why for item in diff_plans(before, after) if item.impact == "recables"}


@pytest.mark.slow
def test_growth_beyond_one_leaf_is_recabling() -> None:
    assert list_moves(build_plan(4), build_plan(8)) == {}
    assert list_moves(build_plan(8), build_plan(9)) == {"node_links": "32 of 64 cables end at another port"}
    assert list_moves(build_plan(9), build_plan(12)) == {}
    assert "node_links" in list_moves(build_plan(16), build_plan(24))
    assert list_moves(build_plan(31), build_plan(32)) == {}
    assert list_moves(build_plan(32), build_plan(64)) == {
        "uplinks": "252 of 256 cables end at another port"
    }  # four spines become eight
    assert list_moves(build_plan(127), build_plan(128)) == {}


def test_nodes_that_move_to_another_place_in_the_fabric_are_recabled() -> None:
    first, second = build_pools("dgx-h100", 2)[0], build_pools("dgx-h100", 2)[0] | {"name": "more"}
    before = plan_spec(pools=[first, second], fabrics=[INFINIBAND])
    after = plan_spec(pools=[first | {"nodes": 3}, second], fabrics=[INFINIBAND])
    assert list_moves(before, after) == {"node_links": "16 of 32 cables end at another port"}


def test_a_switch_that_becomes_several_is_not_renamed() -> None:
    assert "replaces" not in {item.impact for item in diff_plans(build_plan(1), build_plan(9))}


def test_only_fabrics_with_rails_share_leaves() -> None:
    (finding,) = build_plan(8, shape="fat-tree", leaf_rails=2).errors
    assert finding.path == "fabrics[0].leaf_rails" and finding.hint == "remove leaf_rails, or set shape: rail-optimized"
