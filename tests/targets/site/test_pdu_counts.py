"""Distribution units: as many are ordered, fed, racked, cabled and addressed."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec
from samples import ROOT

from supercloud.plan.model.plan import Plan
from supercloud.targets import render

PDU = "raritan-px3-5878i2r"
MANAGEMENT = {"name": "management", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn2201"}
STORE = {
    "name": "home",
    "kind": "nfs",
    "capacity": "100 TiB",
    "mount": "/home",
    "throughput": {"read": "10 GB/s", "write": "5 GB/s"},
    "servers": {"machine": "flash-24", "throughput": {"read": "10 GB/s", "write": "5 GB/s"}},
}


def build_site(rack: dict[str, Any], management: dict[str, Any]) -> Plan:
    return plan_spec(
        catalog=str(ROOT / "examples" / "07-storage" / "catalog"),
        storage=[STORE],
        pools=[build_pools("dgx-h100", 8)[0] | {"fabrics": ["management"]}],
        fabrics=[MANAGEMENT],
        facility={
            "rack": {"type": "eia-48u", "nodes": 2} | rack,
            "management": management,
            "power": {"feeds": 3, "redundancy": "N+1", "voltage": "400 V", "circuit": "32 A"},
        },
    )


def read_rows(plan: Plan, target: str, file: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(plan, target)[file])))


@pytest.mark.parametrize(
    "rack, management, places",
    [
        ({}, {}, ["facility.rack", "facility.management"]),
        ({"pdu": PDU}, {}, ["facility.management"]),
        ({}, {"pdu": PDU}, ["facility.rack"]),
        ({"pdu": PDU, "pdus": 4}, {"pdu": PDU}, []),
    ],
)
def test_all_files_have_the_same_number_of_pdus(
    rack: dict[str, Any], management: dict[str, Any], places: list[str]
) -> None:
    plan = build_site(rack, management)
    bill = [row for row in read_rows(plan, "bom", "bom.csv") if row["item"].startswith("power distribution unit")]
    names = {row["pdu"] for row in read_rows(plan, "racks", "circuits.csv")}
    assert sum(int(row["count"]) for row in bill) == len(names) > 0
    assert {row["name"] for row in read_rows(plan, "racks", "contents.csv") if row["what"] == "pdu"} == names
    assert {
        row["a_device"] for row in read_rows(plan, "cabling", "management.csv") if "pdu" in row["a_device"]
    } == names
    assert plan.networks
    assert [len(run.owners) for run in plan.networks.bmcs if run.group == "pdu"] == [len(names)]
    assert plan.facility
    products = {group.kind: group.pdu for group in plan.facility.racks}
    assert products["storage"] == products["network"] == management.get("pdu", "")
    unknown = [item.path for item in plan.findings if item.check == "power-pdu-unknown"]
    assert unknown == places and any(not row["product"] for row in bill) == bool(places)
