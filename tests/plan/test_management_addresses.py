"""Everything that hangs on the management network, or on the in-band one, has a name and an address there."""

from __future__ import annotations

import csv
import io
import ipaddress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from plan.network_plans import get_networks, list_problems
from plan.test_resolve import build_pools, plan_spec
from samples import EXAMPLES, ROOT

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import render

IN_BAND = {"name": "in-band", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn4600c"}
MANAGEMENT = {"name": "management", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn2201"}
COMPUTE = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}
POWER = {"voltage": "400 V", "circuit": "32 A", "feeds": 2, "redundancy": "N"}


def build_site(nodes: int = 8, mgmt: int = 3, jumps: int = 2, racks: int = 4, **more: Any) -> Plan:
    return plan_spec(
        pools=[build_pools("dgx-h100", nodes)[0] | {"fabrics": ["compute", "in-band", "management"]}],
        fabrics=[
            COMPUTE | {"manager": {"links": 2, "appliances": 2}},
            IN_BAND | {"services": [{"name": "mgmt", "count": mgmt, "links": 2}]},
            MANAGEMENT | {"services": [{"name": "jump", "count": jumps, "cage": "rj45"}]},
        ],
        facility={
            "rack": {"type": "eia-48u", "nodes": racks, "pdu": "raritan-px3-5878i2r"},
            "power": POWER,
            "machines": [{"name": "mgmt", "machine": "management-server", "count": mgmt}],
        },
        **more,
    )


def read_hosts(plan: Plan) -> dict[str, str]:
    lines = render(plan, "hosts")["hosts"].splitlines()
    rows = [line.split() for line in lines if line and line[0] != "#"]
    return {row[-1]: row[0] for row in rows if row[-1] != "localhost"}


def list_cabled_devices(plan: Plan, fabric: str) -> set[str]:
    """Devices with a port on a network, without the switches of the network itself and the building."""
    rows = csv.DictReader(io.StringIO(render(plan, "cabling")[f"{fabric}.csv"]))
    ends = {row[f"{side}_device"] for row in rows for side in "ab"}
    return {name for name in ends if not name.startswith(f"{fabric}-") and name != "building"}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["here", "05-superpod-networks", "07-storage"])
def test_all_devices_on_the_management_network_have_an_address(where: str) -> None:
    plan = build_site() if where == "here" else resolve(load(ROOT / "examples" / where / "cluster.yaml"))
    found = read_hosts(plan)
    part = ipaddress.ip_network(plan.spec.network.management or "100.64.0.0/10")
    upper = {item.upstream.fabric for item in plan.spec.fabrics if item.upstream}
    devices = {
        name
        for name in list_cabled_devices(plan, "management")
        if not any(name.startswith(f"{fabric}-spine-") for fabric in upper)
    }
    assert len(devices) > 12
    for name in devices:
        own = [found[key] for key in (name, f"bmc-{name}") if key in found]
        assert [address for address in own if ipaddress.ip_address(address) in part], name


def test_service_machines_have_addresses_on_both_networks() -> None:
    plan = build_site()
    found = read_hosts(plan)
    whole = ipaddress.ip_network(plan.network.cidr)
    for name in ("mgmt-01", "mgmt-03"):
        assert ipaddress.ip_address(found[name]) in whole
        assert found[f"bmc-{name}"] != found[name]
    # these hang on the management network only: they have their own name there
    assert all(ipaddress.ip_address(found[name]) not in whole for name in ("jump-02", "compute-manager-02", "pdu-02"))
    assert "bmc-jump-01" not in found
    assert list_cabled_devices(plan, "in-band") - {f"management-leaf-{n:03d}" for n in range(1, 9)} <= found.keys()


def test_machines_of_others_have_no_management_address() -> None:
    plan = resolve(load(ROOT / "examples/05-superpod-networks/cluster.yaml"))
    found = read_hosts(plan)
    assert "nfs-04" in found and "bmc-nfs-04" not in found
    assert sum(name.startswith("pdu-") for name in found) == 108


def test_a_controller_on_a_service_machine_keeps_its_address() -> None:
    plan = build_site(scheduler={"kind": "slurm", "version": "25.11", "controllers": [{"name": "mgmt-01"}]})
    text = render(plan, "hosts")["hosts"]
    assert text.count(" mgmt-01\n") == 1 and read_hosts(plan)["mgmt-01"] == plan.scheduler.controllers[0].address
    address = plan.scheduler.controllers[0].address
    assert f"\nmgmt-01,{address}\n" in render(plan, "hosts")["dhcp-hosts"], "DHCP gives it that address and no other"


def test_growth_renumbers_no_machine() -> None:
    small, large = read_hosts(build_site()), read_hosts(build_site(nodes=40, mgmt=9, jumps=5))
    for name in ("mgmt-01", "mgmt-03", "bmc-mgmt-02", "jump-01", "compute-manager-02"):
        assert small[name] == large[name], name


@pytest.mark.slow
def test_distribution_units_have_a_stable_first_address() -> None:
    runs = [
        {run.group: run for run in get_networks(build_site(nodes=nodes, racks=1)).bmcs}["pdu"] for nodes in (20, 600)
    ]
    assert len(runs[1].names) > 1000 > len(runs[0].names)
    assert runs[0].addresses[7] == runs[1].addresses[7]


@pytest.mark.slow
def test_the_list_of_mac_addresses_accepts_service_machines(tmp_path: Path) -> None:
    (tmp_path / "macs.csv").write_text(
        "mgmt-01,in-band,02:00:00:00:00:01\nmgmt-01,bmc,02:00:00:00:00:02\npdu-03,bmc,02:00:00:00:00:03\n"
    )
    data = yaml.safe_load(build_site().spec.model_dump_json(exclude_unset=True))
    data["network"] = {"macs": "macs.csv"}
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(data))
    plan = resolve(load(tmp_path / "cluster.yaml"))
    assert not list_problems(plan, "network-macs")
    bundle, found = render(plan, "hosts"), read_hosts(plan)
    lines = bundle["dhcp-hosts"].splitlines()
    assert f"02:00:00:00:00:01,{found['mgmt-01']},mgmt-01" in lines
    assert f"02:00:00:00:00:02,{found['bmc-mgmt-01']},bmc-mgmt-01" in lines
    assert f"02:00:00:00:00:03,{found['pdu-03']},pdu-03" in lines
    (tmp_path / "macs.csv").write_text("pdu-99,bmc,02:00:00:00:00:03\ncompute-manager-01,in-band,02:00:00:00:00:04\n")
    problems = [problem for _, problem in list_problems(resolve(load(tmp_path / "cluster.yaml")), "network-macs")]
    assert len(problems) == 2 and "pdu-99" in problems[0] and "'compute-manager-01' on in-band" in problems[1]


@pytest.mark.parametrize("network", [{"management": "192.168.0.0/22"}, {"cidr": "10.0.0.0/21"}])
def test_small_networks_fit_the_addresses_or_have_an_error(network: dict[str, str]) -> None:
    plan = build_site(network=network)
    if plan.errors:
        assert {finding.check for finding in plan.errors} <= {"network-size", "addresses"}
        return
    found = read_hosts(plan)
    assert len(set(found.values())) == len(found)


@pytest.mark.exhaustive
@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60).filter(lambda nodes: nodes % 32), st.integers(1, 300), st.integers(1, 60), st.integers(1, 4))
def test_addresses_are_unique(nodes: int, mgmt: int, jumps: int, racks: int) -> None:
    plan = build_site(nodes, mgmt, jumps, racks)
    found = read_hosts(plan)
    assert len(set(found.values())) == len(found)
    blocks = sorted(subnet.block for subnet in get_networks(plan).subnets)
    assert all(not one.overlaps(other) for one, other in zip(blocks, blocks[1:], strict=False))
    spans = {subnet.gateway for subnet in get_networks(plan).subnets}
    assert not spans & set(found.values())


@pytest.mark.slow
def test_every_example_has_one_address_per_name() -> None:
    for path in EXAMPLES:
        plan = resolve(load(path))
        if plan.networks:
            found = read_hosts(plan)
            assert len(set(found.values())) == len(found)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [28, 31, 32])
def test_a_full_single_leaf_gets_spines_for_joining_networks(nodes: int) -> None:
    plan = plan_spec(
        pools=[build_pools("dgx-h100", nodes)[0] | {"fabrics": ["compute", "in-band", "management"]}],
        fabrics=[
            COMPUTE,
            IN_BAND | {"external_links": 2},
            MANAGEMENT | {"upstream": {"fabric": "in-band", "links": 2}},
        ],
        facility={"rack": {"type": "eia-48u", "nodes": 2}},
    )
    assert not plan.errors
    fabric = next(item for item in plan.fabrics if item.name == "in-band")
    rows = list(csv.DictReader(io.StringIO(render(plan, "cabling")["management.csv"])))
    joined = {(row["b_device"], row["b_port"]) for row in rows if row["b_device"].startswith("in-band-")}
    leaves = {row["b_device"] for row in rows if row["b_device"].startswith("management-leaf-")}
    assert len(joined) == 2 * len(leaves)
    assert {device.rsplit("-", 1)[0] for device, _ in joined} == {f"in-band-{fabric.tiers[-1].name}"}


@pytest.mark.parametrize("machine", ["dgx-b300", "dgx-gb200", "dgx-gb300", "gaudi3-8", "mi300x-8gpu", "cpu-6740e"])
def test_every_machine_has_a_management_port_and_assumptions_are_reported(machine: str) -> None:
    pool = {"name": "train", "machine": machine, "nodes": 20, "fabrics": ["management"]}
    plan = plan_spec(
        pools=[pool], fabrics=[MANAGEMENT], suppress=[{"check": "slurm-node-size", "reason": "not of interest"}]
    )
    findings = [(finding.level, finding.path) for finding in plan.findings if finding.check == "fabric-port-assumed"]
    known = any(item.role == "management" for item in plan.pools[0].machine.adapters)
    assert findings == ([] if known else [("note", "fabrics[0]")])
    from supercloud.targets.site.cabling import render as cabling

    rows = list(csv.DictReader(io.StringIO(cabling(plan)["management.csv"])))
    assert len(rows) == 20 and {row["product"] for row in rows} == {"cat6"}


def test_ports_are_those_of_adapters_of_the_fabric() -> None:
    """A DGX GB300 has two entries of compute adapters: the same cages, as InfiniBand or as Ethernet."""
    from supercloud.plan.build.fabric.roles import find_adapter

    machine = (
        plan_spec(pools=build_pools("dgx-gb300", 18), fabrics=[COMPUTE | {"switch": "nvidia-q3400-ra"}])
        .pools[0]
        .machine
    )
    infiniband, roce = (find_adapter(machine, "compute", kind) for kind in ("infiniband", "roce"))
    assert infiniband is not None and roce is not None and (infiniband.count, roce.count) == (4, 8)


def test_unused_uplink_ports_are_reported_with_the_fix() -> None:
    pools = [build_pools("dgx-h100", 60)[0] | {"fabrics": ["compute", "in-band", "management"]}]
    plan = plan_spec(pools=pools, fabrics=[COMPUTE, IN_BAND, MANAGEMENT])
    (found,) = (finding for finding in plan.findings if finding.check == "fabric-uplinks-unused")
    assert found.path == "fabrics[2]" and "links of 1 Gb/s; the 4 uplink ports" in found.problem
    assert found.hint == "set upstream: {fabric: in-band, links: 2}"
    fixed = plan_spec(
        pools=pools, fabrics=[COMPUTE, IN_BAND, MANAGEMENT | {"upstream": {"fabric": "in-band", "links": 2}}]
    )
    assert not [finding for finding in fixed.findings if finding.check.startswith("fabric-")]


def test_devices_on_the_switches_of_a_rack_product_are_reported() -> None:
    pool = {"name": "train", "machine": "dgx-gb200", "nodes": 36, "fabrics": ["management"]}
    plan = plan_spec(pools=[pool], fabrics=[MANAGEMENT], facility={"cooling": {"kind": "direct-liquid"}})
    (found,) = (finding for finding in plan.findings if finding.check == "fabric-rack-management")
    assert found.problem.startswith(
        "18 NVLink switch trays and 16 power shelves of the 2 racks of train are connected to the 2 "
    )
    assert found.hint == "connect the 4 switches of the racks by hand"
    assert not [finding for finding in build_site().findings if finding.check == "fabric-rack-management"]
