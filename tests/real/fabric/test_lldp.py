"""The cable check with the output of real lldpd daemons in each format: a correct fabric, and one with faults."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import frr_tools
import pytest
from frr_lab import run, wait_until_right

import supercloud as sc
from supercloud.plan.build.cabling.cables import build_cable_table
from supercloud.plan.build.cabling.ends import DeviceLocator
from supercloud.plan.model.plan import Plan
from supercloud.spec.loader import loads
from supercloud.targets.site.cabling.table import list_system_names
from supercloud.targets.site.cabling.verify import VerificationResult, verify_output

SPEC = """
name: small
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: dgx-h100, nodes: 3, fabrics: [compute]}]
fabrics:
  - {name: compute, kind: roce, shape: fat-tree, switch: nvidia-sn5600, rails: 2, leaf_down: 4, leaf_up: 2, os: frr,
     services: [{name: half, count: 2, links: 1, speed: 200 Gb/s}]}
"""
# Read when a daemon starts: a daemon that gets intervals during its start may never receive a neighbor.
CONFIG = "configure lldp tx-interval 2\nconfigure lldp tx-hold 3\n"  # a lost neighbor expires after 6 s
FORMS = {"plain": (), "json": ("-f", "json"), "json0": ("-f", "json0"), "keyvalue": ("-f", "keyvalue")}
End = tuple[str, str]


class Wires:
    """Every device of a fabric is a namespace with lldpd, every link a veth pair."""

    def __init__(self, plan: Plan, folder: Path):
        self.plan, self.folder = plan, folder
        self.tag = f"scl{os.getpid()}-"
        self.daemons: list[subprocess.Popen[bytes]] = []
        table = build_cable_table(plan, plan.fabrics[0], DeviceLocator(plan))
        self.switches = {str(name) for item in table.devices if item.side == "switch" for name in item.names}
        ends = [
            [
                (str(name), system or f"rail{port}")
                for name, system, port in zip(
                    table.get_device_names(side),
                    list_system_names(table, side),
                    getattr(table.links, f"{side}_port").tolist(),
                    strict=True,
                )
            ]
            for side in ("source", "target")
        ]
        self.links: dict[End, End] = {}
        for (a, port), (b, far) in zip(*ends, strict=True):
            self.links[a, port if a in self.switches else f"rail{port[-1]}"] = (b, far)

    def start(self) -> None:
        names = sorted({name for pair in self.links.items() for name, _ in pair})
        run("ip", "-batch", "-", stdin="".join(f"netns add {self.tag}{name}\n" for name in names))
        for one, other in self.links.items():
            self.join(one, other)
        config = self.folder / "lldpd.conf"
        config.write_text(CONFIG)
        for name in names:
            program = f"hostname {name}; exec lldpd -d -O {config} -u {self.folder}/{name}.sock"
            self.daemons.append(
                subprocess.Popen(
                    ["ip", "netns", "exec", self.tag + name, "unshare", "-u", "sh", "-c", program],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )

    def join(self, one: End, other: End) -> None:
        run(
            "ip",
            "link",
            "add",
            one[1],
            "netns",
            self.tag + one[0],
            "type",
            "veth",
            "peer",
            "name",
            other[1],
            "netns",
            self.tag + other[0],
        )
        for name, port in (one, other):
            run("ip", "-n", self.tag + name, "link", "set", port, "up")

    def cut(self, one: End) -> None:
        run("ip", "-n", self.tag + one[0], "link", "delete", one[1])

    def ask(self, name: str, *words: str) -> str:
        return run("lldpcli", "-u", f"{self.folder}/{name}.sock", *words, check=False)

    def write_answers(self, form: str) -> Path:
        """Write the neighbors of every switch, one file per switch."""
        place = self.folder / form
        place.mkdir(exist_ok=True)
        for name in self.switches:
            (place / f"{name}.txt").write_text(self.ask(name, *FORMS[form], "show", "neighbors"))
        return place

    def list_wrong_neighbors(self, wires: dict[End, End]) -> list[str]:
        """Ports of switches that do not have exactly the expected neighbor."""
        wrong = []
        heard = {name: self.ask(name, "-f", "keyvalue", "show", "neighbors") for name in self.switches}
        for one, other in wires.items():
            for (name, port), (peer, _) in ((one, other), (other, one)):
                neighbors = [
                    line for line in heard.get(name, "").splitlines() if line.startswith(f"lldp.{port}.chassis.name=")
                ]
                if name in self.switches and neighbors != [f"lldp.{port}.chassis.name={peer}"]:
                    wrong.append(f"{name} {port}: {neighbors}, not {peer}")
        return wrong

    def close(self) -> None:
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            daemon.wait(20)
        for name in {name for pair in self.links.items() for name, _ in pair}:
            subprocess.run(["ip", "netns", "delete", self.tag + name], capture_output=True)


@pytest.fixture(scope="module")
def wires() -> Iterator[Wires]:
    frr_tools.install_debian_packages(("lldpd", "lldpd"), ("ip", "iproute2"), ("unshare", "util-linux"))
    plan = sc.resolve(loads(SPEC, "cluster.yaml"))
    assert not plan.errors, plan.errors
    with tempfile.TemporaryDirectory(prefix="scl") as folder:  # the path of a socket has a maximum length
        Path(folder).chmod(0o755)
        found = Wires(plan, Path(folder))
        try:
            found.start()
            yield found
        finally:
            found.close()


def verify_each_form(wires: Wires) -> list[VerificationResult]:
    return [verify_output(wires.plan, wires.write_answers(form)) for form in FORMS]


def test_a_correct_fabric_has_no_differences_and_faults_are_found(wires: Wires) -> None:
    wait_until_right("all neighbors are known", lambda: wires.list_wrong_neighbors(wires.links)[:3])
    for answer in verify_each_form(wires):
        assert answer.differences == () and answer.checked == answer.links == len(wires.links)
    there = dict(wires.links)
    mine = [end for end in there if end[0].startswith("train-0001")]
    theirs = [end for end in there if end[0].startswith("train-0002")]
    tails = [end for end in there if end[0].startswith("half")]
    up = next(end for end in there if end[0] in wires.switches)
    for end in (mine[0], theirs[0], *tails, up):
        wires.cut(end)
    pairs = ((mine[0], theirs[0]), (tails[0], tails[1]))  # two pairs of exchanged cables, one of them at a splitter
    for one, other in pairs:
        there[one], there[other] = there[other], there[one]
        wires.join(one, there[one])
        wires.join(other, there[other])
    del there[up]
    wait_until_right("all changed neighbors are known", lambda: wires.list_wrong_neighbors(there)[:3])
    found = verify_each_form(wires)
    for answer in found:
        assert [item.kind for item in answer.differences] == ["swapped", "swapped", "missing"], answer.differences
        swapped = " ".join(item.problem for item in answer.differences[:2])
        assert all(name in swapped for name in ("train-0001", "train-0002", "half-01", "half-02"))
        assert up[0] in answer.differences[2].problem
    assert len({str([item.problem for item in answer.differences]) for answer in found}) == 1
