"""Controllers with a machine are in a rack, draw power, have cables, a baseboard controller and an address."""

from __future__ import annotations

from typing import Any

import pytest
from plan.test_resolve import plan_spec

from supercloud.plan.build.cabling.cables import build_cable_table
from supercloud.plan.model.plan import Plan
from supercloud.targets import render

FABRICS = [
    {"name": "in-band", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn4600c"},
    {
        "name": "management",
        "kind": "ethernet",
        "shape": "fat-tree",
        "switch": "nvidia-sn2201",
        "upstream": {"fabric": "in-band", "links": 2},
    },
]
SLURM = {
    "kind": "slurm",
    "version": "25.11",
    "machine": "management-server",
    "controllers": [{"name": "ctl-01"}, {"name": "ctl-02"}],
    "database": {"name": "db-01"},
}
KUBERNETES = {
    "kind": "kubernetes",
    "version": "1.34",
    "machine": "management-server",
    "controllers": [{"name": f"cp-{number:02d}"} for number in (1, 2, 3)],
}


def build_site(scheduler: dict[str, Any], **more: Any) -> Plan:
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 4, "fabrics": ["in-band", "management"]}]
    return plan_spec(pools=pools, fabrics=FABRICS, scheduler=scheduler, facility={"rack": {"type": "eia-48u"}} | more)


@pytest.mark.parametrize(
    "scheduler, names",
    [
        (SLURM, ["ctl-01", "ctl-02", "db-01"]),
        (KUBERNETES, ["cp-01", "cp-02", "cp-03"]),
    ],
)
def test_hosts_of_the_scheduler_are_in_every_list(scheduler: dict[str, Any], names: list[str]) -> None:
    plan = build_site(scheduler)
    assert not plan.errors and plan.facility and plan.networks
    assert sum(group.count for group in plan.facility.service_groups) == len(names)
    racked = render(plan, "racks")["contents.csv"]
    hosts = render(plan, "hosts")
    cabled = [
        {str(name) for devices in build_cable_table(plan, fabric).devices for name in devices.names}
        for fabric in plan.fabrics
    ]
    for name in names:
        assert f",{name}," in racked
        assert hosts["hosts"].count(f" {name}\n") == 1
        assert f"\n{name}," in hosts["dhcp-hosts"] and f"\nbmc-{name}," in hosts["dhcp-hosts"]
        assert all(name in found for found in cabled)
    services = {fabric.name: {item.name: item.links for item in fabric.services} for fabric in plan.fabrics}
    for group in {name.rpartition("-")[0] for name in names}:
        count = sum(name.startswith(group) for name in names)
        assert (services["in-band"][group], services["management"][group]) == (2 * count, count)
    addresses = {host.name: host.address for host in plan.scheduler.controllers}
    for name, address in addresses.items():
        assert f"\n{name},{address}\n" in hosts["dhcp-hosts"]


def test_specs_without_a_machine_have_no_service_machines() -> None:
    plan = build_site({key: value for key, value in SLURM.items() if key != "machine"})
    assert not plan.errors and plan.facility and not plan.facility.service_groups


def test_a_host_that_is_a_declared_machine_is_counted_once() -> None:
    plan = build_site(SLURM, machines=[{"name": "ctl", "machine": "management-server", "count": 4}])
    assert plan.facility and [(group.name, group.count) for group in plan.facility.service_groups] == [
        ("ctl", 4),
        ("db", 1),
    ]


@pytest.mark.parametrize(
    "names, path, hint",
    [
        (["ctl1"], "scheduler.controllers[0].name", "name it ctl-01 and count upwards"),
        (["head"], "scheduler.controllers[0].name", "name it head-01 and count upwards"),
        (["ctl-01", "ctl-03"], "scheduler.controllers[1].name", "renumber them, or declare all of them"),
    ],
)
def test_invalid_names_are_refused_with_a_valid_name(names: list[str], path: str, hint: str) -> None:
    plan = build_site(SLURM | {"controllers": [{"name": name} for name in names]})
    (found,) = (finding for finding in plan.errors if finding.check == "service-hosts")
    assert found.path == path and found.hint.startswith(hint)


def test_an_unknown_machine_is_an_error() -> None:
    (finding,) = build_site(SLURM | {"machine": "management-sever"}).errors
    assert finding.path == "scheduler.machine" and "management-server" in finding.hint + finding.problem


def test_hosts_have_their_ports_on_one_in_band_network() -> None:
    networks = [FABRICS[0], FABRICS[0] | {"name": "second", "role": "in-band"}]
    pools = [
        {"name": name, "machine": "dgx-h100", "nodes": 4, "fabrics": [network["name"]]}
        for name, network in zip(("one", "two"), networks, strict=True)
    ]
    plan = plan_spec(pools=pools, fabrics=networks, scheduler=SLURM, facility={"rack": {"type": "eia-48u"}})
    links = {fabric.name: {item.name: item.links for item in fabric.services} for fabric in plan.fabrics}
    assert links == {"in-band": {"ctl": 4, "db": 2}, "second": {}}


@pytest.mark.parametrize("kind", ["slurm", "kubernetes"])
def test_controllers_with_the_names_of_service_machines_are_these_machines(kind: str) -> None:
    """Machines on the management network only have their own names there, which was an error for the controllers that
    the hint of service-machines tells to name so: a name belongs to one address.
    """
    scheduler = {"kind": kind, "version": "25.11" if kind == "slurm" else "1.36", "controllers": [{"name": "ctl-01"}]}
    machines = [{"name": "ctl", "machine": "management-server", "count": 2}]
    alone = build_site(scheduler, machines=machines)
    assert not alone.errors
    [finding] = [item for item in alone.findings if item.check == "service-networks"]
    assert finding.hint == "add {name: ctl, count: 2, links: 2} to the services of in-band"
    assert not [item for item in alone.findings if item.check == "service-machines"]
    assert alone.networks is not None
    [run] = [item for item in alone.networks.bmcs if item.group == "ctl"]
    assert (str(run.names), str(run.owners)) == ("bmc-ctl-[01-02]", "ctl-[01-02]")
    lines = [line.split() for line in render(alone, "hosts")["hosts"].splitlines() if "ctl-01" in line]
    assert [line[0] for line in lines if "ctl-01" in line] == [alone.scheduler.controllers[0].address]
    scheduler["controllers"] = [{"name": "ctl-01", "address": run.addresses[1]}]
    [error] = build_site(scheduler, machines=machines).errors
    assert (error.check, error.path) == ("service-hosts", "scheduler.controllers[0].address")


def test_a_controller_may_not_have_the_name_of_a_baseboard_controller() -> None:
    scheduler = SLURM | {"machine": None, "database": None, "controllers": [{"name": "bmc-train-0001"}]}
    assert [item.path for item in build_site(scheduler).errors] == ["scheduler.controllers[0].name"]


@pytest.mark.parametrize("path", ["scheduler.machine", "facility.machines[0].machine"])
def test_an_instance_of_a_cloud_is_not_a_machine_of_a_site(path: str) -> None:
    """It was accepted, with notes to measure the power and the rack units of an EC2 instance."""
    scheduler = {"kind": "slurm", "version": "25.11", "controllers": [{"name": "ctl-01"}]}
    machines = []
    if path.startswith("scheduler"):
        scheduler["machine"] = "m6i.2xlarge"
    else:
        machines = [{"name": "ctl", "machine": "m6i.2xlarge", "count": 1}]
    [error] = build_site(scheduler, machines=machines).errors
    assert (error.check, error.path) == ("machine-site", path)
    assert "m6i.2xlarge is" in error.problem and "on-prem machine" in error.hint


def test_the_hint_for_a_machine_without_a_network_is_sufficient() -> None:
    """Without a pool the fabric had no switches, so that the same finding was reported again."""
    scheduler = {"kind": "slurm", "version": "25.11", "controllers": [{"name": "ctl-01"}]}
    machines = [{"name": "ctl", "machine": "management-server", "count": 1}]
    compute = {"name": "compute", "kind": "infiniband", "switch": "nvidia-qm9700"}
    pool: dict[str, Any] = {"name": "train", "machine": "dgx-h100", "nodes": 4, "fabrics": ["compute"]}
    alone = plan_spec(pools=[pool], fabrics=[compute], scheduler=scheduler, facility={"machines": machines})
    [finding] = [item for item in alone.findings if item.check == "service-networks"]
    assert "its name in fabrics of the pools" in finding.hint
    service = {"name": "ctl", "count": 1, "links": 1}
    fabric = FABRICS[0] | {"role": "in-band", "services": [service]}
    pools = [pool | {"fabrics": ["compute", "in-band"]}]
    fixed = plan_spec(pools=pools, fabrics=[compute, fabric], scheduler=scheduler, facility={"machines": machines})
    assert not {item.check for item in fixed.findings} & {"service-networks", "fabric-unused"}
