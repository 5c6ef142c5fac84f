"""Hosts of the scheduler that are not machines of the plan are reported."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
import yaml
from plan.test_resolve import build_pools, plan_spec

from supercloud.errors import Finding
from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.open_points import describe_open_points
from supercloud.targets import render

pytestmark = pytest.mark.slow


def list_findings(scheduler: dict[str, Any], **changes: Any) -> list[Finding]:
    plan = plan_spec(
        scheduler={"kind": "slurm", "version": "25.11"} | scheduler,
        pools=[build_pools("dgx-h100", 4)[0] | {"fabrics": []}],
        fabrics=[],
        **({"facility": {"rack": {"type": "eia-48u"}}} | changes),
    )
    return [item for item in plan.findings if item.check == "service-machines"]


def test_controllers_without_a_machine_get_a_note() -> None:
    (note,) = list_findings({"controllers": [{"name": "ctl1"}], "database": {"name": "db1"}})
    assert note.level == "note" and note.path == "scheduler.controllers[0]"
    assert note.problem.startswith("ctl1, db1 have no machines") and "scheduler.machine" in note.hint


def test_the_note_names_the_hosts_as_their_machine_requires() -> None:
    """Setting scheduler.machine alone, as the hint said, was an error: the default name ctl1 has no such number."""
    (note,) = list_findings({"controllers": [{"name": "ctl1"}, {"name": "ctl2"}], "database": {"name": "db1"}})
    settings = re.findall(r"scheduler\.(\S+) to (\[.*?\]|\S+)", note.hint)
    assert settings[:2] == [("controllers", "[{name: ctl-01}, {name: ctl-02}]"), ("database.name", "db-01")]
    followed = {
        "controllers": yaml.safe_load(settings[0][1]),
        "database": {"name": settings[1][1]},
        "machine": "management-server",
    }
    assert list_findings(followed) == []


MACHINES = {"rack": {"type": "eia-48u"}, "machines": [{"name": "mgmt", "machine": "management-server", "count": 2}]}


@pytest.mark.parametrize(
    "scheduler, changes",
    [
        ({"controllers": [{"name": "ctl-01"}], "machine": "management-server"}, {}),
        ({"controllers": [{"name": "mgmt-02"}]}, {"facility": MACHINES}),
        ({"controllers": [{"name": "ctl1"}]}, {"facility": None}),
    ],
)
def test_controllers_with_a_machine_or_without_racks_get_no_note(
    scheduler: dict[str, Any], changes: dict[str, Any]
) -> None:
    assert list_findings(scheduler, **changes) == []


MANAGEMENT = {"name": "management", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn2201"}
IN_BAND = {"name": "in-band", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn4600c"}
LOGIN = {"machines": [{"name": "login", "machine": "management-server", "count": 2}], "rack": {"type": "eia-48u"}}


def build_plan(*fabrics: dict[str, Any], **changes: Any) -> Plan:
    pool = build_pools("dgx-h100", 8)[0] | {"fabrics": [item["name"] for item in fabrics]}
    return plan_spec(pools=[pool], fabrics=list(fabrics), **({"facility": LOGIN} | changes))


def list_unjoined(plan: Plan) -> list[Finding]:
    return [item for item in plan.findings if item.check == "service-networks"]


@pytest.mark.parametrize("fabrics", [[MANAGEMENT], [IN_BAND, MANAGEMENT]])
def test_racked_machines_are_cabled_to_the_management_network(fabrics: list[dict[str, Any]]) -> None:
    plan = build_plan(*fabrics)
    rows = csv.DictReader(io.StringIO(render(plan, "cabling")["management.csv"]))
    assert {"login-01", "login-02"} <= {row["a_device"] for row in rows}
    bill = list(csv.DictReader(io.StringIO(render(plan, "bom")["bom.csv"])))
    assert [row["count"] for row in bill if "(login)" in row["item"]] == ["2"]


def test_machines_on_no_in_band_network_are_reported_with_a_fix() -> None:
    (alone,) = list_unjoined(build_plan(MANAGEMENT))
    assert alone.path == "facility.machines[0]" and alone.problem.startswith("the 2 machines of login are on no")
    assert "declare a fabric with role: in-band" in alone.hint
    (found,) = list_unjoined(build_plan(IN_BAND, MANAGEMENT))
    entry = re.fullmatch(r"add (\{.*\}) to the services of in-band", found.hint)
    assert entry
    declared = yaml.safe_load(entry[1])
    assert declared == {"name": "login", "count": 2, "links": 2}
    assert list_unjoined(build_plan(IN_BAND | {"services": [declared]}, MANAGEMENT)) == []
    (few,) = list_unjoined(build_plan(IN_BAND | {"services": [declared | {"count": 1}]}, MANAGEMENT))
    assert few.problem.startswith("1 of the 2 machines of login is on no in-band network")
    machine = LOGIN["machines"][0] | {"count": 1}
    (one,) = list_unjoined(build_plan(MANAGEMENT, facility=LOGIN | {"machines": [machine]}))
    assert [item.problem.rpartition(" on no ")[0] for item in (one, alone, few)] == [
        "login is",
        "the 2 machines of login are",
        "1 of the 2 machines of login is",
    ]
    assert [item.problem.rpartition(" ")[2] for item in (one, alone, few)] == ["it", "them", "it"]


def test_machines_of_scheduler_hosts_are_cabled_without_an_in_band_network() -> None:
    scheduler = {
        "kind": "slurm",
        "version": "25.11",
        "controllers": [{"name": "ctl-01"}],
        "machine": "management-server",
    }
    plan = build_plan(MANAGEMENT, scheduler=scheduler, facility={"rack": {"type": "eia-48u"}})
    assert "ctl-01" in render(plan, "cabling")["management.csv"]
    assert [item.path for item in list_unjoined(plan)] == ["scheduler.machine"]


COMPUTE = {
    "name": "compute",
    "kind": "infiniband",
    "shape": "rail-optimized",
    "switch": "nvidia-qm9700",
    "manager": {"links": 2},
}


def test_hosts_of_the_subnet_manager_without_a_rack_are_reported_with_a_fix() -> None:
    plan = build_plan(COMPUTE, MANAGEMENT, facility={"rack": {"type": "eia-48u"}})
    (note,) = [item for item in plan.findings if item.check == "service-racks"]
    assert note.path == "fabrics[0].manager" and note.problem.startswith("compute-manager (2 machines) have no rack")
    assert describe_open_points(plan) == (
        "2 service machines in no rack; 4 links have no cable length, so cable types that depend on it are undecided: "
        "set facility.machines"
    )
    entry = re.fullmatch(r"add (\{.*\}) to facility.machines .*", note.hint)
    assert entry
    written = yaml.safe_load(entry[1]) | {"machine": "nvidia-ufm-appliance"}
    fixed = build_plan(COMPUTE, MANAGEMENT, facility={"rack": {"type": "eia-48u"}, "machines": [written]})
    assert not {item.check for item in fixed.findings} & {"service-racks", "service-networks"}
    assert describe_open_points(fixed) == ""
    assert "compute-manager-02" in render(fixed, "racks")["contents.csv"]
    few = build_plan(COMPUTE, facility={"rack": {"type": "eia-48u"}, "machines": [written | {"count": 1}]})
    (note,) = [item for item in few.findings if item.check == "service-racks"]
    assert note.problem.startswith("1 of the 2 machines of compute-manager has no rack")
    assert "count: 2" in note.hint and "1 link has no cable length" in note.problem


def test_machines_of_others_need_no_rack() -> None:
    service = {"name": "appliance", "count": 2, "vendor_managed": True}
    plan = build_plan(IN_BAND | {"services": [service]}, facility={"rack": {"type": "eia-48u"}})
    assert not [item for item in plan.findings if item.check == "service-racks"] and describe_open_points(plan) == ""
