"""Cooling of a hall: classes of air and water, weather, PUE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from halls import DGX, LIQUID, build_hall, list_problems

from supercloud.primitives.quantity import CarbonIntensity
from supercloud.targets.site.bom.items import build_items


def test_the_declared_water_class_is_checked(tmp_path: Path) -> None:
    """The supply limit of a GB300 is not in the catalog: this is reported, or the declared class is checked."""
    liquid: dict[str, Any] = {"rack": {"type": "eia-48u"}, "cooling": LIQUID | {"supply": "46 °C"}}
    pools = [{"name": "train", "machine": "dgx-gb300", "nodes": 36}]
    plan = build_hall(tmp_path, pools=pools, fabrics=[], **liquid)
    assert "46 °C is not checked" in list_problems(plan, "cooling-class-unknown")[0] and not list_problems(
        plan, "cooling-supply"
    )
    liquid["cooling"] |= {"water_class": "w45"}
    plan = build_hall(tmp_path, pools=pools, fabrics=[], **liquid)
    assert list_problems(plan, "cooling-supply") == ["46 °C is 1 K above what class W45 allows (45 °C)"]
    assert not list_problems(plan, "cooling-class-unknown")


def test_equipment_without_cold_plates_stays_within_air_cooling(tmp_path: Path) -> None:
    """Switches of an NVL72 hall are cooled by air: 44 of them fill no rack of 76 kW, but two of 50 at most."""
    plan = build_hall(tmp_path, "dgx-gb200", 72, rack={"type": "eia-48u"}, cooling=LIQUID)
    assert plan.facility
    (network,) = (group for group in plan.facility.racks if group.kind == "network")
    assert network.heat.liquid.base == 0 and network.power.to("kW") <= 50
    assert not list_problems(plan, "cooling-density") and not list_problems(plan, "cooling-residual-air")
    pools = [{"name": "train", "machine": "dgx-b200", "nodes": 8}]
    plan = build_hall(tmp_path, pools=pools, fabrics=[], rack=DGX, cooling={"kind": "direct-liquid"})
    assert "releases 57.2 kW to the air, 7.2 kW over the 50 kW" in list_problems(plan, "cooling-residual-air")[0]


def test_racks_of_one_hall_can_have_different_cooling(tmp_path: Path) -> None:
    """By hand: 16 DGX B200 through doors, 36 trays of GB200 at 0.87 in the liquid, 5 H100 in the air of the room."""
    eia = {"type": "eia-48u"}
    pools = [
        {"name": "doors", "machine": "dgx-b200", "nodes": 16, "rack": eia | {"nodes": 2, "cooling": "rear-door"}},
        {"name": "plates", "machine": "dgx-gb200", "nodes": 36},
        {"name": "room", "machine": "dgx-h100", "nodes": 5, "rack": eia | {"nodes": 4, "cooling": "air"}},
    ]
    plan = build_hall(tmp_path, pools=pools, fabrics=[], rack=eia, cooling=LIQUID | {"supply": "30 °C"})
    assert plan.facility and plan.facility.cooling_plan and not list_problems(plan, "cooling-method"), plan.findings
    heat = plan.facility.cooling_plan.heat
    assert (heat.door.to("kW"), heat.liquid.to("kW")) == (16 * 14.3, pytest.approx(264 * 0.87))
    assert heat.air.to("kW") == pytest.approx(264 * 0.13 + 51) and heat.total == plan.facility.it_power
    assert [group.cooling for group in plan.facility.racks] == ["rear-door", "direct-liquid", "air"]
    # without its own cooling the hint is to declare it for the pool, not to change the hall of the others
    both = [pools[1], {"name": "b", "machine": "dgx-b200", "nodes": 2}]
    plan = build_hall(tmp_path, pools=both, fabrics=[], rack=eia, cooling=LIQUID)
    (finding,) = (item for item in plan.findings if item.check == "cooling-method")
    assert finding.level == "warning" and "set pools[1].rack.cooling: air" in finding.hint


def write_weather(folder: Path, hot: int) -> str:
    (folder / "year.csv").write_text("hour,dry_bulb\n" + "".join(f"{h},{30 if h < hot else 5}\n" for h in range(8760)))
    return "year.csv"


def test_free_cooling_hours_pue_and_carbon_follow_the_weather(tmp_path: Path) -> None:
    """By hand: 20 °C is the limit (32 less 4 K of the unit and 8 K of the dry cooler); 1000 hours are hotter."""
    (tmp_path / "carbon.csv").write_text(
        "hour,carbon\n" + "".join(f"{h},{100 if h % 24 < 12 else 300}\n" for h in range(48))
    )
    plan = build_hall(
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
            "weather": write_weather(tmp_path, 1000),
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
    assert not list_problems(plan, "cooling-weather")


def test_hot_hours_without_a_chiller_are_reported(tmp_path: Path) -> None:
    cooling = LIQUID | {"cdu": "nvidia-qualified", "rejection": "dry-cooler", "weather": write_weather(tmp_path, 12)}
    (problem,) = list_problems(
        build_hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=cooling), "cooling-weather"
    )
    assert "in 12 of 8760 hours the outdoor temperature is above 20 °C" in problem


@pytest.mark.slow
def test_an_unknown_outdoor_limit_is_reported(tmp_path: Path) -> None:
    cooling = LIQUID | {"cdu": "coolit-chx2000", "rejection": "dry-cooler", "weather": write_weather(tmp_path, 12)}
    plan = build_hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=cooling)
    (problem,) = list_problems(plan, "cooling-limit-unknown")
    assert problem.startswith("unknown approach of coolit-chx2000: the maximum outdoor temperature for a dry-")
    assert problem.endswith("cooler cannot be computed, nor the hours of free cooling")
    del cooling["supply"]
    (problem,) = list_problems(
        build_hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=cooling), "cooling-limit-unknown"
    )
    assert "unknown temperature of the supply" in problem
    known = cooling | {"supply": "32 °C", "cdu": "nvidia-qualified"}
    assert not list_problems(
        build_hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=known), "cooling-limit-unknown"
    )


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("none.csv", None, "file not found"),
        ("bad.csv", "a,b\n1,2\n", "dry_bulb"),
        ("torn.csv", "dry_bulb\n1\nx\n", "line 3"),
    ],
)
def test_unreadable_weather_is_an_error(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    plan = build_hall(tmp_path, cooling={"weather": name, "rejection": "dry-cooler", "supply": "25 °C"})
    (problem,) = list_problems(plan, "facility-file")
    assert message in problem


def test_a_cooling_tower_needs_wet_bulb_temperatures_and_water(tmp_path: Path) -> None:
    cooling = LIQUID | {"cdu": "nvidia-qualified", "rejection": "tower", "weather": write_weather(tmp_path, 12)}
    plan = build_hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=cooling)
    assert "wet_bulb" in list_problems(plan, "facility-file")[0]
    assert plan.facility and plan.facility.cooling_plan and plan.facility.cooling_plan.wue == pytest.approx(1.875)


def test_coolant_distribution_units_are_ordered_or_reported_as_unknown(tmp_path: Path) -> None:
    pools = [{"name": "train", "machine": "dgx-gb300", "nodes": 36}]
    cooling = LIQUID | {"supply": "30 °C"}
    without, ordered = (
        build_hall(tmp_path, pools=pools, fabrics=[], rack={"type": "eia-48u"}, cooling=cooling | more)
        for more in ({}, {"cdu": "coolit-chx2000", "cdu_spares": 1})
    )
    assert "their number is not planned" in list_problems(without, "cooling-cdu-unknown")[0]
    assert not list_problems(ordered, "cooling-cdu-unknown")
    units = [[item for item in build_items(plan) if item.section == "cooling"] for plan in (without, ordered)]
    loop = ordered.facility.cooling_plan.loop if ordered.facility and ordered.facility.cooling_plan else None
    assert loop and units[0] == [] and [(item.product, item.spares) for item in units[1]] == [("coolit-chx2000", 1)]
    assert units[1][0].count == sum(needed for needed, _ in loop.zone_cdus) > 0
