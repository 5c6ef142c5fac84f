"""Hosts of one link get modules of one link: a cage made for two is named where there is one for one."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec

from supercloud.errors import Finding
from supercloud.plan.model.plan import Plan
from supercloud.targets import render

QM9700 = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}


def build_plan(**manager: Any) -> Plan:
    service = {"name": "login", "count": 2, **{key: manager[key] for key in manager if key != "peer_links"}}
    fabric = QM9700 | {"manager": {"links": 2} | manager, "services": [service]}
    return plan_spec(pools=build_pools("dgx-h100", 31), fabrics=[fabric])


def list_findings(plan: Plan) -> list[Finding]:
    return [item for item in plan.findings if item.check == "cable-twin-port"]


def count_modules(plan: Plan, where: str) -> dict[str, str]:
    bill = csv.DictReader(io.StringIO(render(plan, "bom")["bom.csv"]))
    return {row["product"]: row["count"] for row in bill if row["item"].endswith(f", in {where}")}


def test_a_twin_port_cage_for_one_link_is_reported_and_the_fix_orders_single_ports() -> None:
    warned = build_plan(cage="osfp")
    assert count_modules(warned, "compute-manager") == {"nvidia-mma4z00-ns-flt": "2"}
    assert [item.path for item in list_findings(warned)] == ["fabrics[0].manager.cage", "fabrics[0].services[0].cage"]
    assert all("set cage: osfp-single or qsfp112" in item.hint for item in list_findings(warned))
    fixed = build_plan(cage="osfp-single")
    assert list_findings(fixed) == []
    assert count_modules(fixed, "compute-manager") == count_modules(fixed, "login") == {"nvidia-mma4z00-ns400": "2"}


@pytest.mark.slow
@pytest.mark.parametrize("manager", [{}, {"cage": "qsfp112"}, {"cage": "qsfp112", "speed": "200 Gb/s"}])
def test_other_cages_are_not_reported(manager: dict[str, Any]) -> None:
    assert list_findings(build_plan(**manager)) == []
