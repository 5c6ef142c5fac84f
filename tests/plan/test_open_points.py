"""What a plan leaves open names the fields that close it: with all of them set, nothing is open any more."""

from __future__ import annotations

from typing import Any

import pytest
from plan.test_resolve import plan_spec

from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.open_points import describe_open_points

FABRIC = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}
IN_RACK: dict[str, Any] = {"type": "orv3-48u"}
VALUES: dict[str, Any] = {
    "facility.rack": {"type": "eia-48u"},
    "facility.rack with its type and nodes": {"type": "eia-48u", "nodes": 4},
    "facility.rack.nodes": 4,
    "facility.management.type": "eia-48u",
    "pools[0].rack.nodes": 4,
}


def build_plan(machine: str, facility: dict[str, Any], own: dict[str, Any] | None = None) -> Plan:
    pool: dict[str, Any] = {"name": "train", "machine": machine, "nodes": 64, "fabrics": ["compute"]}
    return plan_spec(pools=[pool | ({"rack": own} if own else {})], fabrics=[FABRIC], facility=facility)


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["mi355x-8gpu", "dgx-b300"])
@pytest.mark.parametrize("own", [None, IN_RACK])
@pytest.mark.parametrize(
    "facility",
    [
        {"cooling": {"kind": "air"}},
        {"rack": IN_RACK},
        {"rack": IN_RACK, "management": {"type": "eia-48u"}},
        {"management": {"type": "eia-48u"}},
    ],
)
def test_open_points_are_closed_by_the_fields_that_they_name(
    machine: str, own: dict[str, Any] | None, facility: dict[str, Any]
) -> None:
    text = describe_open_points(build_plan(machine, facility, own))
    if not text:
        return
    own = dict(own) if own else None
    facility = {key: dict(value) for key, value in facility.items()}
    for field in text.split(": set ")[1].split(" and facility"):
        name = field if field in VALUES else f"facility{field}"
        *way, last = name.split(" ")[0].removeprefix("facility.").split(".")
        if name.startswith("pools"):
            assert own is not None
            own["nodes"] = VALUES[name]
        elif way:
            facility.setdefault(way[0], {})[last] = VALUES[name]
        else:
            facility[last] = VALUES[name]
    assert describe_open_points(build_plan(machine, facility, own)) == "", text


def test_nodes_of_unknown_size_need_a_number_per_rack() -> None:
    assert describe_open_points(build_plan("mi355x-8gpu", {"rack": IN_RACK})).endswith(": set facility.rack.nodes")


def test_open_points_have_the_plural_of_each_device() -> None:
    text = describe_open_points(build_plan("dgx-b300", {"cooling": {"kind": "air"}}))
    assert text.startswith("64 nodes and 24 switches in no rack")
