"""The rendered files with real dnsmasq, Kea and Ansible: hosts get the addresses and names of the plan."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import frr_tools
import pytest
from frr_lab import run
from real.polling import wait_for

import supercloud as sc

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/06-roce-small"
MACS = """\
host,network,mac
train-0001,in-band,02:00:00:00:01:01
train-0001,bmc,02:00:00:00:02:01
compute-leaf-001,switch,02:00:00:00:03:01
home-nfs-0001,in-band,02:00:00:00:04:01
home-nfs-0001,bmc,02:00:00:00:05:01
mgmt-02,in-band,02:00:00:00:06:02
mgmt-02,bmc,02:00:00:00:07:02
pdu-03,bmc,02:00:00:00:08:03
"""
STORAGE = """\
catalog: catalog
storage:
  - {name: home, kind: nfs, capacity: 50 TB, mount: /home, fabric: compute, servers: {machine: flash-24}}
"""
MACHINES = "machines: [{name: mgmt, machine: management-server, count: 2}]"
PDU = "pdu: raritan-px3-5878i2r"
SCRIPT = """\
#!/bin/sh
[ "$1" = bound ] && echo "$ip $subnet $router $hostname $domain" >"$FOUND"
exit 0
"""


@pytest.fixture(scope="module", autouse=True)
def _parts() -> None:
    frr_tools.install_debian_packages(
        ("dnsmasq", "dnsmasq-base"),
        ("ip", "iproute2"),
        ("dig", "bind9-dnsutils"),
        ("udhcpc", "udhcpc"),
        ("kea-dhcp4", "kea-dhcp4-server"),
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with three MAC addresses, rendered."""
    folder = tmp_path_factory.mktemp("site")
    run("cp", "-r", str(EXAMPLE), str(folder / "spec"))
    (folder / "spec" / "macs.csv").write_text(MACS)
    (folder / "spec" / "catalog" / "machines").mkdir(parents=True, exist_ok=True)
    run("cp", str(ROOT / "examples/07-storage/catalog/machines/flash-24.yaml"), str(folder / "spec/catalog/machines"))
    spec = folder / "spec" / "cluster.yaml"
    text = spec.read_text().replace("{domain: roce-small.example}", "{domain: roce-small.example, macs: macs.csv}")
    text = text.replace("rack: {type: eia-48u, nodes: 2}", f"{MACHINES}\n  rack: {{type: eia-48u, nodes: 2, {PDU}}}")
    spec.write_text(text + STORAGE)
    plan = sc.resolve(sc.load(spec))
    assert not plan.errors, plan.errors
    sc.render(plan, "hosts").write(folder / "hosts")
    conf = (folder / "hosts" / "dnsmasq.conf").read_text().replace("/etc/supercloud", str(folder / "hosts"))
    (folder / "dnsmasq.conf").write_text(conf)
    run("chmod", "-R", "a+rX", str(folder))
    folder.parent.chmod(0o755)
    folder.parent.parent.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    """Dnsmasq in a namespace, and the namespace of a client on the same link."""
    name = f"scd{os.getpid()}"
    for end in ("s", "c"):
        run("ip", "netns", "add", name + end)
    run("ip", "link", "add", "wire", "netns", f"{name}s", "type", "veth", "peer", "name", "wire", "netns", f"{name}c")
    run("ip", "-n", f"{name}s", "address", "add", "10.1.255.250/16", "dev", "wire")
    for end in ("s", "c"):
        run("ip", "-n", name + end, "link", "set", "wire", "up")
        run("ip", "-n", name + end, "link", "set", "lo", "up")
    daemon = subprocess.Popen(
        [
            "ip",
            "netns",
            "exec",
            f"{name}s",
            "dnsmasq",
            "-k",
            "-C",
            str(site / "dnsmasq.conf"),
            "--user=root",
            f"--dhcp-leasefile={site}/leases",
            f"--pid-file={site}/pid",
            "--log-dhcp",
        ],
        stderr=subprocess.DEVNULL,
    )

    def is_listening() -> bool:
        assert daemon.poll() is None, "dnsmasq ended at once: run dnsmasq --test on its file"
        return ":67 " in run("ip", "netns", "exec", f"{name}s", "ss", "-lun")

    wait_for("dnsmasq listens", is_listening)
    yield name
    daemon.terminate()
    daemon.wait(10)
    for end in ("s", "c"):
        run("ip", "netns", "delete", name + end)


def test_dnsmasq_and_kea_accept_the_files(site: Path) -> None:
    run("dnsmasq", "--test", "-C", str(site / "dnsmasq.conf"))
    run("kea-dhcp4", "-t", str(site / "hosts" / "kea-dhcp4.json"))
    reserved = json.loads((site / "hosts" / "kea-dhcp4.json").read_text())["Dhcp4"]["subnet4"]
    assert sorted(item["hostname"] for subnet in reserved for item in subnet["reservations"]) == [
        "bmc-home-nfs-0001",
        "bmc-mgmt-02",
        "bmc-train-0001",
        "compute-leaf-001",
        "home-nfs-0001",
        "mgmt-02",
        "pdu-03",
        "train-0001",
    ]


def request_lease(server: str, site: Path, *options: str) -> list[str]:
    """The lease of a client: address, mask, router, name, domain."""
    script, found = site / "bound.sh", site / "found"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    found.unlink(missing_ok=True)
    run(
        "ip",
        "netns",
        "exec",
        f"{server}c",
        "env",
        f"FOUND={found}",
        "udhcpc",
        "-i",
        "wire",
        "-nqf",
        "-t",
        "3",
        "-T",
        "2",
        "-s",
        str(script),
        "-O",
        "hostname",
        "-O",
        "domain",
        *options,
        check=False,
    )
    return found.read_text().split() if found.exists() else []


def test_a_host_is_identified_by_its_mac(server: str, site: Path) -> None:
    run("ip", "-n", f"{server}c", "link", "set", "wire", "address", "02:00:00:00:01:01")
    assert request_lease(server, site) == ["10.1.0.1", "255.255.0.0", "10.1.0.254", "train-0001", "roce-small.example"]


def test_a_host_without_a_mac_is_identified_by_its_name(server: str, site: Path) -> None:
    run("ip", "-n", f"{server}c", "link", "set", "wire", "address", "02:00:00:00:09:09")
    assert request_lease(server, site, "-x", "hostname:train-0016")[0] == "10.1.0.16"


def test_an_unknown_host_gets_no_lease(server: str, site: Path) -> None:
    run("ip", "-n", f"{server}c", "link", "set", "wire", "address", "02:00:00:00:0a:0a")
    assert request_lease(server, site) == []


def test_names_and_addresses(server: str) -> None:
    def query(*question: str) -> str:
        return run("ip", "netns", "exec", f"{server}s", "dig", "+short", "+time=2", "@127.0.0.1", *question).strip()

    assert query("train-0016.roce-small.example") == "10.1.0.16"
    assert query("-x", "10.1.0.16") == "train-0016.roce-small.example."
    assert query("bmc-train-0002.roce-small.example") == "100.64.0.2"
    assert query("compute-spine-004.roce-small.example").startswith("100.80.")
    assert query("home-nfs-0001.roce-small.example") == "10.255.252.1"
    assert query("mgmt-02.roce-small.example") == "10.0.255.2"
    assert query("pdu-03.roce-small.example") == "100.112.0.3"
    for name in ("home-nfs-0001-compute", "home-nfs-0001-compute-2", "bmc-mgmt-01", "pdu-16"):
        assert query("-x", query(f"{name}.roce-small.example")) == f"{name}.roce-small.example."
    assert query("unknown.roce-small.example") == ""


def test_ansible_reads_the_inventory(site: Path) -> None:
    bin_ = frr_tools.install_python_tools()
    output = run(str(bin_ / "ansible-inventory"), "-i", str(site / "hosts" / "inventory.yaml"), "--list")
    listed = json.loads(output)
    assert listed["pool_train"]["hosts"] == [f"train-{number:04d}" for number in range(1, 17)]
    assert listed["rack_r01_01"]["hosts"] == ["train-0001", "train-0002"]
    assert len(listed["compute_leaf"]["hosts"]) == 16 and len(listed["compute_spine"]["hosts"]) == 4
    assert listed["storage_home_nfs"]["hosts"] == ["home-nfs-0001"]
    assert listed["service_mgmt"]["hosts"] == ["mgmt-01", "mgmt-02"]
    assert listed["bmc_pdu"]["hosts"][-1] == "pdu-16"
    values = listed["_meta"]["hostvars"]
    assert values["home-nfs-0001"]["compute_ports"] == 2 and len(values["home-nfs-0001"]["compute_cidrs"]) == 2
    assert values["compute-leaf-016"]["network_system"] == "nvue"
    assert values["train-0016"]["accelerators"] == 8 and values["train-0016"]["domain"] == "roce-small.example"
