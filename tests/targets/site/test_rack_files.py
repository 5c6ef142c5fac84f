"""Racks as files: each device once, in its unit; tables add up; pictures are well formed."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest
import yaml

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load, loads
from supercloud.targets import list_targets, render
from supercloud.targets.pictures import draw_elevations

SPEC = """
name: pod1
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools:
  - {name: train, machine: dgx-gb200, nodes: 72, fabrics: [compute]}
  - {name: prep, machine: dgx-h100, nodes: 7, rack: {type: eia-48u, nodes: 4, pdu: raritan-px3-5878i2r, pdus: 3}}
fabrics: [{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700, leaf_rails: 1}]
facility:
  rack: {type: eia-48u}
  machines: [{name: ufm, machine: nvidia-ufm-appliance, count: 2}]
  power: {feeds: 3, redundancy: 3N/2, voltage: 415 V, circuit: 60 A}
  cooling: {kind: direct-liquid, supply: 32 °C, cdu: nvidia-qualified, zone: 2}
suppress: [{check: cooling-method, reason: they stand in an aisle of their own}]
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    plan = resolve(loads(SPEC))
    assert not plan.errors, plan.errors
    return plan


def read_table(plan: Plan, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(plan, "racks")[name])))


def test_devices_are_mounted_once_without_overlap(plan: Plan) -> None:
    rows = read_table(plan, "contents.csv")
    names = Counter(row["name"] for row in rows)
    assert max(names.values()) == 1
    for pool in plan.pools:
        assert all(names[host] == 1 for host in pool.hosts)
    assert Counter(row["what"] for row in rows) == {
        "node": 79,
        "switch": 22,
        "nvlink-switch": 36,
        "power-shelf": 32,
        "management-switch": 8,
        "server": 2,
        "pdu": 9,
        "cdu": 4,
    }
    taken = Counter(
        (row["rack"], unit)
        for row in rows
        if row["unit"]
        for unit in range(int(row["unit"]), int(row["unit"]) + int(row["units"]))
    )
    assert max(taken.values()) == 1 and max(unit for _, unit in taken) <= 48


def test_power_of_the_racks_is_that_of_the_hall(plan: Plan) -> None:
    assert plan.facility
    rows = read_table(plan, "racks.csv")
    assert sum(float(row["kw"]) for row in rows) == pytest.approx(plan.facility.it_power.to("kW"))
    assert {row["zone"] for row in rows if row["type"] == "gb200-nvl72"} == {"1", "2"}


def test_circuits_alternate_over_the_feeds(plan: Plan) -> None:
    rows = read_table(plan, "circuits.csv")
    assert [row["feed"] for row in rows] == ["A", "B", "C"] * 3
    first = next(row for row in rows if row["product"].startswith("raritan"))
    assert (first["product"], first["load_kw"], first["load_after_loss_kw"]) == ("raritan-px3-5878i2r", "13.6", "20.4")
    assert float(first["carries_kw"]) == pytest.approx(34.503, abs=0.001)


def test_each_cooling_zone_has_its_own_cdus(plan: Plan) -> None:
    rows = read_table(plan, "cooling.csv")
    assert [(row["zone"], row["needed"], row["spare"]) for row in rows] == [("1", "1", "1"), ("2", "1", "1")]
    assert rows[0]["racks"] == "r01-01 … r01-02"


def test_elevations_show_each_kind_of_rack(plan: Plan) -> None:
    bundle = render(plan, "racks")
    text = bundle["elevations.txt"]
    assert "4 × compute in gb200-nvl72, 132 kW: r01-01" in text and "train-0018  dgx-gb200" in text
    picture = ET.fromstring(bundle["elevations.svg"])
    assert picture.tag.endswith("svg")
    one = ET.fromstring(draw_elevations(plan, {"r01-01"}).render_file())
    titles = [item.text for item in one.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 1 + 18 + 9 + 8 + 2 and titles.count("train-0001, U5, dgx-gb200") == 1
    assert yaml.safe_load(bundle["facility.yaml"])["racks"] == 6


@pytest.mark.slow
def test_rendering_examples_is_deterministic(example: Path) -> None:
    plan = resolve(load(example))
    if "racks" not in list_targets(plan):
        assert plan.layout is None
        return
    assert dict(render(plan, "racks")) == dict(render(plan, "racks"))
    ET.fromstring(draw_elevations(plan).render_file())


def test_rows_add_up(plan: Plan) -> None:
    rows = read_table(plan, "rows.csv")
    assert plan.layout and len(rows) == plan.layout.row_count
    assert sum(int(row["racks"]) for row in rows) == len(plan.layout.racks)
    assert sum(float(row["kw"]) for row in rows) == pytest.approx(
        sum(float(row["kw"]) for row in read_table(plan, "racks.csv"))
    )
