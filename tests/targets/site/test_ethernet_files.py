"""Bridged networks: every switch is configured, both ends of a cable agree, and missing capabilities are findings."""

from __future__ import annotations

import configparser
import csv
import io
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from nvue_schema import NVUE_BRIDGED
from nvue_words import RENAMED, iter_commands, uses
from samples import ROOT

from supercloud.plan.build.network.bonds import find_bond_groups
from supercloud.plan.build.network.bridges import build_bridged_networks
from supercloud.plan.build.network.vlans import build_vlans
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.bundle import Bundle
from supercloud.spec.loader import load, loads
from supercloud.targets import list_targets, render

EXAMPLE = ROOT / "examples" / "05-superpod-networks" / "cluster.yaml"
SPEC = """\
name: bridged
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools:
  - {name: train, machine: dgx-h100, nodes: 8, fabrics: [in-band, management]}
fabrics:
  - {name: in-band, kind: ethernet, shape: rail-optimized, switch: nvidia-sn4600c, os: OS, tiers: 1, peer_links: PEERS}
  - {name: management, kind: ethernet, shape: fat-tree, switch: nvidia-sn2201, os: OS}
network: {vlans: {VLANS}}
"""


@cache
def render_four_networks() -> tuple[Plan, Bundle]:
    plan = resolve(load(EXAMPLE))
    return plan, render(plan, "ethernet")


def build_bridged_plan(system: str = "nvue", peers: int = 1, vlans: str = "", pools: str = "") -> Plan:
    text = SPEC.replace("OS", system).replace("PEERS", str(peers)).replace("VLANS", vlans)
    return resolve(loads(text.replace("fabrics:\n", f"{pools}fabrics:\n", 1)))


@cache
def read_switches() -> dict[str, Any]:
    _, bundle = render_four_networks()
    return {
        Path(path).stem: yaml.load(text, yaml.CSafeLoader)[0]["set"]
        for path, text in bundle.items()
        if path.endswith(".yaml")
    }


def find_acting_port(config: dict[str, Any], port: str) -> tuple[str, dict[str, Any]]:
    """The bundle that a port is in, or the port itself."""
    for name, item in config["interface"].items():
        if port in item.get("bond", {}).get("member", {}):
            return name, item
    return port, config["interface"][port]


def list_vlans(config: dict[str, Any], port: str) -> set[int]:
    name, item = find_acting_port(config, port)
    if name == "peerlink":
        return {int(vlan) for vlan in config["bridge"]["domain"]["br_default"]["vlan"]}
    domain = item["bridge"]["domain"]["br_default"]
    return {domain["access"]} if "access" in domain else {int(vlan) for vlan in domain["vlan"]}


@pytest.mark.slow
def test_each_ethernet_switch_of_the_examples_has_a_configuration_or_a_finding() -> None:
    for spec in sorted((ROOT / "examples").glob("0[1-35-8]-*/cluster.yaml")):
        plan = resolve(load(spec))
        lacking = {item.path for item in plan.findings if item.check == "network-bridging"}
        there = {
            Path(path).stem
            for target in ("ethernet", "roce")
            if target in list_targets(plan)
            for path in render(plan, target)
        }
        for number, fabric in enumerate(plan.spec.fabrics):
            for run in plan.networks.switches if plan.networks else ():
                if run.fabric == fabric.name and run.network_os and f"fabrics[{number}]" not in lacking:
                    assert {run.format_name(index) for index in range(run.tier.count)} <= there, (spec, fabric.name)


@pytest.mark.slow
def test_both_ends_of_each_cable_agree() -> None:
    plan, _ = render_four_networks()
    switches = read_switches()
    cabling = render(plan, "cabling")
    hosts: dict[tuple[str, str], list[tuple[bool, set[int]]]] = {}
    between = 0
    for network in ("in-band", "management"):
        for row in csv.DictReader(io.StringIO(cabling[f"{network}.csv"])):
            a, b = switches.get(row["a_device"]), switches.get(row["b_device"])
            if b is None:
                continue
            far_name, far = find_acting_port(b, row["b_system_port"])
            if a is not None and row["a_system_port"]:
                between += 1
                near_name, _ = find_acting_port(a, row["a_system_port"])
                assert list_vlans(a, row["a_system_port"]) == list_vlans(b, row["b_system_port"]), row
                assert ("bond" in near_name) == ("bond" in far_name), row  # LACP on both sides, or on neither
            else:
                found = hosts.setdefault((network, row["a_device"]), [])
                found.append(("bond" in far, list_vlans(b, row["b_system_port"])))
                assert far["bridge"]["domain"]["br_default"]["stp"]["admin-edge"] == "enabled"
    assert between == 24 + 6 + 16  # uplinks, peer links, links of management switches
    for (network, host), ends in hosts.items():
        assert len({(bundled, tuple(vlan)) for bundled, vlan in ends}) == 1, host
        assert ends[0][0] == (len(ends) > 1), (network, host)
    assert len([host for network, host in hosts if network == "in-band"]) == 127 + 4 + 4


def test_a_pair_is_one_switch() -> None:
    switches = read_switches()
    macs = set()
    for first in (1, 3, 5):
        one, other = (switches[f"in-band-leaf-{number:03d}"] for number in (first, first + 1))
        spanning = [
            {
                (item["bond"]["mlag"]["id"], item["description"], str(item["bridge"]))
                for item in switch["interface"].values()
                if "mlag" in item.get("bond", {})
            }
            for switch in (one, other)
        ]
        assert spanning[0] == spanning[1] and len({number for number, _, _ in spanning[0]}) == len(spanning[0])
        assert one["mlag"]["mac-address"] == other["mlag"]["mac-address"]
        macs.add(one["mlag"]["mac-address"])
        addresses = [switch["interface"]["eth0"]["ipv4"]["address"] for switch in (one, other)]
        assert [next(iter(switch["mlag"]["backup"])) for switch in (other, one)] == [
            next(iter(address)).partition("/")[0] for address in addresses
        ]
        assert one["bridge"] == other["bridge"]  # both are one bridge of the spanning tree
    assert len(macs) == 3
    roots = [
        switches[f"in-band-spine-00{number}"]["bridge"]["domain"]["br_default"]["stp"]["priority"] for number in (1, 2)
    ]
    assert roots == [4096, 8192]


def test_nvue_pairs_run_mlag_without_a_second_address() -> None:
    """MLAG is off unless it is set; ``eth0`` asks by DHCP from the factory on, and a static address changes nothing."""
    switches = read_switches()
    pairs = [switch for switch in switches.values() if "peerlink" in switch["interface"]]
    assert len(pairs) == 6 and {switch["mlag"]["state"] for switch in pairs} == {"enabled"}
    cabled = [switch["interface"]["eth0"]["ipv4"] for switch in switches.values() if "eth0" in switch["interface"]]
    assert len(cabled) > len(pairs) and all(item["dhcp-client"] == {"state": "disabled"} for item in cabled)


@pytest.mark.slow
def test_nvue_files_match_the_object_model() -> None:
    _, bundle = render_four_networks()
    checker = jsonschema.Draft202012Validator(NVUE_BRIDGED)
    for path in (
        "in-band/leaf/in-band-leaf-001.yaml",
        "in-band/spine/in-band-spine-002.yaml",
        "management/leaf/management-leaf-008.yaml",
    ):
        checker.validate(yaml.safe_load(bundle[path]))


@pytest.mark.slow
def test_nvue_files_use_the_keys_of_their_release() -> None:
    _, bundle = render_four_networks()
    texts = [text for path, text in bundle.items() if path.endswith(".yaml")]
    commands = {command for text in texts for command in iter_commands(yaml.safe_load(text)[0]["set"])}
    assert not [command for command in commands for old in RENAMED if uses(command, old)]
    assert not [command for command in commands if command.split()[-1] in ("on", "off") or " enable " in command]
    bridged = [new for new in RENAMED.values() if "router" not in new]
    assert [new for new in bridged if not any(uses(command, new) for command in commands)] == []
    assert all("release 5.15 or later" in text.splitlines()[0] for text in texts)


@pytest.mark.parametrize("system, files", [("eos", True), ("nvue", True), ("sonic", False), ("frr", False)])
def test_pairs_are_rendered_only_for_systems_with_mlag(system: str, files: bool) -> None:
    plan = build_bridged_plan(system)
    assert not plan.errors, plan.errors
    findings = {item.path: item.hint for item in plan.findings if item.check == "network-bridging"}
    assert list(findings) == ([] if files else ["fabrics[0]"])
    assert files or findings["fabrics[0]"].startswith("set os: nvue if the switch runs it, or "), (
        "the vendor's, with MLAG"
    )
    bundle = render(plan, "ethernet")
    assert any(path.startswith("in-band/leaf/") for path in bundle) == files
    assert any(path.startswith("management/leaf/") for path in bundle)
    assert ("none: " in bundle["INSTALL.md"]) != files


@pytest.mark.parametrize("system", ["eos", "nvue", "sonic", "frr"])
def test_links_to_two_switches_without_a_pair_are_not_aggregated(system: str) -> None:
    bundle = render(build_bridged_plan(system, peers=0), "ethernet")
    text = "".join(text for path, text in bundle.items() if path.startswith("in-band/leaf/"))
    assert "active-backup" in bundle["in-band/hosts/train/bond.sh"]
    assert not any(word in text for word in ("channel-group", "bond:", "PORTCHANNEL", "\nbundle "))


def test_sonic_fragments_are_strings_and_refer_to_existing_objects() -> None:
    bundle = render(build_bridged_plan("sonic", peers=0), "ethernet")
    tables = json.loads(bundle["in-band/leaf/in-band-leaf-001.json"])
    for key, entry in tables["VLAN_MEMBER"].items():
        vlan, port = key.split("|")
        assert vlan in tables["VLAN"] and port in tables["PORT"] and entry["tagging_mode"] in ("tagged", "untagged")
    assert all(
        isinstance(value, str) for table in tables.values() for entry in table.values() for value in entry.values()
    )


@pytest.mark.slow
def test_adding_a_pool_renumbers_no_vlan() -> None:
    more = "  - {name: more, machine: dgx-h100, nodes: 8, fabrics: [in-band, management]}\n"
    before, after = (build_vlans(build_bridged_plan(pools=pools)) for pools in ("", more))
    assert {name: vlan.number for name, vlan in before.items()}.items() <= {
        name: vlan.number for name, vlan in after.items()
    }.items()
    assert len(after) == len(before) + 2


def test_vlans_can_be_declared() -> None:
    plan = build_bridged_plan(vlans="in-band-train: 30")
    assert not plan.errors
    text = render(plan, "ethernet")["in-band/leaf/in-band-leaf-001.yaml"]
    assert "access: 30\n" in text and "access: 2000" not in text


@pytest.mark.parametrize(
    "vlans, message",
    [
        ("trian: 30", "unknown bridged subnet 'trian'"),
        ("in-band-train: 100", "service and in-band-train are both in VLAN 100"),
    ],
)
def test_invalid_vlans_are_errors(vlans: str, message: str) -> None:
    (found,) = [item for item in build_bridged_plan(vlans=vlans).errors if item.check == "network-vlans"]
    assert message in found.problem and found.hint


def run_bond(
    tmp_path: Path, script: str, interfaces: tuple[str, ...], how: str, host: str = "train-0001"
) -> subprocess.CompletedProcess[str]:
    """Run bond.sh on a host that has these interfaces, each perhaps with the RDMA device before it: ``mlx5_2:eth7``."""
    for folder in ("etc/systemd/network", "sys/class/net", "bin"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for item in interfaces:
        device, _, name = item.rpartition(":")
        (tmp_path / "sys/class/net" / name).mkdir()
        if device:
            (tmp_path / "sys/class/infiniband" / device / "device/net" / name).mkdir(parents=True)
    (tmp_path / "bin/ip").write_text(f'#!/bin/sh\necho "$@" >>"{tmp_path}/calls"\n')
    (tmp_path / "bin/ip").chmod(0o755)
    (tmp_path / "bin/hostname").write_text(f"#!/bin/sh\necho {host}\n")
    (tmp_path / "bin/hostname").chmod(0o755)
    (tmp_path / "bond.sh").write_text(script)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "DESTDIR": str(tmp_path)}
    return subprocess.run(["bash", tmp_path / "bond.sh", how], env=environment, capture_output=True, text=True)


def test_bonds_are_configured_in_systemd_networkd(tmp_path: Path) -> None:
    _, bundle = render_four_networks()
    done = run_bond(tmp_path, bundle["in-band/hosts/train/bond.sh"], ("in-band0", "in-band1"), "networkd")
    assert done.returncode == 0, done.stderr
    found = {}
    for path in (tmp_path / "etc/systemd/network").glob("40-*"):
        parsed = configparser.ConfigParser(strict=True)
        parsed.optionxform = str  # type: ignore[assignment,method-assign]
        parsed.read(path)
        found[path.name.partition("bond2")[2]] = {name: dict(parsed[name]) for name in parsed.sections()}
    assert found[".netdev"]["Bond"]["Mode"] == "802.3ad" and found[".netdev"]["NetDev"]["Kind"] == "bond"
    assert found["-links.network"] == {
        "Match": {"Name": "in-band0 in-band1"},
        "Network": {"Bond": "bond2", "LLDP": "yes", "EmitLLDP": "yes"},
    }
    assert found[".network"]["Network"] == {"DHCP": "ipv4"}


@pytest.mark.parametrize(
    "database, host, address",
    [
        ("", "ctl-02", "10.0.0.12/16"),
        ("", "debian", None),
        ("database: {name: ctl-03}", "ctl-01", "10.0.0.11/16"),
        ("database: {name: ctl-03}", "ctl-03", ""),
    ],
)
def test_dhcp_servers_have_static_addresses(tmp_path: Path, database: str, host: str, address: str | None) -> None:
    """The bond of the controllers asked by DHCP, which they serve: neither ever had an address."""
    scheduler = f"machine: management-server, controllers: [{{name: ctl-01}}, {{name: ctl-02}}], {database}"
    plan = resolve(
        loads(
            SPEC.replace("OS", "nvue")
            .replace("PEERS", "1")
            .replace("VLANS", "")
            .replace('version: "25.11"', f'version: "25.11", {scheduler}')
        )
    )
    script = render(plan, "ethernet")["in-band/hosts/ctl/bond.sh"]
    done = run_bond(tmp_path, script, ("in-band0", "in-band1"), "networkd", host)
    written = list((tmp_path / "etc/systemd/network").glob("40-bond?.network"))
    if address is None:
        assert done.returncode == 1 and not written
        assert "debian is not one of ctl-01, ctl-02: set the host name" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    parsed = configparser.ConfigParser(strict=True)
    parsed.read(written)
    fixed = {"address": address, "gateway": "10.0.0.254"}
    assert dict(parsed["Network"]) == (fixed if address else {"dhcp": "ipv4"})
    (tmp_path / "calls").unlink(missing_ok=True)
    assert (
        subprocess.run(
            ["bash", tmp_path / "bond.sh", "ip"],
            env={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "DESTDIR": str(tmp_path)},
        ).returncode
        == 0
    )
    calls = (tmp_path / "calls").read_text()
    assert (f"address replace {address} dev bond0\nroute replace default via 10.0.0.254" in calls) == bool(address)


@pytest.mark.parametrize("how", ["networkd", "ip"])
@pytest.mark.parametrize("present", [(), ("in-band0",), ("eth0", "eth1")])
def test_bonds_of_missing_interfaces_are_not_configured(tmp_path: Path, how: str, present: tuple[str, ...]) -> None:
    """The files of a bond without links were written, and the script ended with 0."""
    _, bundle = render_four_networks()
    done = run_bond(tmp_path, bundle["in-band/hosts/train/bond.sh"], present, how)
    assert done.returncode == 1 and "unknown interface in-band1" in done.stderr, done.stderr
    assert "RDMA devices of dgx-h100" in done.stderr and "systemd.link" in done.stderr
    assert not list((tmp_path / "etc/systemd/network").iterdir()) and not (tmp_path / "calls").exists()


@pytest.mark.slow
def test_bonds_use_the_interfaces_of_known_devices(tmp_path: Path) -> None:
    (tmp_path / "catalog/machines").mkdir(parents=True)
    adapter = "{role: in-band, kind: ethernet, count: 2, speed: 200 Gb/s, devices: [mlx5_2, mlx5_8]}"
    overlay = f"name: dgx-h100\nadapters:\n  - {adapter}\n"
    (tmp_path / "catalog/machines/dgx-h100.yaml").write_text(overlay)
    plan = resolve(
        loads(
            SPEC.replace("OS", "nvue").replace("PEERS", "1").replace("VLANS", "") + f"catalog: {tmp_path / 'catalog'}\n"
        )
    )
    assert not [item for item in plan.findings if item.check == "network-bonds"]
    script = render(plan, "ethernet")["in-band/hosts/train/bond.sh"]
    done = run_bond(tmp_path, script, ("mlx5_2:ens7", "mlx5_8:ens9"), "networkd")
    assert done.returncode == 0, done.stderr
    assert "Name=ens7 ens9\n" in (tmp_path / "etc/systemd/network/40-bond0-links.network").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("example", ["05-superpod-networks", "07-storage"])
def test_bonds_match_the_cables(example: str) -> None:
    plan = resolve(load(ROOT / "examples" / example / "cluster.yaml"))
    for network in build_bridged_networks(plan):
        assert {bond.group: bond.ports for bond in network.bonds} == find_bond_groups(network.fabric)


def test_bonds_of_unknown_devices_are_a_finding() -> None:
    (found,) = [item for item in build_bridged_plan().findings if item.check == "network-bonds"]
    assert found.path == "fabrics[0]" and "dgx-h100" in found.problem and "in-band0, in-band1" in found.problem


@pytest.mark.parametrize("system", ["eos", "nvue"])
def test_files_are_merged_into_the_running_configuration(system: str) -> None:
    text = render(build_bridged_plan(system), "ethernet")["INSTALL.md"]
    steps = "".join(text.split("```\n")[1::2])
    assert "<switch>" in steps and "configure replace" not in steps and "config replace" not in steps
    assert "commit timer" in steps or "apply --confirm\n" in steps
    assert all(path.startswith('"$PWD/') for path in steps.split("nv config patch ")[1:])  # NVUE takes full paths only
