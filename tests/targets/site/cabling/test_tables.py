"""Cables: numbers, names, kinds and lengths."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supercloud as sc
from supercloud.plan.build.cabling.cables import build_cable_table
from supercloud.plan.model.cables import CableTable
from supercloud.plan.model.plan import Plan
from supercloud.spec.loader import loads
from supercloud.targets import list_targets, render

EXAMPLES = Path(__file__).parents[4] / "examples"
SUPERPOD = EXAMPLES / "02-superpod" / "cluster.yaml"
NETWORKS = EXAMPLES / "05-superpod-networks" / "cluster.yaml"


def plan_of(path: Path = SUPERPOD, *changes: tuple[str, str]) -> Plan:
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return sc.resolve(loads(text, str(path)))


def table_of(plan: Plan, name: str = "compute") -> CableTable:
    return build_cable_table(plan, next(item for item in plan.fabrics if item.name == name))


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def superpod() -> list[dict[str, str]]:
    return rows(render(plan_of(), "cabling")["compute.csv"])


@pytest.mark.slow
def test_every_link_once_with_vendor_names(superpod: list[dict[str, str]]) -> None:
    assert len(superpod) == 1016 + 4 + 1024
    ends = [end for row in superpod for end in row["label_a"].split(" > ")]
    assert len(ends) == len(set(ends)), "no port has two cables"
    first = superpod[0]
    assert first["label_a"] == "train-0001:OSFP1P1 > compute-leaf-001:1/1/1"
    assert first["label_b"] == "compute-leaf-001:1/1/1 > train-0001:OSFP1P1"
    for row in superpod:
        if row["a_device"].startswith("train-"):
            rail = int(row["b_device"][-3:]) - 1
            assert row["a_port"] == f"OSFP{rail % 8 // 2 + 1}P{rail % 2 + 1}"
        assert re.fullmatch(r"1/([1-9]|[12]\d|3[0-2])/[12]", row["b_port"])


def test_the_list_agrees_with_the_topology_link_by_link(superpod: list[dict[str, str]]) -> None:
    plan = plan_of()
    wiring = plan.fabrics[0].wiring
    for row, link in zip(superpod, wiring.iter_links(), strict=True):  # type: ignore[attr-defined]
        assert row["b_device"] == f"compute-{link.target_kind}-{link.target + 1:03d}"
        assert row["b_port"] == f"1/{link.target_port // 2 + 1}/{link.target_port % 2 + 1}"


def test_cable_lengths_follow_the_route(superpod: list[dict[str, str]]) -> None:
    plan = plan_of()
    assert plan.layout
    places = {rack.name: rack for rack in plan.layout.racks}
    for row in superpod:
        if not row["run_m"]:
            assert row["a_device"].startswith("compute-manager")
            continue
        assert float(row["order_m"]) >= float(row["run_m"]) - 0.05
        a, b = places[row["a_rack"]], places[row["b_rack"]]
        floor = abs(a.column - b.column) * 0.6 + abs(a.row - b.row) * 4.2
        assert float(row["run_m"]) >= floor
        assert float(row["run_m"]) <= floor + 2 * 48 * 0.04445 + 2


def test_copper_only_where_both_ports_of_a_cage_go_to_one_cage() -> None:
    table = table_of(plan_of(EXAMPLES / "03-nvl72" / "cluster.yaml"))
    twin = np.array([item.links > 1 for item in table.kinds] + [False])[table.kind_index]
    assert twin.any()
    ends: dict[int, set[Any]] = {}
    cages = zip(
        table.cable_number[twin].tolist(),
        table.get_device_names("source")[twin],
        table.links.source_port[twin] // 2,
        table.get_device_names("target")[twin],
        table.links.target_port[twin] // 2,
        strict=True,
    )
    for cable, *pair in cages:
        ends.setdefault(cable, set()).add(tuple(pair))
    assert all(len(found) == 1 for found in ends.values())
    assert set(Counter(table.cable_number[twin].tolist()).values()) == {2}


@pytest.mark.slow
def test_media_are_as_declared_and_long_links_are_findings() -> None:
    fiber = table_of(plan_of(SUPERPOD, ("manager: {links: 4}", "cabling: {media: [fiber]}\n    manager: {links: 4}")))
    assert {item.medium for item in fiber.kinds} == {"fiber"}
    plan = plan_of(SUPERPOD, ("manager: {links: 4}", "cabling: {media: [dac]}\n    manager: {links: 4}"))
    (found,) = [item for item in plan.errors if item.check == "cable-reach"]
    assert found.line and found.path == "fabrics[0].cabling.media"
    assert re.search(r"2040 of 2044 links of compute are longer than dac reaches \(2 m at 400 Gb/s\)", found.problem)
    assert re.search(r"the longest is \d+\.\d m, from train-\d{4}:OSFP\dP\d to compute-leaf-", found.problem)


def test_more_nodes_than_ports_is_a_finding_with_numbers() -> None:
    plan = plan_of(SUPERPOD, ("nodes: 127", "nodes: 128"), ("manager: {links: 4}", "su: 32\n    manager: {links: 4}"))
    (found,) = [item for item in plan.errors if item.check == "fabric-fit"]
    assert "128 nodes" in found.problem and "4 reserved links need 4 free leaf ports" in found.problem
    assert found.hint == "set su: 26, or use 127 nodes"


def test_two_cables_in_one_port_are_refused() -> None:
    plan = plan_of(NETWORKS, ("leaf_up: 4\n", "leaf_up: 4\n    leaf_down: 43\n"), ("peer_links: 2 ", "peer_links: 20"))
    (found,) = [item for item in plan.errors if item.check == "fabric-fit"]
    assert "43 ports down, 4 up and 20 to the other leaf of its pair" in found.problem and "(leaf_down)" in found.hint


@pytest.mark.slow
def test_unknown_port_names_are_numbers_and_unknown_kinds_are_omitted() -> None:
    table = table_of(plan_of(EXAMPLES / "04-roce-24k" / "cluster.yaml"))
    assert table.count == 56184 and (table.kind_index < 0).all()
    assert table.get_port_names("target")[0] == "1"


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted(item.name for item in EXAMPLES.iterdir() if item.is_dir()))
def test_every_example_is_cabled_without_conflicts(example: str) -> None:
    plan = plan_of(EXAMPLES / example / "cluster.yaml")
    switched = [fabric for fabric in plan.fabrics if fabric.tiers]
    assert not plan.errors and ("cabling" in list_targets(plan)) == bool(switched)
    for fabric in switched:
        table = build_cable_table(plan, fabric)
        links = sum(item.links for item in fabric.services)
        wired = sum(fabric.link_counts[key] for key in ("node_leaf", "leaf_spine", "spine_core"))
        assert table.count >= wired + links
        assert (
            len(
                set(
                    zip(table.get_device_names("source").tolist(), table.get_port_names("source").tolist(), strict=True)
                )
            )
            == table.count
        )


@pytest.mark.slow
def test_netbox_files_are_consistent() -> None:
    import yaml

    bundle = render(plan_of(NETWORKS), "cabling")
    types = {
        data["model"]: {item["name"] for item in data["interfaces"]}
        for path, text in bundle.items()
        if path.startswith("netbox/5-device-types/")
        for data in [yaml.safe_load(text)]
    }
    devices = {row["name"]: row for row in rows(bundle["netbox/6-devices.csv"])}
    racks = {row["name"] for row in rows(bundle["netbox/4-racks.csv"])}
    makers = {row["name"] for row in rows(bundle["netbox/2-manufacturers.csv"])}
    used: set[tuple[str, str]] = set()
    for row in rows(bundle["netbox/7-cables.csv"]):
        for side in "ab":
            name, port = row[f"side_{side}_device"], row[f"side_{side}_name"]
            assert port in types[devices[name]["device_type"]], (name, port)
            assert (name, port) not in used
            used.add((name, port))
    assert all(row["device_type"] in types and row["manufacturer"] in makers for row in devices.values())
    assert all(row["rack"] in racks | {""} for row in devices.values())
    storage, in_band, management = 254 + 240 + 4 + 96 + 8, 254 + 24 + 6 + 16, 127 + 188 + 16 + 2
    assert len(used) == 2 * (2044 + storage + in_band + management)
