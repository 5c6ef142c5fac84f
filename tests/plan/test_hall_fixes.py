"""A finding has a fix: with the suggested values in the spec the finding is gone."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from supercloud.errors import Finding
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads

pytestmark = pytest.mark.slow

_SETTING = re.compile(r"set ([a-z_.\[\]0-9]+): (\{[^}]*\}|[^,;)]+?)(?= at most| or more| with |\)|, |; |$)")
_SAID = {
    "facility.power.feed": re.compile(r"set a capacity of ([\d.]+ \w+)"),
    "facility.power.circuit": re.compile(r"breakers of at least (\d+ A)"),
    "facility.cooling.supply": re.compile(r"supply at (?:most|least) ([-\d.]+ °C)"),
    "facility.cooling.flow": re.compile(r"provide ([\d.]+ L/min)"),
    "facility.power.row": re.compile(r"raise the limit of a row to ([\d.]+ \w+)"),
    "facility.power.swing_limit": re.compile(r"steps of ([\d.]+ \w+)"),
}
H100 = [{"name": "train", "machine": "dgx-h100", "nodes": 32, "fabrics": ["compute"]}]
B200 = [{"name": "train", "machine": "dgx-b200", "nodes": 16, "fabrics": ["compute"]}]
GB200 = [{"name": "train", "machine": "dgx-gb200", "nodes": 144, "fabrics": ["compute"]}]
WET = {"rack": {"type": "eia-48u"}}


def build_hall(pools: list[dict[str, Any]] = H100, **facility: Any) -> dict[str, Any]:
    return {
        "name": "t",
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": pools,
        "fabrics": [{"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}],
        "facility": {"rack": {"type": "eia-48u", "nodes": 4}} | facility,
    }


def list_findings(data: dict[str, Any]) -> tuple[Finding, ...]:
    return resolve(loads(yaml.safe_dump(data))).findings


def set_value(data: Any, path: str, value: Any) -> None:
    *parts, last = re.findall(r"[^.\[\]]+", path)
    for part in parts:
        data = data[int(part)] if isinstance(data, list) else data.setdefault(part, {})
    if isinstance(value, dict):
        data.setdefault(last, {}).update(value)
    else:
        data[last] = value


def list_fixes(finding: Finding) -> list[tuple[str, Any]]:
    """Every way out that a hint names with a value."""
    parent = finding.path.rpartition(".")[0]
    found = [
        (key if key.startswith(("facility", "pools")) else f"{parent}.{key}", yaml.safe_load(value))
        for key, value in _SETTING.findall(finding.hint)
    ]
    return found + [
        (path, match[1])
        for path, form in _SAID.items()
        if finding.path == path and (match := form.search(finding.hint))
    ]


CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "too many nodes": ("rack-fit", 1, build_hall(rack={"type": "eia-42u", "nodes": 6})),
    "too much power": ("rack-fit", 1, build_hall(rack={"type": "eia-48u", "nodes": 4, "power": "30 kW"})),
    "a pool's own rack": ("rack-fit", 1, build_hall([H100[0] | {"rack": {"type": "eia-42u", "nodes": 6}}])),
    "too heavy for the floor": ("rack-floor-load", 1, build_hall(floor_load="400 kg")),
    "a pool's rack on the floor": (
        "rack-floor-load",
        1,
        build_hall([H100[0] | {"rack": {"type": "eia-48u", "nodes": 4}}], floor_load="400 kg"),
    ),
    "racks of switches": ("rack-fit", 1, build_hall([H100[0] | {"nodes": 127}], management={"racks": 1})),
    "208 V": ("power-circuit", 2, build_hall(power={"voltage": "208 V", "circuit": "60 A"})),
    "400 V, two feeds": (
        "power-circuit",
        2,
        build_hall(power={"voltage": "400 V", "circuit": "32 A", "feeds": 2, "redundancy": "2N"}),
    ),
    "480 V": ("power-circuit", 2, build_hall(power={"voltage": "480 V", "circuit": "30 A"})),
    "one unit on one of two feeds": (
        "power-circuit",
        1,
        build_hall(
            rack={"type": "eia-48u", "nodes": 4, "pdu": "raritan-px3-5878i2r", "pdus": 1},
            power={"voltage": "400 V", "circuit": "32 A", "feeds": 2, "redundancy": "2N"},
        ),
    ),
    "a pool's own units": (
        "power-circuit",
        2,
        build_hall(
            [H100[0] | {"rack": {"type": "eia-48u", "nodes": 4, "pdu": "raritan-px3-5878i2r", "pdus": 1}}],
            power={"voltage": "415 V", "circuit": "32 A"},
        ),
    ),
    "a feed, N": ("feed-loss", 1, build_hall(power={"feeds": 1, "feed": "250 kW"})),
    "a feed, N+1": ("feed-loss", 1, build_hall(power={"feeds": 3, "redundancy": "N+1", "feed": "150 kW"})),
    "a feed, 2N": ("feed-loss", 1, build_hall(power={"feeds": 4, "redundancy": "2N", "feed": "150 kW"})),
    "a feed, 3N/2": ("feed-loss", 1, build_hall(power={"feeds": 3, "redundancy": "3N/2", "feed": "150 kW"})),
    "3N/2 of two": ("feed-count", 1, build_hall(power={"feeds": 2, "redundancy": "3N/2"})),
    "2N of three": ("feed-count", 1, build_hall(power={"feeds": 3, "redundancy": "2N"})),
    "supplies of a DGX H100": ("power-supplies", 1, build_hall(power={"feeds": 2, "redundancy": "2N"})),
    "the same, N+1": ("power-supplies", 1, build_hall(power={"feeds": 2, "redundancy": "N+1"})),
    "supplies of a DGX B200": (
        "power-supplies",
        1,
        build_hall(B200, rack={"type": "eia-48u", "nodes": 2}, power={"feeds": 2, "redundancy": "2N"}),
    ),
    "a row": ("row-limit", 2, build_hall(power={"row": "200 kW"}, racks_per_row=8)),
    "the hall": ("power-budget", 1, build_hall(power={"budget": "300 kW"})),
    "swings": ("power-swing", 1, build_hall(power={"swing": 0.6, "swing_limit": "100 kW"})),
    "sun": (
        "energy-source",
        1,
        build_hall(energy={"sources": [{"name": "sun", "kind": "on-site", "share": 0.5, "power": "100 kW"}]}),
    ),
    "wind": (
        "energy-source",
        1,
        build_hall(
            energy={
                "sources": [
                    {"name": "wind", "kind": "contract", "share": 0.9, "power": "200 kW", "capacity_factor": 0.31}
                ]
            }
        ),
    ),
    "warm water": ("cooling-supply", 1, build_hall(GB200, cooling={"kind": "direct-liquid", "supply": "45 °C"}, **WET)),
    "cold water": ("cooling-supply", 1, build_hall(GB200, cooling={"kind": "direct-liquid", "supply": "1 °C"}, **WET)),
    "too little water": (
        "cooling-flow",
        1,
        build_hall(GB200, cooling={"kind": "direct-liquid", "supply": "30 °C", "flow": "500 L/min"}, **WET),
    ),
    "too few distribution units": (
        "cooling-cdu",
        1,
        build_hall(GB200, cooling={"kind": "direct-liquid", "supply": "30 °C", "cdu": "ashrae-750", "cdus": 1}, **WET),
    ),
    "dense racks": ("cooling-density", 1, build_hall(rack={"type": "eia-48u", "nodes": 5})),
    "made for air": ("cooling-method", 1, build_hall(cooling={"kind": "immersion"})),
    "made for liquid": ("cooling-method", 1, build_hall(GB200, cooling={"kind": "air"}, **WET)),
}


@pytest.mark.parametrize("case", CASES)
def test_each_hint_removes_its_finding(case: str) -> None:
    check, ways, data = CASES[case]
    findings = [finding for finding in list_findings(data) if finding.check == check]
    assert len(findings) == 1, findings
    named = list_fixes(findings[0])
    assert len(named) == ways, (findings[0].hint, named)
    for path, value in named:
        fixed = copy.deepcopy(data)
        set_value(fixed, path, value)
        left = [
            finding for finding in list_findings(fixed) if finding.check == check and finding.path == findings[0].path
        ]
        assert not left, (path, value, left)


@pytest.mark.exhaustive
@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 8),
    st.integers(150, 700),
    st.sampled_from(["208 V", "400 V", "415 V", "480 V"]),
    st.integers(16, 63),
    st.sampled_from([(1, "N"), (3, "N+1"), (2, "2N"), (3, "3N/2"), (4, "2N")]),
    st.integers(20, 300),
)
def test_hints_fix_any_hall(
    nodes: int, floor: int, voltage: str, current: int, feeds: tuple[int, str], feed: int
) -> None:
    """All together, first error first, until there is none: no fix leads back to the same finding."""
    data = build_hall(
        rack={"type": "eia-48u", "nodes": nodes},
        floor_load=f"{floor} kg",
        power={
            "voltage": voltage,
            "circuit": f"{current} A",
            "feeds": feeds[0],
            "redundancy": feeds[1],
            "feed": f"{feed} kW",
        },
    )
    seen: list[tuple[str, str]] = []
    for _ in range(8):
        wrong = [finding for finding in list_findings(data) if finding.level == "error" and list_fixes(finding)]
        if not wrong:
            return
        assert (wrong[0].path, wrong[0].problem) not in seen, wrong[0]
        seen.append((wrong[0].path, wrong[0].problem))
        set_value(data, *list_fixes(wrong[0])[0])
    raise AssertionError(seen)


def test_unused_power_shelves_are_reported() -> None:
    data = build_hall(rack={"type": "orv3-44ou", "nodes": 4}, power={"shelf": "delta-orv3-18kw"})
    (found,) = (finding for finding in list_findings(data) if finding.check == "power-shelf-unused")
    assert found.problem == "no rack uses a delta-orv3-18kw: dgx-h100 has its own power supplies"
    bus = [{"name": "train", "machine": "gaudi3-8", "nodes": 8}]  # its power supplies have no source
    for rack, wrong in (("orv3-44ou", False), ("eia-48u", True)):
        data = build_hall(bus, rack={"type": rack, "nodes": 2}, power={"shelf": "delta-orv3-18kw"}) | {"fabrics": []}
        assert any(finding.check == "power-shelf-unused" for finding in list_findings(data)) is wrong, rack


def test_a_budget_as_suggested_leaves_no_finding_on_the_budget() -> None:
    for budget in ("100 kW", "360 kW"):
        data = build_hall(power={"budget": budget})
        [finding] = [item for item in list_findings(data) if item.path == "facility.power.budget"]
        better = re.search(r"set budget: ([0-9.]+ kW) or more", finding.hint)
        assert better
        again = list_findings(build_hall(power={"budget": better[1]}))
        assert not [item for item in again if item.path == "facility.power.budget"]
