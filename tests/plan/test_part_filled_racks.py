"""Racks draw the power of their devices: a pool that does not fill its first rack is not counted as a full one."""

from __future__ import annotations

from pathlib import Path

import pytest
from halls import QM9700, build_hall, list_problems

from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.summary import build_rows

RACK = {"type": "eia-48u"}


def get_racks_row(plan: Plan) -> str:
    return next(text for what, name, text in build_rows(plan) if (what, name) == ("racks", "train"))


@pytest.mark.parametrize(
    "machine, nodes, message",
    [
        ("dgx-h100", 1, "1 rack of 1 node in eia-48u, 10.2 kW"),
        ("dgx-h100", 4, "1 rack of 4 nodes in eia-48u, 40.8 kW"),
        ("dgx-h100", 5, "2 racks of 4 nodes in eia-48u, at most 40.8 kW each"),
        ("dgx-gb200", 9, "1 rack of 9 nodes in gb200-nvl72, 66 kW"),
    ],
)
def test_the_plan_shows_the_power_of_the_fullest_rack(tmp_path: Path, machine: str, nodes: int, message: str) -> None:
    plan = build_hall(tmp_path, machine, nodes, fabrics=[QM9700], rack=RACK)
    assert get_racks_row(plan) == message
    assert plan.facility and plan.layout
    drawn = max(rack.power for rack in plan.layout.racks)
    assert plan.facility.densest_rack_power == drawn, "the layout fills racks in order, and adds up what stands in each"


@pytest.mark.slow
def test_two_nodes_are_not_too_dense_for_air(tmp_path: Path) -> None:
    """Eight DGX A100 in a rack would be."""

    def list_density_problems(nodes: int) -> list[str]:
        return list_problems(
            build_hall(
                tmp_path,
                "dgx-a100",
                nodes,
                fabrics=[],
                rack=RACK | {"nodes": 8},
                pools=[{"name": "train", "machine": "dgx-a100", "nodes": nodes}],
            ),
            "cooling-density",
        )

    assert not list_density_problems(2)
    assert len(list_density_problems(8)) == len(list_density_problems(9)) == 1


@pytest.mark.slow
def test_circuits_are_checked_with_the_nodes_of_the_rack(tmp_path: Path) -> None:
    def list_circuit_problems(nodes: int) -> list[str]:
        power = {"feeds": 2, "redundancy": "N", "voltage": "400 V", "circuit": "32 A"}
        rack = RACK | {"nodes": 4, "pdus": 2}
        return list_problems(build_hall(tmp_path, "dgx-h100", nodes, rack=rack, power=power), "power-circuit")

    assert not list_circuit_problems(1)
    assert len(list_circuit_problems(8)) == 1
