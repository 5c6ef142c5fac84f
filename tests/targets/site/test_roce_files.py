"""One contract in four dialects and on the nodes, read back from the rendered text; and the shape of each file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from nvue_schema import NVUE
from nvue_words import RENAMED, commands, uses
from plan.test_resolve import planned, train
from samples import ROOT

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.bundle import Bundle
from supercloud.spec.loader import load
from supercloud.targets import render
from supercloud.targets.site.roce.nodes import list_reachable_blocks

pytestmark = pytest.mark.slow

DIALECTS = ("eos", "frr", "nvue", "sonic")
ROCE = {
    "name": "compute",
    "kind": "roce",
    "shape": "rail-optimized",
    "switch": "nvidia-sn5600",
    "leaf_down": 8,
    "leaf_up": 8,
    "su": 8,
}
ODD = {
    "dscp": 24,
    "priority": 4,
    "cnp_dscp": 46,
    "cnp_priority": 7,
    "mtu": 9100,
    "host_mtu": 4200,
    "ecn": {"min": "150 kB", "max": "3000 kB", "probability": 7},
}


@dataclass(frozen=True)
class Said:
    """What a switch says of the contract."""

    dscp: tuple[int, int]
    """DSCP and priority of data."""
    cnp: tuple[int, int]
    lossless: frozenset[int]
    ecn: tuple[int, int, int]
    """Bytes, bytes, percent."""
    mtu: int


def plan_of(dialect: str, **changes: Any) -> Plan:
    plan = planned(pools=train("dgx-h100", 16), fabrics=[ROCE | {"os": dialect} | changes])
    assert not plan.errors, plan.errors
    return plan


def numbers(text: str, pattern: str) -> list[tuple[int, ...]]:
    found = [tuple(map(int, item)) for item in re.findall(pattern, text)]
    assert found, pattern
    return found


def eos(bundle: Bundle) -> Said:
    text = bundle["compute/leaf/qos.cfg"]
    maps = numbers(text, r"qos map dscp (\d+) to traffic-class (\d+)")
    low, high, chance = numbers(
        text,
        r"minimum-threshold (\d+) kbytes maximum-threshold (\d+) kbytes max-mark-"
        r"probability (\d+)",
    )[0]
    lossless = frozenset(map(int, re.findall(r"priority-flow-control priority (\d) no-drop", text)))
    (mtu,) = set(map(int, re.findall(r"\n   mtu (\d+)", text)))
    return Said(maps[0], maps[1], lossless, (low * 1000, high * 1000, chance), mtu)  # type: ignore[arg-type]


def frr(bundle: Bundle) -> Said:
    text = bundle["compute/leaf/qos.sh"]
    (maps,) = numbers(text, r"dscp-prio (\d+):(\d) (\d+):(\d)")
    (ecn,) = re.findall(r" min (\d+) max (\d+) .*\n.*probability ([\d.]+) .* ecn\n", text)
    lossless = frozenset(map(int, re.findall(r"all:off (\d):on", text)))
    (mtu,) = map(int, re.findall(r" mtu (\d+)", text))
    return Said(maps[:2], maps[2:], lossless, (int(ecn[0]), int(ecn[1]), round(float(ecn[2]) * 100)), mtu)  # type: ignore[arg-type]


def nvue(bundle: Bundle) -> Said:
    (patch,) = yaml.safe_load(bundle["compute/leaf/qos.yaml"])
    qos = patch["set"]["qos"]
    data, cnp = ((int(key), value["switch-priority"]) for key, value in qos["mapping"]["roce"]["dscp"].items())
    (marked,) = qos["congestion-control"]["roce"]["traffic-class"].items()
    ecn = tuple(marked[1][key] for key in ("min-threshold", "max-threshold", "probability"))
    assert int(marked[0]) == data[1] and marked[1]["ecn"] == "enable"
    (mtu,) = {port["link"]["mtu"] for port in patch["set"]["interface"].values()}
    return Said(data, cnp, frozenset(map(int, qos["pfc"]["roce"]["switch-priority"])), ecn, mtu)


def sonic(bundle: Bundle) -> Said:
    tables = json.loads(bundle["compute/leaf/qos.json"])
    mapped = {int(key): int(value) for key, value in tables["DSCP_TO_TC_MAP"]["ROCE"].items()}
    assert sorted(mapped) == list(range(64))
    data, cnp = sorted(((key, value) for key, value in mapped.items() if value), key=lambda item: item[1])
    marks = tables["WRED_PROFILE"]["ROCE_ECN"]
    ecn = tuple(int(marks[f"green_{key}"]) for key in ("min_threshold", "max_threshold", "drop_probability"))
    (lossless,) = {port["pfc_enable"] for key, port in tables["PORT_QOS_MAP"].items() if key != "global"}
    (mtu,) = {int(port["mtu"]) for port in tables["PORT"].values()}
    marked = {key.partition("|")[2] for key, queue in tables["QUEUE"].items() if "wred_profile" in queue}
    assert marked == {str(data[1])}
    return Said(data, cnp, frozenset(map(int, lossless.split(","))), ecn, mtu)  # type: ignore[arg-type]


READERS = {"eos": eos, "frr": frr, "nvue": nvue, "sonic": sonic}


@pytest.mark.parametrize("qos", [{}, ODD], ids=["as in the catalog", "declared"])
def test_all_dialects_and_nodes_say_the_same(qos: dict[str, Any]) -> None:
    plans = {dialect: plan_of(dialect, qos=qos) for dialect in DIALECTS}
    bundles = {dialect: render(plan, "roce") for dialect, plan in plans.items()}
    said = {READERS[dialect](bundle) for dialect, bundle in bundles.items()}
    assert len(said) == 1, said
    (one,) = said
    assert one.dscp == (qos.get("dscp", 26), qos.get("priority", 3))
    assert one.cnp == (qos.get("cnp_dscp", 48), qos.get("cnp_priority", 6))
    assert one.lossless == {one.dscp[1]}
    assert one.ecn == ((150_000, 3_000_000, 7) if qos else (1_000_000, 2_000_000, 5))
    assert one.mtu == qos.get("mtu", 9216)
    files = ("roce-qos.sh", "roce-rails.sh", "nccl.conf")
    nodes = {json.dumps([bundle[f"compute/nodes/train/{name}"] for name in files]) for bundle in bundles.values()}
    assert len(nodes) == 1  # nodes do not see what their switches run
    script, rails, nccl = json.loads(nodes.pop())
    assert f"--dscp2prio=set,{one.dscp[0]},{one.dscp[1]}\n" in script
    assert f"--dscp2prio=set,{one.cnp[0]},{one.cnp[1]}\n" in script
    flow = ",".join("1" if priority in one.lossless else "0" for priority in range(8))
    assert f"-f {flow}\n" in script and f"roce_np/enable/{one.dscp[1]}\n" in script
    assert f"echo {one.cnp[0]} >" in script and f"echo {one.cnp[1]} >" in script
    assert f"NCCL_IB_TC={one.dscp[0] * 4}\n" in nccl and f"echo {one.dscp[0] * 4} >" in script
    assert f"MTUBytes={qos.get('host_mtu', 9000)}" in rails and f"mtu {qos.get('host_mtu', 9000)}" in script
    (shares,) = re.findall(r" -s \S+ -t ([\d,]+)\n", script)
    assert sum(map(int, shares.split(","))) == 100


def test_oversubscribed_tiers_mark_earlier() -> None:
    plan = plan_of("sonic", oversubscription={"leaf": 2}, leaf_up=None)
    bundle = render(plan, "roce")
    marks = {
        tier: json.loads(bundle[f"compute/{tier}/qos.json"])["WRED_PROFILE"]["ROCE_ECN"]["green_min_threshold"]
        for tier in ("leaf", "spine")
    }
    assert marks == {"leaf": "500000", "spine": "1000000"}


def test_routing_is_the_same_in_all_dialects() -> None:
    """(AS number, loopback, prefix, paths, sessions with the AS number expected) of every switch."""
    found = []
    for dialect in DIALECTS:
        bundle = render(plan_of(dialect, routing={"bfd": True}), "roce")
        said: dict[str, Any] = {}
        for path, text in bundle.items():
            name = re.search(r"compute-(leaf|spine)-\d+", path)
            if not name or path.endswith("switch.json"):
                continue
            if dialect == "nvue":
                (patch,) = yaml.safe_load(text)
                router, bgp = patch["set"]["router"]["bgp"], patch["set"]["vrf"]["default"]["router"]["bgp"]
                family = bgp["address-family"]["ipv4-unicast"]
                peers = sorted(str(peer["remote-as"]) for peer in bgp["neighbor"].values())
                said[name.group()] = (
                    str(router["autonomous-system"]),
                    router["router-id"],
                    *family["network"],
                    *family.get("aggregate-route", [""]),
                    str(family["multipaths"]["ebgp"]),
                    peers,
                )
                continue
            one = [
                re.search(pattern, text)
                for pattern in (
                    r"router bgp (\d+)",
                    r"router-id (\S+)",
                    r" network (\S+)",
                    r"aggregate-address (\S+) summary-only",
                    r"maximum-paths (\d+)",
                )
            ]
            peers = sorted(re.findall(r"remote-as (\d+)", text))
            said[name.group()] = (*(match.group(1) if match else "" for match in one), peers)
        found.append(said)
    assert len(found[0]) > 16
    assert all(said == found[0] for said in found)


TEXT = {"type": "string"}
PORT = r"^Ethernet\d+"
DIGITS = {"type": "string", "pattern": r"^\d+$"}
PRIORITY = {"type": "string", "pattern": r"^([0-7](,[0-7])*)?$"}


def table(key: str, fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    entry = {"type": "object", "properties": fields, "additionalProperties": False} | more
    return {"type": "object", "patternProperties": {key: entry}, "additionalProperties": False}


# Written after the YANG models of sonic-buildimage (src/sonic-yang-models): they are on no package registry.
MAP = {"type": "object", "patternProperties": {r"^\w+$": {"type": "object", "additionalProperties": DIGITS}}}
COLOURS = {
    f"{colour}_{key}": DIGITS
    for colour in ("green", "yellow", "red")
    for key in ("min_threshold", "max_threshold", "drop_probability")
}
SONIC = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "DEVICE_METADATA": table(
            r"^localhost$",
            {
                "hostname": {"type": "string", "maxLength": 63},
                "bgp_asn": DIGITS,
                "type": {"enum": ["ToRRouter", "LeafRouter", "SpineRouter"]},
                "docker_routing_config_mode": {"enum": ["unified", "split", "separated", "split-unified"]},
            },
        ),
        "INTERFACE": table(PORT + r"(\|[\d.]+/\d+)?$", {"ipv6_use_link_local_only": {"enum": ["enable", "disable"]}}),
        "LOOPBACK_INTERFACE": table(r"^Loopback\d+(\|[\d.]+/32)?$", {}),
        "MGMT_INTERFACE": table(r"^eth0\|[\d.]+/\d+$", {"gwaddr": TEXT}),
        "PORT": table(
            PORT + "$",
            {
                "description": {"type": "string", "maxLength": 255},
                "mtu": DIGITS,
                "admin_status": {"enum": ["up", "down"]},
            },
        ),
        "CABLE_LENGTH": table(r"^AZURE$", {}, additionalProperties={"type": "string", "pattern": r"^\d+m$"}),
        "DSCP_TO_TC_MAP": MAP,
        "MAP_PFC_PRIORITY_TO_QUEUE": MAP,
        "TC_TO_PRIORITY_GROUP_MAP": MAP,
        "TC_TO_QUEUE_MAP": MAP,
        "PFC_WD": table(
            rf"^GLOBAL$|{PORT}$",
            {
                "POLL_INTERVAL": DIGITS,
                "action": {"enum": ["drop", "forward", "alert"]},
                "detection_time": DIGITS,
                "restoration_time": DIGITS,
            },
        ),
        "PORT_QOS_MAP": table(
            rf"^global$|{PORT}$",
            {
                "dscp_to_tc_map": TEXT,
                "tc_to_pg_map": TEXT,
                "tc_to_queue_map": TEXT,
                "pfc_to_queue_map": TEXT,
                "pfc_enable": PRIORITY,
                "pfcwd_sw_enable": PRIORITY,
            },
        ),
        "QUEUE": table(PORT + r"\|[0-7]$", {"scheduler": TEXT, "wred_profile": TEXT}),
        "SCHEDULER": table(r"^[\w.]+$", {"type": {"enum": ["DWRR", "WRR", "STRICT"]}, "weight": DIGITS}),
        "WRED_PROFILE": table(
            r"^[a-zA-Z0-9][-a-zA-Z0-9_]{0,31}$",
            {
                "ecn": {"enum": ["ecn_none", "ecn_green", "ecn_all"]},
                **{f"wred_{colour}_enable": {"enum": ["true", "false"]} for colour in ("green", "yellow", "red")},
            }
            | COLOURS,
        ),
    },
}


def test_sonic_fragments_fit_its_models() -> None:
    bundle = render(plan_of("sonic"), "roce")
    fragments = {path: json.loads(text) for path, text in bundle.items() if path.endswith(".json")}
    assert len(fragments) > 4
    for fragment in fragments.values():
        jsonschema.validate(fragment, SONIC)
    qos = fragments["compute/leaf/qos.json"]
    for port in qos["PORT_QOS_MAP"].values():  # every reference has what it refers to
        assert port["dscp_to_tc_map"] in qos["DSCP_TO_TC_MAP"]
    for queue in qos["QUEUE"].values():
        assert queue["scheduler"] in qos["SCHEDULER"]
        assert queue.get("wred_profile", "ROCE_ECN") in qos["WRED_PROFILE"]
    for name, fragment in fragments.items():
        if name.startswith("compute/leaf/compute"):
            ports = {key.partition("|")[0] for key in fragment["INTERFACE"]}
            assert ports <= set(qos["PORT"])
    for key in ("detection_time", "restoration_time"):  # sonic-pfcwd.yang: not below the poll interval
        assert all(
            int(item[key]) >= int(qos["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"])
            for port, item in qos["PFC_WD"].items()
            if port != "GLOBAL"
        )


def test_nvue_files_fit_its_object_model() -> None:
    """Every file of every switch against the closed part of NVUE's model that is used, and its references."""
    check = jsonschema.Draft202012Validator(NVUE)
    variants: list[dict[str, Any]] = [{}, {"routing": {"bfd": True}}, {"qos": {"dscp": 24, "priority": 4, "mtu": 9100}}]
    for changes in variants:
        profiles: set[str] = set()
        for path, text in render(plan_of("nvue", **changes), "roce").items():
            if not path.endswith(".yaml"):
                continue
            data = yaml.safe_load(text)
            assert not [f"{path}: {list(error.absolute_path)}: {error.message}" for error in check.iter_errors(data)]
            given = data[0]["set"]
            if "qos" in given:
                profiles = set(given["qos"]["pfc"])
                shares = [
                    item.get("bw-percent", 0)
                    for profile in given["qos"]["egress-scheduler"].values()
                    for item in profile["traffic-class"].values()
                ]
                assert sum(shares) == 100
                for port in given["interface"].values():
                    assert {item["profile"] for item in port["qos"].values() if "profile" in item} <= profiles
            else:
                policy = given["router"]["policy"]
                lists = {
                    rule["match"]["ip-prefix-list"]
                    for item in policy["route-map"].values()
                    for rule in item["rule"].values()
                }
                assert lists <= set(policy["prefix-list"])
                bgp = given["vrf"]["default"]["router"]["bgp"]
                assert set(bgp["neighbor"]) <= set(given["interface"])
                assert {item["peer-group"] for item in bgp["neighbor"].values()} <= set(bgp["peer-group"])
        assert profiles
    broken = [{"set": {"qos": {"pfc": {"roce": {"switch-priority": {"8": {}}, "tx": "enable", "rx": "on"}}}}}]
    assert len(list(check.iter_errors(broken))) == 2


def nulls(data: Any, path: str = "") -> list[str]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path] if data is None else [found for key, value in items for found in nulls(value, f"{path}.{key}")]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fabric_of_one_leaf_has_no_sessions_and_is_asked_for_none(dialect: str) -> None:
    """NVUE was given ``neighbor:`` with nothing in it, and INSTALL.md asked for 0 next hops."""
    fabric = {"name": "compute", "kind": "roce", "shape": "fat-tree", "switch": "nvidia-sn5600", "os": dialect}
    plan = planned(pools=train("dgx-h100", 4), fabrics=[fabric])
    assert not plan.errors and plan.fabrics[0].count_switches("leaf") == 1, plan.errors
    bundle = render(plan, "roce")
    for path, text in bundle.items():
        if path.endswith(".yaml"):
            data = yaml.safe_load(text)
            jsonschema.validate(data, NVUE)
            assert not nulls(data), path
        assert "(0)" not in text and "redistribute connected" not in text
    install = bundle["INSTALL.md"]
    assert "bgp summary" not in install and "session names" not in install and "show ip route connected" in install
    assert "bgp summary" in render(plan_of(dialect), "roce")["INSTALL.md"]


def nvue_commands(bundle: Bundle) -> set[str]:
    return {
        command
        for path, text in bundle.items()
        if path.endswith(".yaml")
        for command in commands(yaml.safe_load(text)[0]["set"])
    }


def test_nvue_files_have_the_words_of_the_release_that_they_name() -> None:
    """They had the words up to 5.14 and named no release, while the catalog quoted the pages of 5.15."""
    bundle = render(plan_of("nvue", routing={"bfd": True}), "roce")
    said = nvue_commands(bundle)
    assert not [command for command in said for old in RENAMED if uses(command, old)]
    assert not [command for command in said if command.split()[-1] in ("on", "off") or " enable " in command]
    used = [old for old, new in RENAMED.items() if any(uses(command, new) for command in said)]
    assert len(used) == 12, "every word of routing"
    assert {text.splitlines()[0].partition(" for ")[2] for path, text in bundle.items() if path.endswith(".yaml")} == {
        "NVIDIA Cumulus Linux with NVUE, release 5.15 or later; edits are lost"
    }
    (profile,) = [
        command for command in said if uses(command, "vrf default router bgp peer-group FABRIC bfd profile *")
    ]
    assert f"router bfd profile {profile.split()[-1]}" in said and "router bfd state enabled" in said


@pytest.mark.parametrize("release, loads", [("5.14.0", False), ("5.9.2", False), ("5.15.0", True), ("5.16.1", True)])
def test_loading_refuses_a_release_with_other_words(release: str, loads: bool, tmp_path: Path) -> None:
    (tmp_path / "os-release").write_text(f'NAME="Cumulus Linux"\nVERSION_ID={release}\nID=cumulus-linux\n')
    text = render(plan_of("nvue"), "roce")["INSTALL.md"]
    blocks = re.findall(r"^```\n(.*?)^```", text, re.M | re.S)
    check = blocks[0].replace("/etc/os-release", str(tmp_path / "os-release"))
    assert "nv config" not in check and str(tmp_path) in check and "nv config patch" in blocks[1]
    assert (subprocess.run(["bash", "-c", check]).returncode == 0) == loads


def test_a_node_works_out_what_the_plan_says(tmp_path: Any) -> None:
    for plan in (plan_of("frr"), plan_of("frr", planes=2), resolve(load(ROOT / "examples/04-roce-24k/cluster.yaml"))):
        assert plan.networks is not None
        (underlay,) = plan.networks.underlays
        script = tmp_path / "rails.sh"
        script.write_text(render(plan, "roce")["compute/nodes/train/roce-rails.sh"])
        hosts = list(plan.pools[0].hosts)
        for node in (0, 1, len(hosts) // 2 + 1, len(hosts) - 1):
            out = subprocess.run(["bash", str(script), "show", hosts[node]], capture_output=True, text=True, check=True)
            said = [(int(item[0]), int(item[1]), item[3], item[5]) for item in map(str.split, out.stdout.splitlines())]
            assert said == [
                (link.plane, link.nic, f"{link.address}/31", link.gateway) for link in underlay.rails.iter_links(node)
            ]
        for stranger in ("train-9999", "train-2-0001"):
            refused = subprocess.run(["bash", str(script), "show", stranger], capture_output=True, text=True)
            assert refused.returncode == 2 and str(plan.pools[0].hosts) in refused.stderr


def test_no_address_is_given_where_an_interface_is_not_present(tmp_path: Any) -> None:
    """The file of the first interface was written before the script ended at /proc/sys."""
    script = tmp_path / "rails.sh"
    script.write_text(render(plan_of("frr"), "roce")["compute/nodes/train/roce-rails.sh"])
    environment = {"PATH": "/usr/bin:/bin", "DESTDIR": str(tmp_path)}
    done = subprocess.run(
        ["bash", str(script), "networkd", "train-0001"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1 and "rail0 does not exist" in done.stderr, done.stderr
    assert "rail7" in done.stderr, "all that are missing are named at once"
    assert list(tmp_path.iterdir()) == [script]


def run_rails(tmp_path: Path, script: str, how: str, host: str) -> None:
    """Run roce-rails.sh below a folder; ``ip`` notes what it is told in ``calls``."""
    names = re.findall(r'^ +"\d+ \d+ (\S+) ', script, re.M)
    for folder in (
        "etc/systemd/network",
        "bin",
        *(f"sys/class/net/{name}" for name in names),
        *(f"proc/sys/net/ipv4/conf/{name}" for name in names),
    ):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for program in ("ip", "networkctl"):
        (tmp_path / "bin" / program).write_text(f'#!/bin/sh\necho "{program} $@" >>"{tmp_path}/calls"\n')
        (tmp_path / "bin" / program).chmod(0o755)
    (tmp_path / "rails.sh").write_text(script)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "DESTDIR": str(tmp_path)}
    done = subprocess.run(["bash", tmp_path / "rails.sh", how, host], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("planes", [1, 2])
def test_a_program_that_binds_no_address_reaches_the_fabric(planes: int, tmp_path: Path) -> None:
    """Its block was in the tables of single addresses only: clients of storage went to the in-band router."""
    plan = plan_of("frr", planes=planes)
    assert plan.networks is not None
    (underlay,) = plan.networks.underlays
    assert not underlay.wiring.has_disjoint_rails
    script = render(plan, "roce")["compute/nodes/train/roce-rails.sh"]
    run_rails(tmp_path, script, "ip", "train-0001")
    calls = (tmp_path / "calls").read_text().splitlines()
    links = list(underlay.rails.iter_links(0))
    names = re.findall(r'^ +"\d+ \d+ (\S+) ', script, re.M)
    wanted = []
    for plane in range(planes):
        hops = "".join(
            f" nexthop via {link.gateway} dev {name}"
            for link, name in zip(links, names, strict=True)
            if link.plane == plane
        )
        wanted += [f"ip route replace {block}{hops}" for block in list_reachable_blocks(underlay, plane)]
    assert [call for call in calls if call.startswith("ip route") and " table " not in call] == wanted
    run_rails(tmp_path, script, "networkd", "train-0001")
    for link, name in zip(links, names, strict=True):
        routes = (tmp_path / f"etc/systemd/network/50-roce-{name}.network").read_text().split("[Route]")[1:]
        (spread,) = [route for route in routes if "MultiPathRoute" in route]
        assert spread.count("MultiPathRoute=") == len(links) / planes and "Table=" not in spread
        (alone,) = [route for route in routes if "Metric=" in route and "Table=" not in route]  # while one is down
        assert f"Destination={list_reachable_blocks(underlay, link.plane)[0]}\n" in alone
        (closed,) = [route for route in routes if "Type=unreachable" in route]  # what is bound takes no other link
        assert f"Destination={underlay.block}\n" in closed and "Table=" in closed
    ignored = list((tmp_path / "proc/sys/net/ipv4/conf").glob("*/ignore_routes_with_linkdown"))
    assert len(ignored) == len(links)  # or a link without a carrier would keep its share of them
    assert "ip route get <another's address>" in render(plan, "roce")["INSTALL.md"]


def test_a_program_has_to_bind_an_address_where_no_route_joins_the_rails(tmp_path: Path) -> None:
    fabric = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600", "pod": "rail"}
    plan = planned(pools=train("dgx-h100", 16), fabrics=[fabric])
    assert plan.networks is not None and plan.networks.underlays[0].wiring.has_disjoint_rails
    bundle = render(plan, "roce")
    run_rails(tmp_path, bundle["compute/nodes/train/roce-rails.sh"], "ip", "train-0001")
    calls = (tmp_path / "calls").read_text().splitlines()
    assert not [call for call in calls if call.startswith("ip route") and " table " not in call]
    assert "bind the address" in bundle["INSTALL.md"] and "ip route get" not in bundle["INSTALL.md"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_scripts_are_sound(dialect: str, tmp_path: Any) -> None:
    for machine in ("dgx-h100", "dgx-h200"):
        plan = planned(pools=train(machine, 16), fabrics=[ROCE | {"os": dialect}])
        for path, text in render(plan, "roce").items():
            if path.endswith(".sh"):
                (tmp_path / "script.sh").write_text(text)
                done = subprocess.run(
                    [str(Path(sys.executable).with_name("shellcheck")), str(tmp_path / "script.sh")],
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, (path, done.stdout)


def test_files_of_1600_switches() -> None:
    plan = resolve(load(ROOT / "examples/04-roce-24k/cluster.yaml"))
    bundle = render(plan, "roce")
    own = [path for path in bundle if re.search(r"compute-(leaf|spine|core)-\d+", path)]
    assert len({re.search(r"compute-\w+-\d+", path).group() for path in own}) == 1536 + 72 + 9  # type: ignore[union-attr]
    assert max(len(bundle[path]) for path in own) < 120_000


@pytest.mark.parametrize("dialect", DIALECTS)
def test_loading_merges_so_that_no_user_is_locked_out(dialect: str) -> None:
    """The files have no users or AAA of the site: whoever replaces a whole configuration with them is locked out."""
    bundle = render(plan_of(dialect), "roce")
    text = bundle["INSTALL.md"]
    steps = [line for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()]
    assert steps
    replacing = r"configure replace|config reload|config replace|startup-config|\S+ /etc/sonic/config_db\.json$"
    assert not [step for step in steps if re.search(replacing, step)]
    kept = {"eos": ("commit timer", "supercloud commit"), "nvue": ("apply --confirm", "apply --confirm-yes")}
    if dialect in kept:  # what cuts the session off is taken back by itself
        first, then = (next(at for at, step in enumerate(steps) if item in step) for item in kept[dialect])
        assert first < then
    if dialect == "nvue":  # which takes full paths only
        patches = [step for step in steps if "config patch" in step]
        assert len(patches) == 2 and all('patch "$PWD/' in step for step in patches)
    if dialect == "sonic":  # nothing is called like the file that `config reload` reads
        assert not [path for path in bundle if path.endswith("config_db.json")]
    if dialect == "eos":  # SSH listens in the default VRF only, unless it is told
        assert "\nmanagement ssh\n   vrf MGMT\n      no shutdown\n" in bundle["compute/leaf/compute-leaf-001.cfg"]
        assert "vrf MGMT\n   ip address" in bundle["compute/leaf/compute-leaf-001.cfg"]
