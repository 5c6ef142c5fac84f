"""A rack takes what it is made for: what is sold complete is ordered for nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec

from supercloud.catalog import Catalog, Rack
from supercloud.errors import Finding
from supercloud.plan.build.facility.node_racks import with_leaves
from supercloud.plan.build.facility.racking import get_switch_power
from supercloud.plan.model.plan import Plan
from supercloud.primitives.quantity import Mass, Power


def build_hall(machine: str, rack: dict[str, Any], nodes: int = 36, **more: Any) -> Plan:
    fabrics = {"fabrics": more.pop("fabrics")} if "fabrics" in more else {}
    facility = {"rack": rack, "cooling": {"kind": "direct-liquid"}} | more
    return plan_spec(pools=build_pools(machine, nodes), facility=facility, **fabrics)


def list_findings(plan: Plan, check: str) -> list[Finding]:
    return [finding for finding in plan.findings if finding.check == check]


def test_complete_racks_are_not_ordered_for_switches() -> None:
    plan = build_hall("dgx-gb200", {"type": "gb200-nvl72"}, floor_load="2000 kg")
    assert plan.facility and [(group.kind, group.count) for group in plan.facility.racks] == [("compute", 2)]
    assert not plan.errors
    (finding,) = list_findings(plan, "rack-unassigned")
    assert finding.path == "facility.management.type" and "eia-48u" in finding.hint
    fixed = build_hall("dgx-gb200", {"type": "gb200-nvl72"}, management={"type": "eia-48u"})
    assert fixed.facility and [group.kind for group in fixed.facility.racks] == ["compute", "network"]
    assert not list_findings(fixed, "rack-unassigned")


def test_a_complete_rack_accepts_no_other_machine() -> None:
    (finding,) = list_findings(build_hall("dgx-h100", {"type": "gb200-nvl72", "nodes": 4}), "rack-compatibility")
    assert finding.level == "error" and finding.hint == "use eia-42u or eia-48u or eia-52u"


@pytest.mark.parametrize(
    "machine, rack, words",
    [
        ("dgx-h100", "orv3-48u", "dgx-h100 is 19-inch equipment (EIA-310), an orv3-48u supports 21-inch equipment"),
        ("dgx-h100", "orv3-44ou", "dgx-h100 is fed by cords to its own power supplies, an orv3-44ou supports a busbar"),
        ("mi300x-8gpu", "orv3-48u", "mi300x-8gpu is fed by cords"),
        ("dgx-h100", "eia-48u", ""),
        ("mi325x-8gpu", "orv3-48u", ""),  # its feed has no source
    ],
)
def test_width_and_feed_are_compared(machine: str, rack: str, words: str) -> None:
    plan = build_hall(machine, {"type": rack, "nodes": 2}, management={"type": "eia-48u"})
    found = list_findings(plan, "rack-compatibility")
    assert [finding.level for finding in found] == ["warning"] * bool(words)
    assert all(finding.problem.startswith(words) for finding in found)


@pytest.mark.parametrize(
    "rack, management, paths",
    [
        ("orv3-48u", "orv3-44ou", ["facility.rack.type", "facility.management.type"]),
        ("orv3-48u", "eia-48u", ["facility.rack.type"]),
        ("eia-48u", "eia-48u", []),  # usual ones
    ],
)
def test_unknown_compatibility_with_an_unusual_rack_is_a_note(rack: str, management: str, paths: list[str]) -> None:
    """Neither the feed of the machine nor that of the switch is in the catalog."""
    switch = [{"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}]
    plan = build_hall(
        "mi325x-8gpu", {"type": rack, "nodes": 2}, nodes=8, management={"type": management}, fabrics=switch
    )
    found = list_findings(plan, "rack-compatibility-unknown")
    assert [(item.level, item.path) for item in found] == [("note", path) for path in paths]
    for item, name in zip(found, ("mi325x-8gpu", "nvidia-sn5600"), strict=False):
        assert item.problem.startswith(f"unknown mounting or feed of {name}")


@pytest.mark.slow
def test_switches_servers_and_service_machines_are_compared_too() -> None:
    """They go into the rack of the management, else into that of the nodes. What is advised takes all of them."""
    store = {
        "name": "home",
        "kind": "nfs",
        "capacity": "1 TiB",
        "mount": "/home",
        "servers": {"machine": "dgx-a100", "count": 1},
    }
    nodes = [build_pools("dgx-h100", 8)[0] | {"rack": {"type": "eia-48u"}}]
    machines = [{"name": "mgmt", "machine": "dgx-b200", "count": 1}]
    plan = plan_spec(pools=nodes, storage=[store], facility={"rack": {"type": "orv3-48u"}, "machines": machines})
    found = list_findings(plan, "rack-compatibility")
    assert [(item.level, item.path) for item in found] == [("warning", "facility.rack.type")] * 3
    assert [item.problem.split(" is ")[0] for item in found] == ["nvidia-qm9700", "dgx-b200", "dgx-a100"]
    assert found[0].problem.endswith("is fed by cords to its own power supplies, an orv3-48u supports a busbar")
    assert {item.hint for item in found} == {"set facility.management.type: eia-42u or eia-48u or eia-52u"}
    for rack in ("eia-42u", "orv3-44ou"):
        facility = {"rack": {"type": "eia-48u"}, "management": {"type": rack}, "machines": machines}
        found = list_findings(plan_spec(pools=nodes, storage=[store], facility=facility), "rack-compatibility")
        assert [item.path for item in found] == ["facility.management.type"] * (3 if rack == "orv3-44ou" else 0)


def test_leaves_in_racks_of_nodes_are_compared_with_their_rack() -> None:
    """A Clos has a leaf in each rack; nodes with an unknown feed have no finding there."""
    clos = [{"name": "compute", "kind": "roce", "shape": "clos", "switch": "nvidia-sn4600", "su": 2, "leaf_up": 16}]
    facility = {"rack": {"type": "orv3-48u", "nodes": 2}, "management": {"type": "eia-48u"}}
    plan = plan_spec(pools=build_pools("mi325x-8gpu", 8), fabrics=clos, facility=facility)
    assert plan.facility and plan.facility.racks[0].leaf_fabrics == ("compute",), plan.findings
    (found,) = list_findings(plan, "rack-compatibility")
    assert found.path == "facility.rack.type" and "nvidia-sn4600 is fed by cords" in found.problem


@pytest.mark.parametrize(
    "field, more, fits",
    [
        ("units", 0, True),
        ("units", 1, False),
        ("power", 0, True),
        ("power", 1, False),
        ("weight", 0, True),
        ("weight", 1, False),
    ],
)
def test_a_leaf_is_in_a_rack_of_nodes_only_if_it_fits(field: str, more: int, fits: bool) -> None:
    """By units, power and weight: exactly full, and one unit, watt or kilogram over it."""
    clos = [{"name": "compute", "kind": "roce", "shape": "clos", "switch": "nvidia-sn5610", "su": 2, "leaf_up": 16}]
    plan = plan_spec(pools=build_pools("dgx-h100", 8), fabrics=clos, facility={"rack": {"type": "eia-48u", "nodes": 2}})
    assert plan.facility and plan.facility.racks[0].rack
    group, fabric = plan.facility.racks[0], plan.fabrics[0]
    assert group.leaf_fabrics == ("compute",)
    rack = plan.facility.racks[0].rack.model_copy(update={"max_load": Mass("900 kg")})
    switch = fabric.tiers[0].switch.model_copy(update={"units": 2, "weight": Mass("20 kg")})
    fabric = replace(fabric, tiers=(replace(fabric.tiers[0], switch=switch), *fabric.tiers[1:]))
    limit = group.power + get_switch_power(switch)
    bare = replace(group, rack=rack, leaf_fabrics=(), units=0, weight=None, power_limit=limit)
    full = {
        "units": replace(bare, units=rack.units - 2 + more),
        "power": replace(bare, power_limit=Power.from_base(limit.base - more)),
        "weight": replace(bare, weight=Mass(880 + more, "kg")),
    }[field]
    assert with_leaves(full, [fabric]).leaf_fabrics == (("compute",) if fits else ())


def test_every_rack_of_the_catalog_lists_what_it_accepts() -> None:
    facts = Catalog.load_default()
    for name in facts.list_names("racks"):
        rack = facts.get(Rack, name)
        assert rack.complete or (rack.mounts and rack.feeds), name
        assert (rack.busbar != "none") == ("busbar" in rack.feeds or rack.complete), name


@pytest.mark.parametrize(
    "machine, rack, per_rack, by",
    [
        ("dgx-h100", {"type": "eia-48u"}, 4, "reference"),
        ("dgx-b200", {"type": "eia-48u"}, 2, "reference"),
        ("dgx-h100", {"type": "eia-48u", "power": "30 kW"}, 2, "reference"),
        ("dgx-h100", {"type": "eia-48u", "nodes": 6}, 6, "declared"),
        ("dgx-a100", {"type": "eia-48u"}, 8, "units"),
    ],
)
def test_nodes_per_rack_match_the_reference_architecture(
    machine: str, rack: dict[str, Any], per_rack: int, by: str
) -> None:
    plan = plan_spec(pools=build_pools(machine, 16), facility={"rack": rack})
    assert plan.facility
    assert (plan.facility.racks[0].nodes_per_rack, plan.facility.racks[0].limited_by) == (per_rack, by)


def test_a_rack_type_without_effect_is_reported() -> None:
    for rack in ("gb300-nvl72", "gb200-nvl72"):
        found = list_findings(build_hall("dgx-gb200", {"type": rack}), "rack-compatibility")
        assert [finding.path for finding in found] == ["facility.rack.type"] * (rack == "gb300-nvl72"), rack
    assert not list_findings(build_hall("dgx-gb200", {"type": "eia-48u"}), "rack-compatibility"), (
        "it is the type of switch racks"
    )
