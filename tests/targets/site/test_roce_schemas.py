"""Files of SONiC and NVUE fit the object models of these systems, and name the release that knows their keys."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from nvue_schema import NVUE
from nvue_words import RENAMED, iter_commands, uses
from roce_plans import build_plan

from supercloud.primitives.bundle import Bundle
from supercloud.targets import render

pytestmark = pytest.mark.slow


TEXT = {"type": "string"}


PORT = r"^Ethernet\d+"


DIGITS = {"type": "string", "pattern": r"^\d+$"}


PRIORITY = {"type": "string", "pattern": r"^([0-7](,[0-7])*)?$"}


def build_table(key: str, fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    entry = {"type": "object", "properties": fields, "additionalProperties": False} | more
    return {"type": "object", "patternProperties": {key: entry}, "additionalProperties": False}


# Written after the YANG models of sonic-buildimage (src/sonic-yang-models): they are on no package registry.
MAP = {"type": "object", "patternProperties": {r"^\w+$": {"type": "object", "additionalProperties": DIGITS}}}


COLORS = {
    f"{color}_{key}": DIGITS
    for color in ("green", "yellow", "red")
    for key in ("min_threshold", "max_threshold", "drop_probability")
}


SONIC = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "DEVICE_METADATA": build_table(
            r"^localhost$",
            {
                "hostname": {"type": "string", "maxLength": 63},
                "bgp_asn": DIGITS,
                "type": {"enum": ["ToRRouter", "LeafRouter", "SpineRouter"]},
                "docker_routing_config_mode": {"enum": ["unified", "split", "separated", "split-unified"]},
            },
        ),
        "INTERFACE": build_table(
            PORT + r"(\|[\d.]+/\d+)?$", {"ipv6_use_link_local_only": {"enum": ["enable", "disable"]}}
        ),
        "LOOPBACK_INTERFACE": build_table(r"^Loopback\d+(\|[\d.]+/32)?$", {}),
        "MGMT_INTERFACE": build_table(r"^eth0\|[\d.]+/\d+$", {"gwaddr": TEXT}),
        "PORT": build_table(
            PORT + "$",
            {
                "description": {"type": "string", "maxLength": 255},
                "mtu": DIGITS,
                "admin_status": {"enum": ["up", "down"]},
            },
        ),
        "CABLE_LENGTH": build_table(r"^AZURE$", {}, additionalProperties={"type": "string", "pattern": r"^\d+m$"}),
        "DSCP_TO_TC_MAP": MAP,
        "MAP_PFC_PRIORITY_TO_QUEUE": MAP,
        "TC_TO_PRIORITY_GROUP_MAP": MAP,
        "TC_TO_QUEUE_MAP": MAP,
        "PFC_WD": build_table(
            rf"^GLOBAL$|{PORT}$",
            {
                "POLL_INTERVAL": DIGITS,
                "action": {"enum": ["drop", "forward", "alert"]},
                "detection_time": DIGITS,
                "restoration_time": DIGITS,
            },
        ),
        "PORT_QOS_MAP": build_table(
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
        "QUEUE": build_table(PORT + r"\|[0-7]$", {"scheduler": TEXT, "wred_profile": TEXT}),
        "SCHEDULER": build_table(r"^[\w.]+$", {"type": {"enum": ["DWRR", "WRR", "STRICT"]}, "weight": DIGITS}),
        "WRED_PROFILE": build_table(
            r"^[a-zA-Z0-9][-a-zA-Z0-9_]{0,31}$",
            {
                "ecn": {"enum": ["ecn_none", "ecn_green", "ecn_all"]},
                **{f"wred_{color}_enable": {"enum": ["true", "false"]} for color in ("green", "yellow", "red")},
            }
            | COLORS,
        ),
    },
}


def test_sonic_fragments_match_its_yang_models() -> None:
    bundle = render(build_plan("sonic"), "roce")
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


def test_nvue_files_match_the_object_model() -> None:
    """Every file of every switch against the closed part of NVUE's model that is used, and its references."""
    check = jsonschema.Draft202012Validator(NVUE)
    variants: list[dict[str, Any]] = [{}, {"routing": {"bfd": True}}, {"qos": {"dscp": 24, "priority": 4, "mtu": 9100}}]
    for changes in variants:
        profiles: set[str] = set()
        for path, text in render(build_plan("nvue", **changes), "roce").items():
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


def list_nvue_commands(bundle: Bundle) -> set[str]:
    return {
        command
        for path, text in bundle.items()
        if path.endswith(".yaml")
        for command in iter_commands(yaml.safe_load(text)[0]["set"])
    }


def test_nvue_files_use_the_keys_of_their_release() -> None:
    """They had the words up to 5.14 and named no release, while the catalog quoted the pages of 5.15."""
    bundle = render(build_plan("nvue", routing={"bfd": True}), "roce")
    commands = list_nvue_commands(bundle)
    assert not [command for command in commands for old in RENAMED if uses(command, old)]
    assert not [command for command in commands if command.split()[-1] in ("on", "off") or " enable " in command]
    used = [old for old, new in RENAMED.items() if any(uses(command, new) for command in commands)]
    assert len(used) == 12, "every word of routing"
    assert {text.splitlines()[0].partition(" for ")[2] for path, text in bundle.items() if path.endswith(".yaml")} == {
        "NVIDIA Cumulus Linux with NVUE, release 5.15 or later; do not edit"
    }
    (profile,) = [
        command for command in commands if uses(command, "vrf default router bgp peer-group FABRIC bfd profile *")
    ]
    assert f"router bfd profile {profile.split()[-1]}" in commands and "router bfd state enabled" in commands


@pytest.mark.parametrize("release, loads", [("5.14.0", False), ("5.9.2", False), ("5.15.0", True), ("5.16.1", True)])
def test_loading_is_refused_on_releases_with_other_keys(release: str, loads: bool, tmp_path: Path) -> None:
    (tmp_path / "os-release").write_text(f'NAME="Cumulus Linux"\nVERSION_ID={release}\nID=cumulus-linux\n')
    text = render(build_plan("nvue"), "roce")["INSTALL.md"]
    blocks = re.findall(r"^```\n(.*?)^```", text, re.M | re.S)
    check = blocks[0].replace("/etc/os-release", str(tmp_path / "os-release"))
    assert "nv config" not in check and str(tmp_path) in check and "nv config patch" in blocks[1]
    assert (subprocess.run(["bash", "-c", check]).returncode == 0) == loads
