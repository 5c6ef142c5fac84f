"""Pools with adapters of different speeds on one fabric: each pool's links run at what both ends give."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
import yaml
from plan.test_resolve import plan_spec
from targets.site.nvue_schema import NVUE, NVUE_BRIDGED

from supercloud.plan.build.cabling.cables import build_cable_table
from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.summary import build_rows
from supercloud.targets import render


def build_mixed_plan(machines: dict[str, str], switch: str, **fabric: Any) -> Plan:
    pools = [
        {"name": name, "machine": machine, "nodes": 4, "fabrics": ["in-band"]} for name, machine in machines.items()
    ]
    own = {"name": "in-band", "kind": "ethernet", "shape": "fat-tree", "switch": switch}
    return plan_spec(pools=pools, fabrics=[own | fabric])


FAST_AND_SLOW = ({"slow": "dgx-h100", "fast": "dgx-b200"}, {"fast": "dgx-b200", "slow": "dgx-h100"})


@pytest.mark.parametrize("machines", FAST_AND_SLOW)
def test_links_of_each_pool_run_at_its_own_speed_in_any_order(machines: dict[str, str]) -> None:
    plan = build_mixed_plan(machines, "nvidia-sn5600", os="eos")
    fabric = plan.fabrics[0]
    assert not plan.errors
    assert {name: str(fabric.get_link_speed(name)) for name in machines} == {"slow": "200 Gb/s", "fast": "400 Gb/s"}
    assert [(tier.count, tier.radix) for tier in fabric.tiers] == [(1, 128)]  # ports at the faster speed
    assert "400 Gb/s, 200 Gb/s to slow" in str(build_rows(plan))
    table = build_cable_table(plan, fabric)
    speeds = {
        str(devices.names[0]): str(devices.link_speed or fabric.speed)
        for devices in table.devices
        if devices.kind == "node"
    }
    assert speeds == {"slow-0001": "200 Gb/s", "fast-0001": "400 Gb/s"}
    kinds = {str(name): table.kind_index[row] for row, name in enumerate(table.get_device_names("source"))}
    assert kinds["fast-0001"] >= 0 > kinds["slow-0001"]  # a cable for 400 Gb/s is none for a link of 200 Gb/s
    text = "\n".join(str(part) for part in render(plan, "ethernet").values())
    for host, speed in (("slow-0001", "200g-4"), ("fast-0001", "400g-4")):
        assert set(re.findall(rf"description {host}.*\n   speed (\S+)", text)) == {speed}


def read_speeds(system: str, text: str, host: str) -> set[str]:
    """The speeds that a rendered switch sets on the ports of a host, as its operating system writes them."""
    if system == "sonic":
        return {port.get("speed", "") for port in json.loads(text)["PORT"].values() if host in port["description"]}
    if system == "nvue":
        jsonschema.validate(yaml.safe_load(text), NVUE_BRIDGED if "br_default" in text else NVUE)
        ports = yaml.safe_load(text)[0]["set"]["interface"].values()
        return {
            str(port.get("link", {}).get("speed", ""))
            for port in ports
            if port.get("type") == "swp" and host in port.get("description", "")
        }
    blocks = [
        block
        for block in re.split(r"\n!\n", text)
        if f"description {host}" in block and "Port-Channel" not in block.split("\n")[0]
    ]
    return {"".join(re.findall(r"\n +speed (\S+)", block)) for block in blocks}


# EOS names the lanes of a cage that is split, so that it says a speed for every port of it; NVUE and SONiC bring ports
# up at the speed of their mode; Linux negotiates and is told nothing.
SPEEDS = {"eos": ("200g-4", "400g-4"), "nvue": ("200G", ""), "sonic": ("200000", ""), "frr": ("", "")}

# Machines with adapters of 200 Gb/s and 400 Gb/s for compute: only fabrics of other roles than in-band are routed.
COMPUTE = {"slow": "dgx-a100", "fast": "dgx-b200"}


@pytest.mark.slow
@pytest.mark.parametrize("machines", FAST_AND_SLOW, ids=("slow-first", "fast-first"))
@pytest.mark.parametrize("kind", ["ethernet", "roce"])
@pytest.mark.parametrize("system", SPEEDS)
def test_each_dialect_sets_the_speed_of_slower_pools(system: str, kind: str, machines: dict[str, str]) -> None:
    role = {}
    if kind == "roce":
        role, machines = {"role": "compute"}, {name: COMPUTE[name] for name in machines}
    plan = build_mixed_plan(machines, "nvidia-sn5600", os=system, kind=kind, **role)
    assert not plan.errors
    bundle = {path: str(part) for path, part in render(plan, kind).items()}
    texts = [
        text
        for path, text in bundle.items()
        if re.search(r"in-band-leaf-\d+(\.|/switch\.json|/frr\.conf)", path)
        and "slow-0001" in text
        and (system != "sonic" or path.endswith(".json"))
    ]
    assert texts
    for host, speed in zip(("slow-0001", "fast-0001"), SPEEDS[system], strict=True):
        found = set().union(*(read_speeds(system, text, host) for text in texts))
        assert found == {speed} or (system == "frr" and not found), (host, texts)
    if system == "sonic" and kind == "roce":
        [script] = [text for path, text in bundle.items() if path.endswith("breakout.sh")]
        slow = {port for text in texts for port, entry in json.loads(text)["PORT"].items() if entry.get("speed")}
        assert set(re.findall(r"^config interface speed (\S+) 200000$", script, re.M)) == slow


@pytest.mark.parametrize("machines", FAST_AND_SLOW)
def test_ports_that_do_not_run_the_slower_pool_are_an_error_naming_both(machines: dict[str, str]) -> None:
    wrong = build_mixed_plan(machines, "arista-7060x6-64pe").errors
    assert [(item.check, item.path) for item in wrong] == [("fabric-speed", "fabrics[0]")]
    assert all(text in wrong[0].problem for text in ("pool fast", "400 Gb/s", "pool slow", "200 Gb/s"))
    output = build_mixed_plan(machines, "nvidia-sn5600", speed="400 Gb/s").errors
    assert [(item.check, item.path) for item in output] == [("fabric-speed", "fabrics[0].speed")]
    assert "pool slow" in output[0].problem


def test_switches_slower_than_both_pools_have_one_speed() -> None:
    plan = build_mixed_plan(FAST_AND_SLOW[0], "nvidia-sn4600c")
    assert not plan.errors and str(plan.fabrics[0].speed) == "100 Gb/s" and not plan.fabrics[0].pool_speeds
