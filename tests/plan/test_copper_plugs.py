"""Copper cables have plugs for the cages at both ends: finned top in switches, flat top in machines."""

from __future__ import annotations

from typing import Any

from plan.test_resolve import build_pools, plan_spec

from supercloud.catalog import Cable, Catalog
from supercloud.plan.build.fabric.cabling_parts import CablingParts
from supercloud.plan.model.plan import Plan
from supercloud.primitives.quantity import Rate
from supercloud.targets.site.bom.items import build_items

CATALOG = Catalog.load_default()
FINNED, FLAT = "nvidia-mcp4y10", "nvidia-mcp4y10-flt"


def list_copper(near: str, far: str) -> list[str]:
    speed = CATALOG.get(Cable, FINNED).speed
    found = CablingParts(CATALOG).list_cables(near, far, "infiniband", speed, 2, 1)
    return [item.name for item in found if item.medium in ("dac", "acc")]


def build_plan(**cabling: Any) -> Plan:
    """Two nodes on one leaf, so that both ports of a cage are connected to one other cage."""
    fabric = {"name": "compute", "kind": "infiniband", "switch": "nvidia-qm9700", "leaf_rails": 8, "cabling": cabling}
    return plan_spec(pools=build_pools("dgx-h100", 2), fabrics=[fabric])


def list_ordered(plan: Plan) -> dict[str, int]:
    return {item.product: item.count for item in build_items(plan) if item.section == "cables of compute"}


def test_switches_get_finned_plugs_and_machines_flat_ones() -> None:
    assert list_copper("switch:osfp", "switch:osfp") == [FINNED, "nvidia-mca4j80"]
    assert list_copper("machine:osfp", "switch:osfp") == [FLAT, "nvidia-mca4j80-ftf"]


def test_the_bill_of_materials_orders_flat_plugs_for_nodes() -> None:
    assert list_ordered(build_plan(nodes=FLAT)) == {FLAT: 8}


def test_cables_with_finned_plugs_only_are_refused_for_nodes() -> None:
    plan = build_plan(nodes=FINNED)
    assert FINNED not in list_ordered(plan)
    assert any(item.path == "fabrics[0].cabling.nodes" for item in plan.findings), plan.findings


def test_a_cable_connects_ports_of_its_network_and_speed_only() -> None:
    cable = CATALOG.get(Cable, FINNED).model_copy(update={"networks": ("infiniband",)})
    parts = CablingParts(CATALOG)

    def can_join(network: str, speed: Rate) -> bool:
        return parts.can_join(cable, "switch:osfp", "switch:osfp", network, speed, 2)

    assert can_join("infiniband", cable.speed)
    assert not can_join("ethernet", cable.speed) and not can_join("infiniband", cable.speed * 2)
