"""The published designs come out with their published racks, power and cooling."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from halls import DGX, QM9700, build_hall, list_problems
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.document import build_document
from supercloud.primitives.quantity import Flow, Power


def list_positions(plan: Plan) -> list[tuple[str, int]]:
    """All devices by rack unit; checks that none overlaps with another or exceeds its rack."""
    assert plan.layout
    found = []
    for rack in plan.layout.racks:
        used = sorted(
            (item.unit + index * item.height, item.unit + (index + 1) * item.height)
            for item in rack.items
            if item.unit
            for index in range(item.count)
        )
        assert all(low[1] <= high[0] for low, high in pairwise(used)), rack.name
        assert not used or (used[0][0] >= 1 and used[-1][1] <= rack.units + 1), rack.name
        found += [
            (item.group, item.first + index)
            for item in rack.items
            for index in range(item.count)
            if item.kind in ("node", "switch", "server")
        ]
    return found


# -- DGX H100, RA-11333-001 V11 ---------------------------------------------------------------------------------------


def build_h100(tmp_path: Path, **management: Any) -> Plan:
    """The four scalable units of Table 7. By rule: 32 racks of four. Declared: six racks of management, PDUs."""
    return build_hall(
        tmp_path,
        fabrics=[QM9700 | {"manager": {"links": 4}}],
        rack={"type": "eia-48u", "nodes": 4, "pdu": "raritan-px3-5878i2r", "pdus": 3},
        management={"pdu": "raritan-px3-5747v", "pdus": 2} | management,
        machines=[
            {"name": "ufm", "machine": "nvidia-ufm-appliance", "count": 4},
            {"name": "bcm", "machine": "management-server", "count": 4},
        ],
        power={"feeds": 3, "redundancy": "3N/2"},
        racks_per_row=8,
    )


def test_four_units_of_h100_need_38_racks(tmp_path: Path) -> None:
    plan = build_h100(tmp_path, racks=6)
    assert plan.facility and plan.layout and not plan.errors
    facility = build_document(plan).model_dump()["facility"]
    assert (facility["racks"], facility["network_racks"], len(plan.layout.racks)) == (32, 6, 38)
    assert facility["rack_groups"][0]["kw"] == 40.8 and facility["nodes_kw"] == 1295.4
    pdus = [item for rack in plan.layout.racks for item in rack.items if item.kind == "pdu"]
    assert {item.group: sum(one.count for one in pdus if one.group == item.group) for item in pdus} == {
        "raritan-px3-5878i2r": 96,
        "raritan-px3-5747v": 12,
    }
    assert len(list_positions(plan)) == len(set(list_positions(plan))) == 127 + 48 + 4 + 4
    assert plan.facility.racks[0].weight is not None and plan.facility.racks[0].weight.to("kg") == 521.8


@pytest.mark.slow
def test_management_racks_follow_from_rules(tmp_path: Path) -> None:
    """No denser than a rack of nodes, three hold 48 QM9700 and eight machines; with at most 16 in one, four."""
    assert build_document(build_h100(tmp_path)).model_dump()["facility"]["network_racks"] == 3
    assert build_document(build_h100(tmp_path, switches=16)).model_dump()["facility"]["network_racks"] == 4
    assert build_document(build_h100(tmp_path, power="16 kW")).model_dump()["facility"]["network_racks"] == 6


@pytest.mark.parametrize("nodes, kw", [(32, 326.4), (31, 316.2)])
def test_one_scalable_unit_of_h100_matches_the_reference(tmp_path: Path, nodes: int, kw: float) -> None:
    facility = build_document(build_hall(tmp_path, nodes=nodes, rack=DGX)).model_dump()["facility"]
    assert (facility["racks"], facility["nodes_kw"]) == (8, kw)


def test_three_feeds_survive_a_loss_and_two_do_not(tmp_path: Path) -> None:
    """4+2 supplies: one of three circuits may go, one of two may not."""
    assert not list_problems(build_h100(tmp_path), "power-supplies")
    (problem,) = list_problems(build_hall(tmp_path, rack=DGX, power={"redundancy": "2N"}), "power-supplies")
    assert (
        "distributed 3+3 over 2 feeds, 3 remain after the loss of one, 1 too few: 9.9 kW of 10.2 kW, 300 W short"
        in problem
    )


# -- DGX B200, RA-11334-001 V08 ---------------------------------------------------------------------------------------


def test_one_scalable_unit_of_b200_matches_the_reference(tmp_path: Path) -> None:
    plan = build_hall(
        tmp_path,
        "dgx-b200",
        32,
        rack={"type": "eia-52u", "nodes": 2},
        racks_per_row=8,
        power={"voltage": "380 V", "circuit": "32 A", "feeds": 2},
    )
    facility = build_document(plan).model_dump()["facility"]
    assert (facility["racks"], facility["nodes_kw"]) == (16, 457.6)
    assert facility["rack_groups"][0]["kw"] == 28.6 and not list_problems(plan, "power-circuit")
    assert plan.layout and len({rack.row for rack in plan.layout.racks if rack.kind == "compute"}) in (2, 3)
    assert plan.facility and plan.facility.cooling_plan and plan.facility.cooling_plan.airflow == Flow("1550 CFM") * 32
    (problem,) = list_problems(
        build_hall(tmp_path, "dgx-b200", 32, rack=DGX, power={"redundancy": "2N"}), "power-supplies"
    )
    assert "2 too few: 9.9 kW of 14.3 kW, 4.4 kW short" in problem


@pytest.mark.slow
def test_four_b200_fit_in_a_rack(tmp_path: Path) -> None:
    power = {"voltage": "415 V", "circuit": "60 A", "feeds": 2}
    plan = build_hall(tmp_path, "dgx-b200", 32, rack=DGX, power=power)
    assert build_document(plan).model_dump()["facility"]["rack_groups"][0]["kw"] == 57.2 and not list_problems(
        plan, "power-circuit"
    )
    (problem,) = list_problems(
        build_hall(tmp_path, "dgx-b200", 32, rack=DGX, power=power | {"redundancy": "2N"}), "power-circuit"
    )
    assert "draws 57.2 kW, 22.69" in problem and "the 1 circuit of 2 that remains after the loss of a feed" in problem


# -- GB200 NVL72, RA-11338-001 V01 ------------------------------------------------------------------------------------


def build_nvl72(tmp_path: Path, nodes: int = 144, machine: str = "dgx-gb200", **facility: Any) -> Plan:
    cooling = {"kind": "direct-liquid", "supply": "32 °C"} | facility.pop("cooling", {})
    return build_hall(tmp_path, machine, nodes, rack={"type": "eia-48u"}, cooling=cooling, **facility)


def test_one_scalable_unit_of_gb200_matches_the_reference(tmp_path: Path) -> None:
    plan = build_nvl72(tmp_path)
    assert plan.facility and plan.layout and plan.facility.cooling_plan and plan.facility.cooling_plan.loop
    group = plan.facility.racks[0]
    assert group.count == 8 and group.power == Power("132 kW") and group.shelves == 8
    assert plan.facility.node_power == Power("1056 kW")
    assert plan.facility.node_power <= plan.facility.it_power <= Power("1200 kW"), (
        "NVIDIA prints 1200 kW, Ethernet included"
    )
    assert (round(group.heat.liquid.to("kW")), round(group.heat.air.to("kW"))) == (115, 17)
    loop = plan.facility.cooling_plan.loop
    assert loop.flow is not None and loop.flow.to("L/min") / loop.heat.to("kW") == pytest.approx(1.5)
    rack = plan.layout.racks[0]
    assert rack.units == 48 and {
        item.kind: sum(one.count for one in rack.items if one.kind == item.kind) for item in rack.items
    } == {"node": 18, "nvlink-switch": 9, "power-shelf": 8, "management-switch": 2}
    assert len(list_positions(plan)) == 144 + sum(tier.count for tier in plan.fabrics[0].tiers)


def test_128_racks_of_gb200_have_9216_accelerators(tmp_path: Path) -> None:
    plan = build_nvl72(tmp_path, 128 * 18)
    assert plan.accelerators == 9216 and plan.facility and plan.facility.node_racks == 128


def test_half_of_the_power_shelves_supply_a_gb200_rack_but_not_a_gb300_rack(tmp_path: Path) -> None:
    assert not list_problems(build_nvl72(tmp_path, power={"redundancy": "2N"}), "power-supplies")
    plan = build_nvl72(
        tmp_path,
        machine="dgx-gb300",
        power={"redundancy": "2N"},
        pools=[{"name": "train", "machine": "dgx-gb300", "nodes": 144}],
        fabrics=[],
    )
    (problem,) = list_problems(plan, "power-supplies")
    assert "4 of 8 shelves remain with 132 kW, 10 kW short" in problem
    assert "dgx-gb300" in list_problems(plan, "cooling-liquid-share-unknown")[0]


def test_a_gb300_rack_draws_the_published_power(tmp_path: Path) -> None:
    """142 kW a rack: the managed budget of its trays, 18 x 7.5 kW, leaves out switches, shelves and fans."""
    plan = build_hall(
        tmp_path,
        rack={"type": "eia-48u"},
        cooling={"kind": "direct-liquid"},
        fabrics=[],
        pools=[{"name": "train", "machine": "dgx-gb300", "nodes": 18 * 8}],
    )
    assert plan.facility and plan.layout and plan.facility.node_power == Power("1136 kW") == plan.facility.it_power
    assert {rack.power for rack in plan.layout.racks} == {Power("142 kW")} == {plan.facility.racks[0].power}


def test_zones_of_the_layout_match_the_cooling_units(tmp_path: Path) -> None:
    """Eight racks in zones of five: five and three, not four and four."""
    plan = build_nvl72(tmp_path, cooling={"cdu": "coolit-chx2000", "zone": 5})
    assert plan.layout and plan.facility and plan.facility.cooling_plan and plan.facility.cooling_plan.loop
    assert [rack.zone for rack in plan.layout.racks if rack.kind == "compute"] == [0] * 5 + [1] * 3
    heats = [round(heat.to("kW"), 2) for heat in plan.facility.cooling_plan.loop.zone_heats]
    assert heats == [round(5 * 114.84, 2), round(3 * 114.84, 2)]


def test_a_leaf_is_in_the_rack_of_its_nodes_only_within_the_power_limit(tmp_path: Path) -> None:
    """Two H100 and an SN5610 draw 22.48 kW: in a rack of 21 kW the leaves are in separate racks."""
    clos = [{"name": "compute", "kind": "roce", "shape": "clos", "switch": "nvidia-sn5610", "su": 2, "leaf_up": 16}]
    for limit, top in (("22.5 kW", ("compute",)), ("21 kW", ())):
        plan = build_hall(tmp_path, nodes=8, fabrics=clos, rack={"type": "eia-48u", "nodes": 2, "power": limit})
        group = plan.facility.racks[0] if plan.facility else None
        assert group and group.power_limit and group.power <= group.power_limit and group.leaf_fabrics == top, (
            plan.findings
        )


def test_twelve_racks_share_distribution_units(tmp_path: Path) -> None:
    """CoolIT draws one CHx2000 on twelve racks; with one to spare, that makes two."""
    plan = build_nvl72(tmp_path, 12 * 18, cooling={"cdu": "coolit-chx2000"})
    assert plan.facility and plan.facility.cooling_plan and plan.facility.cooling_plan.loop and plan.layout
    assert plan.facility.cooling_plan.loop.zone_cdus == ((1, 1),)
    assert [rack.kind for rack in plan.layout.racks].count("service") == 2
    zones = build_nvl72(tmp_path, 24 * 18, cooling={"cdu": "coolit-chx2000", "zone": 12})
    assert zones.facility and zones.facility.cooling_plan and zones.facility.cooling_plan.loop
    assert zones.facility.cooling_plan.loop.zone_cdus == ((1, 1), (1, 1))
    assert zones.layout and [rack.zone for rack in zones.layout.racks if rack.kind == "compute"] == [0] * 12 + [1] * 12


# -- Meta, arXiv 2407.21783 -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_roce_example_matches_the_cluster_of_meta() -> None:
    from samples import ROOT

    from supercloud.plan.resolve import resolve
    from supercloud.spec.loader import load

    plan = resolve(load(ROOT / "examples" / "04-roce-24k" / "cluster.yaml"))
    assert plan.facility and plan.layout and plan.accelerators == 24_576
    assert plan.facility.node_racks == 1536 == 8 * 192
    rack = plan.layout.racks[0]
    assert [(item.kind, item.count) for item in rack.items] == [("node", 2), ("switch", 1)], "a leaf in each rack"
    assert plan.facility.racks[0].power == Power("20.4 kW"), "that of its switch is not known"
    places = list_positions(plan)
    assert len(places) == len(set(places)) == 3072 + 1536 + 72 + 9


# -- the shape of any hall --------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    machine=st.sampled_from(
        ["dgx-h100", "dgx-b200", "dgx-gb200", "dgx-gb300", "mi300x-8gpu", "mi355x-8gpu", "gaudi3-8"]
    ),
    nodes=st.integers(1, 300),
    each=st.integers(1, 4),
    kind=st.sampled_from(["air", "rear-door", "direct-liquid", "immersion"]),
    zone=st.none() | st.integers(1, 40),
    own=st.sampled_from([None, "air", "rear-door", "direct-liquid", "immersion"]),
    ups=st.sampled_from([None, "eco", "double-conversion"]),
    shelf=st.sampled_from([None, "delta-orv3-18kw"]),
)
def test_any_hall_is_consistent(
    tmp_path: Path,
    machine: str,
    nodes: int,
    each: int,
    kind: str,
    zone: int | None,
    own: str | None,
    ups: str | None,
    shelf: str | None,
) -> None:
    plan = build_hall(
        tmp_path,
        machine,
        nodes,
        fabrics=[QM9700],
        rack={"type": "orv3-48u" if shelf else "eia-52u", "nodes": each, "cooling": own},
        power={"ups": ups, "shelf": shelf},
        cooling={"kind": kind, "cdu": "nvidia-qualified", "zone": zone},
        machines=[{"name": "ufm", "machine": "nvidia-ufm-appliance", "count": 3}],
    )
    facility = plan.facility
    assert facility and facility.cooling_plan and facility.power_plan
    assert (
        facility.cooling_plan.heat.total
        == facility.it_power
        == facility.node_power + facility.switch_power + facility.server_power
    )
    assert facility.power_plan.meter_power == facility.it_power + facility.power_plan.total_loss
    if plan.layout:
        assert sum(rack.power.base for rack in plan.layout.racks if rack.kind != "service") == facility.it_power.base
        places = list_positions(plan)
        boxes = sum(tier.count for fabric in plan.fabrics for tier in fabric.tiers)
        assert len(places) == len(set(places)) == nodes + boxes + 3
        assert sum(plan.layout.compute_row_power(), Power(0, "W")) == sum(
            (rack.power for rack in plan.layout.racks), Power(0, "W")
        )
    loop = facility.cooling_plan.loop
    if loop and loop.zone_cdus and loop.cdu and loop.cdu.capacity:
        assert sum(needed for needed, _ in loop.zone_cdus) * loop.cdu.capacity.base >= loop.heat.base
        assert sum(heat.base for heat in loop.zone_heats) >= loop.heat.base


def test_a_price_or_carbon_intensity_of_zero_is_known(tmp_path: Path) -> None:
    facility = build_document(build_hall(tmp_path, energy={"price": "0 USD/kWh", "carbon": "0 gCO2e/kWh"})).facility
    assert facility is not None
    assert (facility.cost_usd_year, facility.carbon_t_year) == (0, 0)
