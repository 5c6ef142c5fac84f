"""Bridged networks in the kernel: rendered scripts of switches and hosts in network namespaces, with real frames.

Two leaves and two spines make loops that only the spanning tree cuts; hosts have bonds; a root that dies is replaced.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from supercloud.plan.cabling.cables import cables_of
from supercloud.plan.network.bridges import bridges_of
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads
from supercloud.targets import render

SPEC = """\
name: bridges
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: dgx-h100, nodes: 2, fabrics: [in-band]}]
fabrics:
  - {name: in-band, kind: ethernet, shape: rail-optimized, switch: nvidia-sn4600c, os: frr, tiers: 2, leaf_up: LINKS,
     spines: 2, services: [{name: nfs, count: 1, links: 1}]}
"""
LIMIT = 90
MARK = "sb"


def run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=check, capture_output=True, text=True, timeout=60)


def inside(name: str, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return run("ip", "netns", "exec", f"{MARK}-{name}", *command, check=check)


@pytest.fixture
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """A namespace a device, a veth a cable; every switch has run its script, every node its own."""
    plan = resolve(loads(SPEC.replace("LINKS", str(request.param))))
    assert not plan.errors, plan.errors
    (fabric,) = plan.fabrics
    bundle = render(plan, "ethernet")
    table = cables_of(plan, fabric)
    names = sorted({*table.names("one"), *table.names("other")})
    systems = {"one": table.ports("one"), "other": table.ports("other")}
    try:
        for name in names:
            run("ip", "netns", "add", f"{MARK}-{name}")
            inside(name, "ip", "link", "set", "lo", "up")
        for number in range(table.count):
            ends = []
            for side in ("one", "other"):
                item = table.devices[int(getattr(table, f"{side}_set")[number])]
                port = int(getattr(table, f"{side}_port")[number])
                name = item.run.port(port) if item.run else f"in-band{port}"
                ends.append((str(table.names(side)[number]), name))
            (a, a_port), (b, b_port) = ends
            run("ip", "link", "add", f"{MARK}{number}", "netns", f"{MARK}-{a}", "type", "veth",
                "peer", "name", f"{MARK}{number}", "netns", f"{MARK}-{b}")  # fmt: skip
            for device, port in ends:
                inside(device, "ip", "link", "set", f"{MARK}{number}", "name", port)
                inside(device, "ip", "link", "set", port, "up")
        del systems
        for path, file in bundle.files.items():
            if path.endswith(".sh"):
                place = tmp_path / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(file.text)
        for network in bridges_of(plan):
            for view in network.switches:
                script = tmp_path / "in-band" / view.run.tier.name / f"{view.name}.sh"
                for _ in range(2):  # it may be run again
                    inside(view.name, "sh", str(script))
        for number, name in enumerate(("train-0001", "train-0002")):
            inside(name, "bash", str(tmp_path / "in-band/hosts/train/bond.sh"), "ip")
            inside(name, "ip", "address", "add", f"192.0.2.{number + 1}/24", "dev", "bond0")
        inside("nfs-01", "ip", "address", "add", "192.0.2.9/24", "dev", "in-band0")
        yield names
    finally:
        for name in names:
            run("ip", "netns", "delete", f"{MARK}-{name}", check=False)


def reaches(source: str, target: str) -> bool:
    return inside(source, "ping", "-c", "1", "-W", "1", target, check=False).returncode == 0


def wait_until_reached(source: str, target: str) -> None:
    end = time.monotonic() + LIMIT
    while not reaches(source, target):
        assert time.monotonic() < end, inside(source, "ip", "-d", "link").stdout
        time.sleep(0.5)


def states(names: list[str]) -> list[str]:
    found = []
    for name in names:
        if name.startswith("in-band-"):
            said = inside(name, "bridge", "link").stdout
            found += [line.split(" state ")[1].split()[0] for line in said.splitlines() if " state " in line]
    return found


@pytest.mark.parametrize("lab", [2, 4], indirect=True, ids=["single uplinks", "bundles"])
def test_frames_pass_loops_are_cut_and_a_root_is_replaced(lab: list[str]) -> None:
    wait_until_reached("train-0001", "192.0.2.2")
    assert "blocking" in states(lab)  # without the tree the two ways to a spine are a loop
    root = inside("in-band-spine-001", "ip", "-d", "link", "show", "br0").stdout
    assert "priority 4096" in root.replace("bridge_id 1000", "priority 4096")
    assert not reaches("train-0001", "192.0.2.9")  # another VLAN, whatever the address says
    bundled = inside("in-band-leaf-001", "ip", "-o", "link", "show", "type", "bond", check=False).stdout
    assert bool(bundled) == any("bond" in line for line in bundled.splitlines())
    run("ip", "netns", "delete", f"{MARK}-in-band-spine-001")
    lab.remove("in-band-spine-001")
    wait_until_reached("train-0001", "192.0.2.2")
