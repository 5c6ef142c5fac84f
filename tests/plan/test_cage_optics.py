"""Both ports of a twin-port cage have fibers of one optic, as one transceiver connects them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from halls import QM9700, build_hall, list_problems

from supercloud.plan.build.cabling.cables import build_cable_table
from supercloud.plan.build.cabling.modules import find_mixed_cages
from supercloud.plan.model.cables import CableTable
from supercloud.plan.model.plan import Plan
from supercloud.targets.site.bom.items import build_items

RACK = {"type": "eia-48u", "nodes": 2}


def list_optics_by_cage(table: CableTable) -> dict[tuple[int, int, int], set[str]]:
    """Set of devices, device, and cage -> names of the cables in it, counted link by link."""
    found = defaultdict(set)
    links = table.links
    for row in range(table.count):
        for sets, device, port in (
            (links.source_set[row], links.source[row], links.source_port[row]),
            (links.target_set[row], links.target[row], links.target_port[row]),
        ):
            cage = int(table.devices[sets].cages[port])
            found[int(sets), int(device), cage].add(table.kinds[table.kind_index[row]].optic or "")
    return found


def test_a_cage_with_links_of_different_lengths_has_one_optic(tmp_path: Path) -> None:
    """600 nodes have links below and above the reach of multimode fiber in the cages of one leaf."""
    table = build_cable_table(plan := build_hall(tmp_path, "dgx-h100", 600, rack=RACK), plan.fabrics[0])
    assert {item.optic for item in table.kinds if item.medium == "fiber"} == {"400g-sr4", "400g-dr4"}
    cages = list_optics_by_cage(table)
    assert {cage: optics for cage, optics in cages.items() if len(optics) > 1} == {}
    assert count_leaf_modules(plan) == sum(table.devices[sets].kind == "leaf" for sets, _, _ in cages)


def count_leaf_modules(plan: Plan) -> int:
    return sum(item.count for item in build_items(plan) if item.item.endswith(", in leaf"))


def test_no_cable_is_shorter_than_its_link(tmp_path: Path) -> None:
    table = build_cable_table(plan := build_hall(tmp_path, "dgx-h100", 600, rack=RACK), plan.fabrics[0])
    assert (table.kind_index >= 0).all() and (table.stock_length >= table.length - 1e-9).all()
    assert all(table.length[row] <= float(table.kinds[table.kind_index[row]].reach.base) for row in range(table.count))


def test_selected_cables_of_two_optics_in_one_cage_are_refused(tmp_path: Path) -> None:
    service = {"name": "io", "count": 8, "cage": "osfp", "cable": "nvidia-mfp7e30"}
    fabric = QM9700 | {"cabling": {"nodes": "nvidia-mfp7e10"}, "services": [service]}
    plan = build_hall(tmp_path, "dgx-h100", 31, fabrics=[fabric], rack=RACK)
    assert len(find_mixed_cages(build_cable_table(plan, plan.fabrics[0]))) == 8
    assert list_problems(plan, "cable-mixed-cage") == [
        "8 fibers of compute share a cage with a fiber that needs another transceiver, the first from "
        "train-0031:OSFP1P1 to compute-leaf-001:1/16/1"
    ]
    equal = fabric | {"services": [service | {"cable": "nvidia-mfp7e10"}]}
    assert list_problems(build_hall(tmp_path, "dgx-h100", 31, fabrics=[equal], rack=RACK), "cable-mixed-cage") == []


def test_a_machine_of_its_vendor_needs_transceivers_in_our_switches_only(tmp_path: Path) -> None:
    service = {"name": "appliance", "count": 8, "cage": "osfp", "cable": "nvidia-mfp7e10"}
    fabric = QM9700 | {"services": [service]}
    own, vendors = (
        build_hall(tmp_path, "dgx-h100", 31, fabrics=[fabric | {"services": [service | kind]}], rack=RACK)
        for kind in ({}, {"vendor_managed": True})
    )
    ends = [
        {item.item.partition(", in ")[2]: item.count for item in build_items(plan) if ", in " in item.item}
        for plan in (own, vendors)
    ]
    assert ends[0]["appliance"] == 8 and "appliance" not in ends[1]
    assert ends[0]["leaf"] == ends[1]["leaf"]
