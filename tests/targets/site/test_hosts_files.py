"""Hosts file, DHCP, inventory and the table of subnets agree with the plan, and have ranges."""

from __future__ import annotations

import ipaddress
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from plan.network_plans import plan_file
from samples import EXAMPLES, ROOT

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import render

pytestmark = pytest.mark.slow

ONPREM = [path for path in EXAMPLES if load(path).model.site.kind == "onprem"]


def read_entries(plan: Plan) -> dict[str, str]:
    lines = render(plan, "hosts")["hosts"].splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    assert all(len(row) in (2, 3) for row in rows)
    return {row[-1]: row[0] for row in rows if row[-1] != "localhost"}


@pytest.mark.parametrize("path", ONPREM, ids=lambda path: path.parent.name)
def test_names_and_addresses_are_unique(path: Path) -> None:
    plan = resolve(load(path))
    assert plan.networks is not None
    found = read_entries(plan)
    assert len(set(found.values())) == len(found)
    for pool in plan.pools:
        assert [found[name] for name in pool.hosts] == [pool.addresses[index] for index in range(pool.nodes)]
        assert f"bmc-{pool.hosts.get_name(0)}" in found
    for host in plan.scheduler.controllers:
        assert found[host.name] == host.address
    for run in plan.networks.switches:
        for index in range(run.tier.count):
            assert found[run.format_name(index)] == run.get_management_address(index)


@pytest.mark.parametrize("path", ONPREM, ids=lambda path: path.parent.name)
def test_every_address_is_in_a_served_subnet(path: Path) -> None:
    plan = resolve(load(path))
    bundle = render(plan, "hosts")
    rows = [line.split(",") for line in bundle["subnets.csv"].splitlines()]
    assert rows[0] == ["name", "role", "subnet", "gateway", "used"]
    blocks = {row[0]: ipaddress.ip_network(row[2]) for row in rows[1:]}
    declared = {host.address for host in plan.spec.scheduler.controllers if host.address}
    for name, address in read_entries(plan).items():
        if address in declared:
            continue  # of a host that exists, which the plan does not address
        assert sum(ipaddress.ip_address(address) in block for block in blocks.values()) == 1, (name, address)
    for row in rows[1:]:
        if row[3]:
            assert ipaddress.ip_address(row[3]) in blocks[row[0]] and row[3] not in read_entries(plan).values()
        if row[1] in ("in-band", "bmc", "switch"):
            block = blocks[row[0]]
            assert f"dhcp-range=set:{row[0]},{block.network_address},static,{block.netmask}," in bundle["dnsmasq.conf"]


def test_install_names_the_dhcp_server_and_checks_its_file(tmp_path: Path) -> None:
    """``dnsmasq --test`` without a file looks at what Debian ships, not at what was installed."""
    bundle = render(resolve(load(ROOT / "examples/07-storage/cluster.yaml")), "hosts")
    page = bundle["INSTALL.md"]
    assert "ctl1 serves DHCP and DNS." in page and "| ctl1 | 10.0.0.11/16 | 10.0.0.254 |" in page
    assert "relays DHCP to ctl1 (10.0.0.11)." in page
    # Storage Scale identifies nodes by names on its network
    assert "`<host>-storage` is the first port of a node" in page and " train-0001-storage\n" in bundle["hosts"]
    (block, _) = re.findall(r"```sh\n(.*?)```", page, re.S)  # the second one is for hosts with RDMA devices
    for name in ("hosts", "dhcp-hosts", "dnsmasq.conf"):
        (tmp_path / name).write_text(bundle[name])
    for folder in ("bin", "etc/dnsmasq.d"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("apt-get", "systemctl"):
        (tmp_path / "bin" / name).symlink_to("/bin/true")
    real = shutil.which("dnsmasq", path="/usr/sbin:/usr/bin")
    if real is None:
        (tmp_path / "bin/dnsmasq").write_text('#!/bin/sh\n[ "$1 $2" = \'--test -C\' ] && ! grep mistake "$3"\n')
        (tmp_path / "bin/dnsmasq").chmod(0o755)
    run = ["bash", "-ec", block.replace("/etc/", f"{tmp_path}/etc/")]
    env = {"PATH": f"{tmp_path}/bin:/usr/sbin:/usr/bin:/bin"}
    assert subprocess.run(run, cwd=tmp_path, env=env, capture_output=True).returncode == 0
    assert (tmp_path / "etc/supercloud/dhcp-hosts").read_text() == bundle["dhcp-hosts"]
    (tmp_path / "dnsmasq.conf").write_text(bundle["dnsmasq.conf"] + "mistake=1\n")
    assert subprocess.run(run, cwd=tmp_path, env=env, capture_output=True).returncode != 0


def test_the_inventory_uses_ranges_and_has_each_node_once() -> None:
    plan = resolve(load(ROOT / "examples/04-roce-24k/cluster.yaml"))
    text = render(plan, "hosts")["inventory.yaml"]
    groups = yaml.safe_load(text)["all"]["children"]
    assert list(groups["nodes"]["children"]["pool_train"]["hosts"]) == ["train-[0001:3072]"]
    tiers = groups["switches"]["children"]["fabric_compute"]["children"]
    assert list(tiers["compute_leaf"]["hosts"]) == ["compute-leaf-[0001:1536]"]
    assert tiers["compute_spine"]["vars"]["network_system"] == "eos"
    assert len(groups["racks"]["children"]) == 1536
    assert all("-" not in name for name in groups)


def test_mac_addresses_make_reservations(tmp_path: Any) -> None:
    (tmp_path / "macs.csv").write_text("train-0001,in-band,02:00:00:00:00:01\ntrain-0002,bmc,02:00:00:00:00:02\n")
    plan = plan_file(tmp_path, network={"macs": "macs.csv"})
    bundle = render(plan, "hosts")
    lines = bundle["dhcp-hosts"].splitlines()
    assert "02:00:00:00:00:01,10.1.0.1,train-0001" in lines and "train-0002,10.1.0.2" in lines
    assert "02:00:00:00:00:02,100.64.0.2,bmc-train-0002" in lines
    kea = json.loads(bundle["kea-dhcp4.json"])["Dhcp4"]
    assert [len(subnet["reservations"]) for subnet in kea["subnet4"]] == [1, 1, 0]
    assert "2 MAC addresses" in bundle["INSTALL.md"]
    assert "kea-dhcp4.json" not in render(plan_file(tmp_path), "hosts")
