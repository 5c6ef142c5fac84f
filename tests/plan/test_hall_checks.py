"""Bad halls: each finding has the number that is exceeded, by how much, and what would remove it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from halls import DGX, LIQUID, build_hall

# name -> check, level, facility, problem, hint
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
    "budget": (
        "power-budget",
        "error",
        {"power": {"budget": "1 MW"}},
        "377.96 kW over",
        "set budget: 1.54 MW or more, which leaves 10%",
    ),
    "reach": (
        "cable-length",
        "error",
        {"rack": DGX, "max_cable_length": "5 m", "racks_per_row": 4},
        "over the limit of 5 m",
        "row",
    ),
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
        "rack-floor-load",
        "error",
        {"rack": {"type": "eia-42u"}, "floor_load": "400 kg"},
        "a rack of train weighs 521.8 kg, 121.8 kg over the floor load of 400 kg",
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
        {"temperature_rise": "15 K"},
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
    "no rise": ("cooling-flow", "error", {"temperature_rise": "0 K"}, "removes no heat", "10 K"),
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
        {"cdu": "nvidia-qualified", "cdus": 2, "temperature_rise": "5 K"},
        "780 L/min of 2774.53 L/min, 1994.53 L/min short",
        "set cdus: 5",
    ),
    "unknown unit": ("unknown-name", "error", {"cdu": "coolit-chx200"}, "coolit-chx200", "coolit-chx2000"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_invalid_hall_has_its_finding(tmp_path: Path, case: str) -> None:
    check, level, facility, output, advice = CASES[case]
    _expect(build_hall(tmp_path, **facility), check, level, output, advice)


@pytest.mark.parametrize("case", WET)
def test_each_invalid_liquid_cooling_has_its_finding(tmp_path: Path, case: str) -> None:
    check, level, cooling, output, advice = WET[case]
    plan = build_hall(tmp_path, "dgx-gb200", 144, rack={"type": "eia-48u"}, cooling=LIQUID | cooling)
    if check == "unknown-name":
        finding = next(item for item in plan.findings if item.path == "facility.cooling.cdu")
        assert finding.level == level and output in finding.problem and advice in finding.hint
        return
    _expect(plan, check, level, output, advice)


def _expect(plan: Any, check: str, level: str, message: str, advice: str) -> None:
    found = [item for item in plan.findings if item.check == check]
    assert found, [str(item) for item in plan.findings]
    assert any(item.level == level and message in item.problem and advice in item.hint for item in found), [
        (item.problem, item.hint) for item in found
    ]
    assert all(item.line for item in found)


def test_a_valid_hall_has_no_findings(tmp_path: Path) -> None:
    plan = build_hall(
        tmp_path,
        rack=DGX | {"pdus": 3, "pdu": "raritan-px3-5878i2r"},
        max_cable_length="100 m",
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
