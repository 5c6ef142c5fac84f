"""Routing of RoCE fabrics in all dialects, soundness of scripts, and how the files are loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from nvue_schema import NVUE
from plan.test_resolve import build_pools, plan_spec
from roce_plans import DIALECTS, ROCE, build_plan
from samples import ROOT

from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import render

pytestmark = pytest.mark.slow


def test_routing_is_the_same_in_all_dialects() -> None:
    """(AS number, loopback, prefix, paths, sessions with the AS number expected) of every switch."""
    found = []
    for dialect in DIALECTS:
        bundle = render(build_plan(dialect, routing={"bfd": True}), "roce")
        message: dict[str, Any] = {}
        for path, text in bundle.items():
            name = re.search(r"compute-(leaf|spine)-\d+", path)
            if not name or path.endswith("switch.json"):
                continue
            if dialect == "nvue":
                (patch,) = yaml.safe_load(text)
                router, bgp = patch["set"]["router"]["bgp"], patch["set"]["vrf"]["default"]["router"]["bgp"]
                family = bgp["address-family"]["ipv4-unicast"]
                peers = sorted(str(peer["remote-as"]) for peer in bgp["neighbor"].values())
                message[name.group()] = (
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
            message[name.group()] = (*(match.group(1) if match else "" for match in one), peers)
        found.append(message)
    assert len(found[0]) > 16
    assert all(message == found[0] for message in found)


def list_nulls(data: Any, path: str = "") -> list[str]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path] if data is None else [found for key, value in items for found in list_nulls(value, f"{path}.{key}")]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fabric_of_one_leaf_has_no_bgp_sessions(dialect: str) -> None:
    """NVUE was given ``neighbor:`` with nothing in it, and INSTALL.md asked for 0 next hops."""
    fabric = {"name": "compute", "kind": "roce", "shape": "fat-tree", "switch": "nvidia-sn5600", "os": dialect}
    plan = plan_spec(pools=build_pools("dgx-h100", 4), fabrics=[fabric])
    assert not plan.errors and plan.fabrics[0].count_switches("leaf") == 1, plan.errors
    bundle = render(plan, "roce")
    for path, text in bundle.items():
        if path.endswith(".yaml"):
            data = yaml.safe_load(text)
            jsonschema.validate(data, NVUE)
            assert not list_nulls(data), path
        assert "(0)" not in text and "redistribute connected" not in text
    install = bundle["INSTALL.md"]
    assert "bgp summary" not in install and "session names" not in install and "show ip route connected" in install
    assert "bgp summary" in render(build_plan(dialect), "roce")["INSTALL.md"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_scripts_pass_shellcheck(dialect: str, tmp_path: Any) -> None:
    for machine in ("dgx-h100", "dgx-h200"):
        plan = plan_spec(pools=build_pools(machine, 16), fabrics=[ROCE | {"os": dialect}])
        for path, text in render(plan, "roce").items():
            if path.endswith(".sh"):
                (tmp_path / "script.sh").write_text(text)
                done = subprocess.run(
                    [str(Path(sys.executable).with_name("shellcheck")), str(tmp_path / "script.sh")],
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, (path, done.stdout)


def test_files_of_1600_switches_are_small() -> None:
    plan = resolve(load(ROOT / "examples/04-roce-24k/cluster.yaml"))
    bundle = render(plan, "roce")
    own = [path for path in bundle if re.search(r"compute-(leaf|spine|core)-\d+", path)]
    assert len({re.search(r"compute-\w+-\d+", path).group() for path in own}) == 1536 + 72 + 9  # type: ignore[union-attr]
    assert max(len(bundle[path]) for path in own) < 120_000


@pytest.mark.parametrize("dialect", DIALECTS)
def test_loading_a_configuration_keeps_users_and_access(dialect: str) -> None:
    """The files have no users or AAA of the site: replacing a whole configuration with them would lock users out."""
    bundle = render(build_plan(dialect), "roce")
    text = bundle["INSTALL.md"]
    steps = [line for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()]
    assert steps
    replacing = r"configure replace|config reload|config replace|startup-config|\S+ /etc/sonic/config_db\.json$"
    assert not [step for step in steps if re.search(replacing, step)]
    kept = {"eos": ("commit timer", "supercloud commit"), "nvue": ("apply --confirm", "apply --confirm-yes")}
    if dialect in kept:  # a change that disconnects the session is reverted automatically
        first, then = (next(at for at, step in enumerate(steps) if item in step) for item in kept[dialect])
        assert first < then
    if dialect == "nvue":  # which takes full paths only
        patches = [step for step in steps if "config patch" in step]
        assert len(patches) == 2 and all('patch "$PWD/' in step for step in patches)
    if dialect == "sonic":  # nothing is called like the file that `config reload` reads
        assert not [path for path in bundle if path.endswith("config_db.json")]
    if dialect == "eos":  # SSH listens in the default VRF only, unless configured
        assert "\nmanagement ssh\n   vrf MGMT\n      no shutdown\n" in bundle["compute/leaf/compute-leaf-001.cfg"]
        assert "vrf MGMT\n   ip address" in bundle["compute/leaf/compute-leaf-001.cfg"]
