"""Bad halls: each finding has the number that is over, by how much, and what would cure it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from halls import QM9700, hall, of

from supercloud.plan.publish.document import build_document
from supercloud.primitives.quantity import CarbonIntensity

DGX = {"type": "eia-48u", "nodes": 4}
SHORT = "name: eia-42u\nmax_load: 400 kg\nmax_power: 30 kW\n"
LIQUID = {"kind": "direct-liquid", "supply": "32 °C"}

# name -> check, level, facility, what it says, what it advises
CASES: dict[str, tuple[str, str, dict[str, Any], str, str]] = {
    "too tall": (
        "rack-fit",
        "error",
        {"rack": {"type": "eia-42u", "nodes": 6}},
        "only 5 fit, limited by units: 48 units of 42, 6 over",
        "set nodes: 5",
    ),
    "too heavy": ("rack-fit", "error", {"rack": {"type": "orv3-44ou", "nodes": 11}}, "34.95 kg over", "set nodes: 5"),
    "not one": (
        "rack-fit",
        "error",
        {"rack": {"type": "eia-48u", "power": "9 kW"}},
        "10.2 kW of 9 kW, 1.2 kW over",
        "another rack",
    ),
    "few management racks": (
        "rack-fit",
        "error",
        {"rack": DGX, "management": {"racks": 2}},
        "3 are required, 1 more",
        "set racks: 3",
    ),
    "feed after a loss": (
        "feed-loss",
        "error",
        {"power": {"redundancy": "2N", "feed": "1 MW"}},
        "each carries 1.37796 MW, 377.96 kW over its 1 MW",
        "set a capacity of 1.37796 MW per feed",
    ),
    "feeds of a path": (
        "feed-loss",
        "error",
        {"power": {"redundancy": "2N", "feed": "500 kW", "feeds": 4}},
        "one of the 2 paths of 4 feeds each carries 688.98 kW, 188.98 kW over",
        "688.98 kW",
    ),
    "feed at once": ("feed-loss", "error", {"power": {"feed": "500 kW"}}, "188.98 kW over its 500 kW", "add feeds"),
    "feeds of the scheme": (
        "feed-count",
        "error",
        {"power": {"redundancy": "3N/2", "feeds": 4}},
        "a multiple of 3, 2 more",
        "set feeds: 6",
    ),
    "supplies": (
        "power-supplies",
        "warning",
        {"power": {"redundancy": "N+1", "feeds": 2}},
        "1 too few: 9.9 kW of 10.2 kW, 300 W short",
        "set facility.power.feeds: 3",
    ),
    "circuit": (
        "power-circuit",
        "error",
        {"rack": DGX, "power": {"voltage": "400 V", "circuit": "32 A", "feeds": 2}},
        "draws 40.8 kW, 5.32",
        "breakers of at least 37 A",
    ),
    "circuit after a loss": (
        "power-circuit",
        "error",
        {"rack": DGX | {"pdus": 2}, "power": {"voltage": "415 V", "circuit": "63 A", "redundancy": "2N"}},
        "draws 40.8 kW, 4.57",
        "breakers of at least 71 A",
    ),
    "row": (
        "row-limit",
        "error",
        {"rack": DGX, "power": {"row": "600 kW"}},
        "52.8 kW over its limit of 600 kW",
        "set facility.racks_per_row: 14, or raise the limit of a row to 652.8 kW",
    ),
    "swing": (
        "power-swing",
        "error",
        {"power": {"swing": 0.5, "swing_limit": "400 kW"}},
        "647.7 kW change simultaneously, 247.7 kW over",
        "smooth",
    ),
    "budget": ("power-budget", "error", {"power": {"budget": "1 MW"}}, "377.96 kW over", "set budget: 1.37796 MW"),
    "reach": ("rack-reach", "error", {"rack": DGX, "reach": "5 m", "racks_per_row": 4}, "over the reach of 5 m", "row"),
    "source": (
        "energy-source",
        "error",
        {"energy": {"sources": [{"name": "sun", "kind": "on-site", "share": 0.5, "power": "200 kW"}]}},
        "688.98 kW on average, 488.98 kW over",
        "set share: 0.14 ",
    ),
    "air": (
        "cooling-air-class",
        "error",
        {"cooling": {"supply": "30 °C", "air_class": "H1"}},
        "air of 30 °C is 5 K above what class H1 allows (25 °C)",
        "at most 25 °C",
    ),
    "cold air": (
        "cooling-air-class",
        "error",
        {"cooling": {"supply": "9 °C", "air_class": "a2"}},
        "1 K below",
        "10 °C",
    ),
    "supplies over two paths of four feeds": (
        "power-supplies",
        "warning",
        {"power": {"redundancy": "2N", "feeds": 4}},
        "distributed 3+3 over the 2 paths of 4 feeds, 3 remain after the loss of one, 1 too few",
        "set facility.power: {redundancy: 3N/2, feeds: 3}",
    ),
    "sun": (
        "energy-source",
        "error",
        {
            "energy": {
                "sources": [{"name": "sun", "kind": "on-site", "share": 0.5, "power": "1 MW", "capacity_factor": 0.12}]
            }
        },
        "688.98 kW on average, 568.98 kW over the 120 kW that 1 MW of sun provide",
        "set share: 0.087",
    ),
    "floor": (
        "rack-floor",
        "error",
        {"rack": {"type": "eia-42u"}, "floor": "400 kg"},
        "a rack of train weighs 521.8 kg, 121.8 kg over the floor limit of 400 kg",
        "set facility.rack.nodes: 3",
    ),
    "door": ("rack-door", "error", {"rack": {"type": "eia-42u"}, "door": "1.9 m"}, "1.991 m tall, 91 mm over", "lower"),
    "dense": (
        "cooling-density",
        "warning",
        {"rack": {"type": "eia-42u", "nodes": 5}},
        "draws 51 kW, 1 kW over the 50 kW",
        "rear-door",
    ),
    "class of water for air": (
        "cooling-air-class",
        "error",
        {"cooling": {"air_class": "W32"}},
        "a class of liquid",
        "one of A1",
    ),
    "no such class": ("cooling-air-class", "error", {"cooling": {"air_class": "a9"}}, "a9", "a1"),
}
WET: dict[str, tuple[str, str, dict[str, Any], str, str]] = {
    "warm": (
        "cooling-supply",
        "error",
        {"supply": "36 °C"},
        "36 °C is 4 K above what dgx-gb200 accepts (32 °C, class W32)",
        "supply at most 32 °C",
    ),
    "cold": ("cooling-supply", "error", {"supply": "1 °C"}, "1 °C is 1 K below every class", "at least 2 °C"),
    "hall short of flow": (
        "cooling-flow",
        "error",
        {"flow": "1000 L/min"},
        "L/min over the available 1000 L/min",
        "set a rise of 13.9 K",
    ),
    "rise too large": (
        "cooling-flow",
        "warning",
        {"step": "15 K"},
        "less than dgx-gb200 requires (1.5 L/min)",
        "10.1 K",
    ),
    "no way out": (
        "cooling-method",
        "error",
        {"kind": "air"},
        "its racks are cooled by air: 918.72 kW cannot be removed",
        "set facility.cooling.kind: direct-liquid",
    ),
    "no way out through doors": (
        "cooling-method",
        "error",
        {"kind": "rear-door"},
        "by rear-door: 918.72 kW",
        "direct-",
    ),
    "few units in zones of unlike size": (
        "cooling-cdu",
        "error",
        {"cdu": "nvidia-qualified", "cdus": 2, "zone": 6},
        "in zone 1: with 1 failed, 1 of 2 needed units remain (600 kW of 689.04 kW, 89.04 kW short",
        "set cdus: 3",
    ),
    "no rise": ("cooling-flow", "error", {"step": "0 K"}, "removes no heat", "10 K"),
    "few units": (
        "cooling-cdu",
        "error",
        {"cdu": "coolit-chx2000", "cdus": 1},
        "0 W of 918.72 kW, 918.72 kW short; 0 L/min of 1378.08 L/min",
        "set cdus: 2",
    ),
    "unit short of flow": (
        "cooling-cdu",
        "error",
        {"cdu": "nvidia-qualified", "cdus": 2, "step": "5 K"},
        "780 L/min of 2774.53 L/min, 1994.53 L/min short",
        "set cdus: 5",
    ),
    "unknown unit": ("unknown-name", "error", {"cdu": "coolit-chx200"}, "coolit-chx200", "coolit-chx2000"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_halls(tmp_path: Path, case: str) -> None:
    check, level, facility, said, advice = CASES[case]
    _expect(hall(tmp_path, **facility), check, level, said, advice)


@pytest.mark.parametrize("case", WET)
def test_bad_water(tmp_path: Path, case: str) -> None:
    check, level, cooling, said, advice = WET[case]
    plan = hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=LIQUID | cooling)
    if check == "unknown-name":
        finding = next(item for item in plan.findings if item.path == "facility.cooling.cdu")
        assert finding.level == level and said in finding.problem and advice in finding.hint
        return
    _expect(plan, check, level, said, advice)


def test_the_class_of_water_that_is_declared(tmp_path: Path) -> None:
    """The catalog does not say what a GB300 takes: it is said so, or checked against the class that is declared."""
    liquid: dict[str, Any] = {"rack": {"type": "eia-48u"}, "cooling": LIQUID | {"supply": "46 °C"}}
    pools = [{"name": "train", "machine": "dgx-gb300", "nodes": 36}]
    plan = hall(tmp_path, pools=pools, fabrics=[], **liquid)
    assert "46 °C is not checked" in of(plan, "cooling-class-unknown")[0] and not of(plan, "cooling-supply")
    liquid["cooling"] |= {"water_class": "w45"}
    plan = hall(tmp_path, pools=pools, fabrics=[], **liquid)
    assert of(plan, "cooling-supply") == ["46 °C is 1 K above what class W45 allows (45 °C)"]
    assert not of(plan, "cooling-class-unknown")


def test_what_has_no_cold_plates_stands_no_denser_than_air_takes(tmp_path: Path) -> None:
    """Switches of an NVL72 hall are cooled by air: 44 of them fill no rack of 76 kW, but two of 50 at most."""
    plan = hall(tmp_path, "dgx-gb200", 72, rack={"type": "eia-48u"}, cooling=LIQUID)
    assert plan.facility
    (network,) = (group for group in plan.facility.racks if group.kind == "network")
    assert network.heat.liquid.base == 0 and network.power.to("kW") <= 50 and not of(plan, "cooling-density")
    pools = [{"name": "train", "machine": "dgx-b200", "nodes": 8}]
    plan = hall(tmp_path, pools=pools, fabrics=[], rack=DGX, cooling={"kind": "direct-liquid"})
    assert "releases 57.2 kW to the air, 7.2 kW over the 50 kW" in of(plan, "cooling-density")[0]


def test_racks_of_one_hall_are_cooled_in_their_own_way(tmp_path: Path) -> None:
    """By hand: 16 DGX B200 through doors, 36 trays of GB200 at 0.87 in the liquid, 5 H100 in the air of the room."""
    eia = {"type": "eia-48u"}
    pools = [
        {"name": "doors", "machine": "dgx-b200", "nodes": 16, "rack": eia | {"nodes": 2, "cooling": "rear-door"}},
        {"name": "plates", "machine": "dgx-gb200", "nodes": 36},
        {"name": "room", "machine": "dgx-h100", "nodes": 5, "rack": eia | {"nodes": 4, "cooling": "air"}},
    ]
    plan = hall(tmp_path, pools=pools, fabrics=[], rack=eia, cooling=LIQUID | {"supply": "30 °C"})
    assert plan.facility and plan.facility.cooling_plan and not of(plan, "cooling-method"), plan.findings
    heat = plan.facility.cooling_plan.heat
    assert (heat.door.to("kW"), heat.liquid.to("kW")) == (16 * 14.3, pytest.approx(264 * 0.87))
    assert heat.air.to("kW") == pytest.approx(264 * 0.13 + 51) and heat.total == plan.facility.it_power
    assert [group.cooling for group in plan.facility.racks] == ["rear-door", "direct-liquid", "air"]
    # without a way of its own the pool is told where to say it, not to change the hall of the others
    both = [pools[1], {"name": "b", "machine": "dgx-b200", "nodes": 2}]
    plan = hall(tmp_path, pools=both, fabrics=[], rack=eia, cooling=LIQUID)
    (finding,) = (item for item in plan.findings if item.check == "cooling-method")
    assert finding.level == "warning" and "set pools[1].rack.cooling: air" in finding.hint


def _expect(plan: Any, check: str, level: str, said: str, advice: str) -> None:
    found = [item for item in plan.findings if item.check == check]
    assert found, [str(item) for item in plan.findings]
    assert any(item.level == level and said in item.problem and advice in item.hint for item in found), [
        (item.problem, item.hint) for item in found
    ]
    assert all(item.line for item in found)


def test_a_good_hall_says_nothing(tmp_path: Path) -> None:
    plan = hall(
        tmp_path,
        rack=DGX | {"pdus": 3, "pdu": "raritan-px3-5878i2r"},
        reach="100 m",
        management={"pdu": "raritan-px3-5747v"},
        cooling={"kind": "rear-door", "supply": "20 °C"},
        power={
            "budget": "2 MW",
            "feeds": 3,
            "redundancy": "3N/2",
            "feed": "700 kW",
            "row": "1 MW",
            "voltage": "415 V",
            "circuit": "60 A",
            "swing": 0.5,
            "swing_limit": "1 MW",
        },
    )
    mine = [item for item in plan.findings if item.path.startswith("facility")]
    assert not mine, [str(item) for item in mine]


@pytest.mark.slow
def test_leaves_stand_among_the_racks_they_serve_where_reach_asks_for_it(tmp_path: Path) -> None:
    facility: dict[str, Any] = {"nodes": 512, "rack": DGX, "racks_per_row": 16}
    assert of(hall(tmp_path, **facility, reach="40 m"), "rack-reach") == []
    middle = hall(tmp_path, **facility).layout
    spread = hall(tmp_path, **facility, reach="40 m").layout
    assert middle and spread and len(middle.racks) == len(spread.racks)

    def rows(layout: Any) -> int:
        return len({rack.row for rack in layout.racks if any(item.group == "compute/leaf" for item in rack.items)})

    assert rows(spread) > rows(middle)


def weather(folder: Path, hot: int) -> str:
    (folder / "year.csv").write_text("hour,dry_bulb\n" + "".join(f"{h},{30 if h < hot else 5}\n" for h in range(8760)))
    return "year.csv"


def test_free_hours_pue_and_carbon(tmp_path: Path) -> None:
    """By hand: 20 °C is the limit (32 less 4 K of the unit and 8 K of the dry cooler); 1000 hours are hotter."""
    (tmp_path / "carbon.csv").write_text(
        "hour,carbon\n" + "".join(f"{h},{100 if h % 24 < 12 else 300}\n" for h in range(48))
    )
    plan = hall(
        tmp_path,
        "dgx-gb200",
        144,
        rack={"type": "eia-48u"},
        location="iowa",
        power={"ups": "double-conversion", "distribution": 0.98},
        cooling=LIQUID
        | {
            "cdu": "nvidia-qualified",
            "rejection": "dry-cooler",
            "chiller": "chiller",
            "weather": weather(tmp_path, 1000),
            "fans": "20 kW",
        },
        energy={
            "carbon_hours": "carbon.csv",
            "sources": [{"name": "wind", "kind": "contract", "share": 0.75, "carbon": "11 gCO2e/kWh"}],
        },
    )
    facility = plan.facility
    assert facility and facility.cooling_plan and facility.power_plan and facility.energy_plan and not plan.errors
    it = facility.it_power.to("kW")
    assert facility.cooling_plan.outdoor_limit is not None and facility.cooling_plan.outdoor_limit.to("°C") == 20
    assert (facility.cooling_plan.free_hours, facility.cooling_plan.weather_hours) == (7760, 8760)
    losses = it / 0.98 / 0.95 - it
    chiller = it / 5.5 * 1000 / 8760
    assert (
        facility.cooling_plan.pue == pytest.approx((it + losses + 20 + chiller) / it)
        and facility.cooling_plan.pue_basis == "at least"
    )
    assert facility.cooling_plan.overhead.missing == ("pumps of the loop",)
    assert facility.energy_plan.carbon == CarbonIntensity(0.75 * 11 + 0.25 * 200, "gCO2e/kWh")
    assert facility.energy_plan.carbon_by_hour == (100.0,) * 12 + (300.0,) * 12
    assert (
        facility.cooling_plan.cue == pytest.approx(facility.cooling_plan.pue * 0.05825)
        and facility.cooling_plan.wue == 0
    )
    assert facility.energy_plan.sources[0].average_power.to("kW") == pytest.approx(
        it * facility.cooling_plan.pue * 0.75
    )
    assert not of(plan, "cooling-weather")


def test_hot_hours_without_a_chiller_are_said(tmp_path: Path) -> None:
    cooling = LIQUID | {"cdu": "nvidia-qualified", "rejection": "dry-cooler", "weather": weather(tmp_path, 12)}
    (said,) = of(hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=cooling), "cooling-weather")
    assert "in 12 of 8760 hours the outdoor temperature is above 20 °C" in said


@pytest.mark.slow
def test_a_limit_outdoors_that_is_not_known_is_said(tmp_path: Path) -> None:
    cooling = LIQUID | {"cdu": "coolit-chx2000", "rejection": "dry-cooler", "weather": weather(tmp_path, 12)}
    plan = hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=cooling)
    (said,) = of(plan, "cooling-limit-unknown")
    assert said.startswith("unknown approach of coolit-chx2000: the maximum outdoor temperature for a dry-")
    assert said.endswith("cooler cannot be computed, nor the hours of free cooling")
    del cooling["supply"]
    (said,) = of(hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=cooling), "cooling-limit-unknown")
    assert "unknown temperature of the supply" in said
    known = cooling | {"supply": "32 °C", "cdu": "nvidia-qualified"}
    assert not of(hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=known), "cooling-limit-unknown")


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("none.csv", None, "file not found"),
        ("bad.csv", "a,b\n1,2\n", "dry_bulb"),
        ("torn.csv", "dry_bulb\n1\nx\n", "line 3"),
    ],
)
def test_weather_that_cannot_be_read(tmp_path: Path, name: str, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    plan = hall(tmp_path, cooling={"weather": name, "rejection": "dry-cooler", "supply": "25 °C"})
    (problem,) = of(plan, "facility-file")
    assert said in problem


def test_a_tower_needs_wet_bulbs_and_drinks(tmp_path: Path) -> None:
    cooling = LIQUID | {"cdu": "nvidia-qualified", "rejection": "tower", "weather": weather(tmp_path, 12)}
    plan = hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=cooling)
    assert "wet_bulb" in of(plan, "facility-file")[0]
    assert plan.facility and plan.facility.cooling_plan and plan.facility.cooling_plan.wue == pytest.approx(1.875)


def test_shares_that_are_more_than_all(tmp_path: Path) -> None:
    sources = [{"name": name, "kind": "contract", "share": 0.6} for name in ("a", "b")]
    with pytest.raises(ValueError, match="add up to 1.2: the maximum is 1"):
        hall(tmp_path, energy={"sources": sources})


def test_power_shelves_take_units(tmp_path: Path) -> None:
    """Machines whose file names no supplies hang on the busbar of the rack, and its shelves stand at the top."""
    plan = hall(
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


def test_storage_and_service_machines_take_racks_and_power(tmp_path: Path) -> None:
    plan = hall(tmp_path, rack=DGX, machines=[{"name": "ufm", "machine": "nvidia-ufm-appliance", "count": 2}])
    data = build_document(plan).model_dump()["facility"]
    assert data["servers_kw"] == 1.378 and data["it_kw"] == round(1295.4 + 82.56 + 1.378, 3)


def test_unknown_things_are_said_not_guessed(tmp_path: Path) -> None:
    plan = hall(tmp_path, rack=DGX, machines=[{"name": "bcm", "machine": "management-server"}], fabrics=[QM9700])
    assert any("management-server" in text for text in of(plan, "power-unknown"))
    assert any("management-server" in text for text in of(plan, "rack-size-unknown"))
    assert plan.facility and plan.facility.cooling_plan and plan.facility.cooling_plan.pue is None
    assert plan.facility.cooling_plan.pue_basis == "unknown"


def test_circuits_end_the_filling_of_racks(tmp_path: Path) -> None:
    """415 V and 60 A carry 34.5 kW: five DGX A100 (32.5 kW) on each, with one of two circuits gone."""
    power = {"voltage": "415 V", "circuit": "60 A", "redundancy": "2N", "feeds": 2}
    plan = hall(tmp_path, "dgx-a100", 32, rack={"type": "eia-52u"}, power=power)
    assert plan.facility and plan.facility.racks[0].nodes_per_rack == 5
    assert plan.facility.racks[0].limited_by == "power" and not of(plan, "power-circuit")
    limit = plan.facility.racks[0].power_limit
    assert limit is not None and all(group.power <= limit for group in plan.facility.racks)
