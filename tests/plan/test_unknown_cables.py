"""Links without a cable in the catalog are a finding, counted as the bill of materials counts them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from halls import QM9700, build_hall, list_problems

from supercloud.plan.build.cabling.cables import build_cable_table
from supercloud.plan.build.cabling.unknown import count_unknown_links
from supercloud.plan.checks.cabling import cable_unknown
from supercloud.plan.resolve import load_catalog

RACK = {"type": "eia-48u"}


@pytest.mark.parametrize(
    "machine, nodes, switch",
    [
        ("dgx-h100", 40, "nvidia-qm9700"),
        ("dgx-gb200", 36, "nvidia-qm9700"),
        ("dgx-b300", 72, "nvidia-q3200-ra"),
        ("dgx-a100", 2, "nvidia-qm8700"),
        ("mi300x-8gpu", 32, "nvidia-qm9700"),
    ],
)
def test_links_without_a_cable_match_the_bill_of_materials(
    tmp_path: Path, machine: str, nodes: int, switch: str
) -> None:
    plan = build_hall(tmp_path, machine, nodes, fabrics=[QM9700 | {"switch": switch}], rack=RACK)
    fabric = plan.fabrics[0]
    unknown = int((build_cable_table(plan, fabric).kind_index < 0).sum())
    assert sum(item.count for item in count_unknown_links(plan, fabric)) == unknown
    problems = list_problems(plan, "cable-unknown")
    assert [text.split(" ")[0] for text in problems] == ([str(unknown)] if unknown else [])


def test_a_switch_with_an_unknown_cage_is_reported(tmp_path: Path) -> None:
    """Also where racks are set, so that every link has a length."""
    plan = build_hall(tmp_path, "dgx-h100", 40, rack=RACK)
    assert not list_problems(plan, "cable-unknown")
    fabric = plan.fabrics[0]
    bare = tuple(replace(tier, switch=tier.switch.model_copy(update={"cage": None})) for tier in fabric.tiers)
    plan = replace(plan, fabrics=(replace(fabric, tiers=bare),))
    [finding] = cable_unknown(plan, load_catalog(plan.spec, tmp_path))
    assert (finding.level, finding.path) == ("note", "fabrics[0]")
    total = fabric.link_counts["node_leaf"] + fabric.link_counts["leaf_spine"]
    assert finding.problem.startswith(f"{total} links of compute have no matching cable in the catalog: ")
    assert "the cages of nvidia-qm9700 are unknown" in finding.problem


def test_links_to_services_are_counted_too(tmp_path: Path) -> None:
    fabrics = [QM9700 | {"manager": {"links": 4}}]
    plan = build_hall(tmp_path, "dgx-h100", 40, fabrics=fabrics, rack=RACK)
    fabric = plan.fabrics[0]
    assert sum(item.count for item in count_unknown_links(plan, fabric)) == int(
        (build_cable_table(plan, fabric).kind_index < 0).sum()
    )


def test_the_speed_of_a_slower_service_is_reported(tmp_path: Path) -> None:
    """It named the speed of the leaf's port, which is split between several links."""
    services = [{"name": "login", "count": 2, "links": 2, "speed": "200 Gb/s", "cage": "rj45"}]
    plan = build_hall(tmp_path, "dgx-h100", 40, fabrics=[QM9700 | {"services": services}], rack=RACK)
    [problem] = list_problems(plan, "cable-unknown")
    assert "4 login to leaf (no cable for 200 Gb/s connects rj45 of login and " in problem


@pytest.mark.slow
def test_uplinks_at_the_speed_of_slower_nodes_cause_a_warning(tmp_path: Path) -> None:
    """A node of 200 Gb/s on ports made for 400 Gb/s: the catalog has splitters to nodes, none between switches."""
    fast = build_hall(tmp_path, "dgx-a100", 140, fabrics=[QM9700], rack=RACK)
    links = fast.fabrics[0].link_counts["leaf_spine"]
    [problem] = list_problems(fast, "cable-uplinks")
    assert problem.startswith(f"{links} links of compute between switches run at 200 Gb/s") and "400 Gb/s" in problem
    hint = next(item.hint for item in fast.findings if item.check == "cable-uplinks")
    assert "nvidia-qm8700" in hint
    made = build_hall(tmp_path, "dgx-a100", 140, fabrics=[QM9700 | {"switch": "nvidia-qm8700"}], rack=RACK)
    assert not list_problems(made, "cable-uplinks") and not list_problems(made, "cable-unknown")
    assert not list_problems(build_hall(tmp_path, "dgx-h100", 140, fabrics=[QM9700], rack=RACK), "cable-uplinks")
