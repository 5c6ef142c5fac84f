"""Racks of a hall and their power: shelves, circuits, machines of unknown size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from halls import DGX, QM9700, build_hall, list_problems

from supercloud.plan.publish.document import build_document


@pytest.mark.slow
def test_leaves_are_placed_near_their_nodes_if_cable_reach_requires_it(tmp_path: Path) -> None:
    facility: dict[str, Any] = {"nodes": 512, "rack": DGX, "racks_per_row": 16}
    assert list_problems(build_hall(tmp_path, **facility, max_cable_length="40 m"), "cable-length") == []
    middle = build_hall(tmp_path, **facility).layout
    spread = build_hall(tmp_path, **facility, max_cable_length="40 m").layout
    assert middle and spread and len(middle.racks) == len(spread.racks)

    def count_rows(layout: Any) -> int:
        return len({rack.row for rack in layout.racks if any(item.group == "compute/leaf" for item in rack.items)})

    assert count_rows(spread) > count_rows(middle)


def test_shares_above_one_hundred_percent_are_errors(tmp_path: Path) -> None:
    sources = [{"name": name, "kind": "contract", "share": 0.6} for name in ("a", "b")]
    with pytest.raises(ValueError, match="add up to 1.2: the maximum is 1"):
        build_hall(tmp_path, energy={"sources": sources})


def test_power_shelves_use_rack_units(tmp_path: Path) -> None:
    """Machines without power supplies use the busbar of the rack, whose power shelves are at the top."""
    plan = build_hall(
        tmp_path,
        "gaudi3-8",
        8,
        fabrics=[],
        pools=[{"name": "train", "machine": "gaudi3-8", "nodes": 8}],
        rack={"type": "orv3-48u"},
        power={"shelf": "delta-orv3-18kw", "redundancy": "N+1"},
    )
    assert plan.facility and plan.layout and not plan.errors
    group = plan.facility.racks[0]
    assert (group.nodes_per_rack, group.shelves) == (5, 3), "five of 8 units and 7.2 kW, two shelves and one to spare"
    # what the shelves lose is drawn by the racks and leaves in their air: 8 x 7.2 kW at 97.5 %
    assert plan.facility.it_power.to("kW") == pytest.approx(57.6 / 0.975) and group.busbar_power is not None
    assert group.busbar_power.to("kW") == 36 and group.power.to("kW") == pytest.approx(36 / 0.975)
    assert plan.facility.cooling_plan and plan.facility.cooling_plan.heat.total == plan.facility.it_power
    assert sum(rack.power.base for rack in plan.layout.racks) == plan.facility.it_power.base
    (shelf,) = (item for item in plan.layout.racks[0].items if item.kind == "power-shelf")
    assert (shelf.unit, shelf.count) == (46, 3)


def test_storage_and_service_machines_need_racks_and_power(tmp_path: Path) -> None:
    plan = build_hall(tmp_path, rack=DGX, machines=[{"name": "ufm", "machine": "nvidia-ufm-appliance", "count": 2}])
    data = build_document(plan).model_dump()["facility"]
    assert data["servers_kw"] == 1.378 and data["it_kw"] == round(1295.4 + 82.56 + 1.378, 3)


def test_unknown_values_are_reported_not_guessed(tmp_path: Path) -> None:
    plan = build_hall(tmp_path, rack=DGX, machines=[{"name": "bcm", "machine": "management-server"}], fabrics=[QM9700])
    assert any("management-server" in text for text in list_problems(plan, "power-unknown"))
    assert any("management-server" in text for text in list_problems(plan, "rack-size-unknown"))
    assert plan.facility and plan.facility.cooling_plan and plan.facility.cooling_plan.pue is None
    assert plan.facility.cooling_plan.pue_basis == "unknown"


def test_circuits_limit_the_filling_of_racks(tmp_path: Path) -> None:
    """415 V and 60 A carry 34.5 kW: five DGX A100 (32.5 kW) on each, with one of two circuits gone."""
    power = {"voltage": "415 V", "circuit": "60 A", "redundancy": "2N", "feeds": 2}
    plan = build_hall(tmp_path, "dgx-a100", 32, rack={"type": "eia-52u"}, power=power)
    assert plan.facility and plan.facility.racks[0].nodes_per_rack == 5
    assert plan.facility.racks[0].limited_by == "power" and not list_problems(plan, "power-circuit")
    limit = plan.facility.racks[0].power_limit
    assert limit is not None and all(group.power <= limit for group in plan.facility.racks)
