"""Random faults in random number: what is reported is what was done to the cables, and nothing else."""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from discovery import End, Net
from hypothesis import given, settings
from hypothesis import strategies as st

import supercloud as sc
from supercloud.plan.build.cabling.cables import build_cable_table
from supercloud.plan.model.plan import Plan
from supercloud.targets import render
from supercloud.targets.site.cabling.netlist import build_numbered_links
from supercloud.targets.site.cabling.verify import VerificationResult, verify_output

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[4] / "examples"
KINDS = ("cut", "swap", "move", "extra")
Link = tuple[End, End]


@cache
def render_superpod() -> tuple[Plan, str, dict[frozenset[End], str]]:
    """The plan, its network file, and the number of the cable of every link."""
    plan = sc.resolve(sc.load(EXAMPLES / "02-superpod" / "cluster.yaml"))
    table = build_cable_table(plan, plan.fabrics[0])
    ends = build_numbered_links(table)
    names = ends.names
    cables = {
        frozenset(((names[a], a_port), (names[b], b_port))): f"compute-{cable + 1:05d}"
        for a, a_port, b, b_port, cable in zip(
            ends.source.tolist(),
            ends.source_port.tolist(),
            ends.target.tolist(),
            ends.target_port.tolist(),
            table.cable_number.tolist(),
            strict=True,
        )
    }
    return plan, render(plan, "cabling")["compute.net"], cables


def ask(plan: Plan, text: str) -> VerificationResult:
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.txt"
        found.write_text(text)
        return verify_output(plan, found)


@pytest.mark.exhaustive
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32).map(random.Random), st.lists(st.sampled_from(KINDS), max_size=12))
def test_reported_faults_are_the_injected_ones(chance: random.Random, faults: list[str]) -> None:
    plan, text, cables = render_superpod()
    net = Net(text)
    links = [(one, other) for one, other in net.links.items() if one < other]
    chance.shuffle(links)
    busy: set[str] = set()  # no device has two faults: those may have one cause, and are reported as one
    done: Counter[str] = Counter()
    touched: set[str] = set()

    def pick(*more: str) -> Link:
        for at, (one, other) in enumerate(links):
            devices = {end[0].partition(" ")[0] for end in (one, other)} | set(more)
            if not devices & busy:
                busy.update(devices)
                return links.pop(at)
        raise LookupError

    def pick_free() -> End:
        ports = [
            (name, port)
            for name, kind in sorted(net.devices.items())
            if kind.startswith("Switch")
            for port in range(1, 65)
            if (name, port) not in net.links and name not in busy
        ]
        if not ports:
            raise LookupError
        end = chance.choice(ports)
        busy.add(end[0])
        return end

    for fault in faults:
        try:
            if fault == "cut":
                one, other = pick()
                net.cut(one)
                touched.add(cables[frozenset((one, other))])
            elif fault == "swap":
                (one, other), (third, fourth) = pick(), pick()
                net.swap(one, third)
                touched |= {cables[frozenset((one, other))], cables[frozenset((third, fourth))]}
            elif fault == "move":
                one, other = pick()
                end, keep = (one, other) if not one[0].startswith("train") else (other, one)
                if end[0].startswith("train"):
                    continue
                to = pick_free()
                net.cut(end)
                net.join(keep, to)
                touched.add(cables[frozenset((one, other))])
            else:
                net.join(pick_free(), pick_free())
        except LookupError:
            continue
        done[{"cut": "missing", "swap": "swapped", "move": "wrong", "extra": "extra"}[fault]] += 1
    answer = ask(plan, net.format_output())
    assert Counter(item.kind for item in answer.differences) == done
    assert {cable for item in answer.differences for cable in item.cables} == touched


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32).map(random.Random), st.integers(1, 60))
def test_every_fault_is_reported(chance: random.Random, count: int) -> None:
    """Anywhere, several at a device: every cable that is not where it should be is among those that are named."""
    plan, text, cables = render_superpod()
    net = Net(text)
    for _ in range(count):
        one, other = chance.sample(sorted(net.links), 2)
        if other == net.links[one]:
            net.cut(one)
        elif chance.random() < 0.5:
            net.swap(one, other)
        else:
            net.cut(one)
    there = {frozenset(link) for link in net.links.items()}
    wrong = {cable for link, cable in cables.items() if link not in there}
    right = {cable for link, cable in cables.items() if link in there} - wrong
    named = {cable for item in ask(plan, net.format_output()).differences for cable in item.cables}
    assert wrong <= named
    assert not named & right


@cache
def render_small() -> tuple[Plan, list[tuple[str, str, str, str, str]]]:
    plan = sc.resolve(sc.load(EXAMPLES / "06-roce-small" / "cluster.yaml"))
    table = build_cable_table(plan, plan.fabrics[0])
    rows = zip(
        table.get_device_names("source"),
        table.get_port_names("source"),
        table.get_device_names("target"),
        table.get_port_names("target"),
        (f"compute-{cable + 1:05d}" for cable in table.cable_number.tolist()),
        strict=True,
    )
    return plan, [tuple(row) for row in rows]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32).map(random.Random), st.integers(0, 5), st.booleans())
def test_lldp_of_switches_only_reports_the_same(chance: random.Random, count: int, leaves_only: bool) -> None:
    """Nodes say nothing, and perhaps spines neither: their links are heard by the leaf at the other end."""
    plan, links = render_small()
    at = chance.sample(range(len(links)), count)
    heard: dict[str, list[tuple[str, str, str]]] = {}
    for number, (a, a_port, b, b_port, _) in enumerate(links):
        if number in at:
            continue
        heard.setdefault(b, []).append((b_port, a, "eth9" if a.startswith("train") else a_port))
        if not a.startswith("train"):
            heard.setdefault(a, []).append((a_port, b, b_port))
    with tempfile.TemporaryDirectory() as name:
        for device, rows in heard.items():
            if leaves_only and "spine" in device:
                continue
            found = [{"port": port, "neighborDevice": other, "neighborPort": far} for port, other, far in rows]
            (Path(name) / f"{device}.json").write_text(json.dumps({"lldpNeighbors": found}))
        answer = verify_output(plan, Path(name))
    assert {cable for item in answer.differences for cable in item.cables} == {links[number][4] for number in at}
    assert {item.kind for item in answer.differences} <= {"missing"}
