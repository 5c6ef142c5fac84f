"""With any name of a product, every table and document of the site parses, and has that name."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from supercloud.plan.resolve import resolve
from supercloud.primitives.tables import escape_cell
from supercloud.spec.loader import loads
from supercloud.targets import render

SPEC = """\
name: odd
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: dgx-h100, nodes: 1, fabrics: [in-band, management]}]
fabrics:
  - {name: in-band, kind: ethernet, shape: rail-optimized, switch: nvidia-sn4600c, tiers: 1, services: [
      {name: one, count: 1, product: PRODUCT1, part_number: PART}, {name: other, count: 1, product: PRODUCT2}]}
  - {name: management, kind: ethernet, shape: fat-tree, switch: nvidia-sn2201}
facility: {rack: {type: eia-48u}}
"""
TEXTS = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FF, blacklist_categories=["Cc", "Cs"]), min_size=1, max_size=20
)


def quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def read_rows(text: str) -> list[dict[str, Any]]:
    found = list(csv.DictReader(io.StringIO(text), strict=True))
    assert all(None not in row and None not in row.values() for row in found)  # as many cells as there are names
    return found


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(TEXTS, TEXTS)
@example("UFM, HA pair", "0x10")
@example("UFM HA pair", "UFM, HA pair")
@example("=1+1", '"')
@example("null", "***")
def test_names_of_products_are_not_changed(one: str, other: str) -> None:
    if one.strip() != one or other.strip() != other:
        return  # NetBox takes the spaces away
    text = SPEC.replace("PRODUCT1", quote(one)).replace("PRODUCT2", quote(other)).replace("PART", quote(one))
    plan = resolve(loads(text))
    assert not plan.errors, plan.errors
    files = render(plan, "cabling")
    types = {path: yaml.safe_load(text) for path, text in files.items() if "device-types/" in path}
    models = {item["model"] for item in types.values()}
    first, second = escape_cell(one), escape_cell(other)  # a name is the same in every file, and in none a formula
    assert {first, second} <= models and len({item["slug"] for item in types.values()}) == len(types)
    assert all(item["slug"].strip("-0123456789abcdefghijklmnopqrstuvwxyz_") == "" for item in types.values())
    assert next(item for item in types.values() if item["model"] == first)["part_number"] == one
    devices = {row["name"]: row["device_type"] for row in read_rows(files["netbox/6-devices.csv"])}
    assert (devices["one-01"], devices["other-01"]) == (first, second)
    assert set(devices.values()) <= models
    for path, content in files.items():
        if path.endswith(".csv"):
            for row in read_rows(content):
                assert not any(cell.startswith(("=", "@")) for cell in row.values()), path
    for target in ("bom", "racks", "hosts", "ethernet"):
        for path, content in render(plan, target).items():
            if path.endswith(".csv"):
                for row in read_rows(content):
                    assert not any(cell.startswith(("=", "@")) for cell in row.values()), path
            elif path.endswith((".yaml", ".yml")):
                yaml.safe_load(content)


def test_inventory_names_remain_text() -> None:
    plan = resolve(
        loads(
            SPEC.replace("name: odd", "name: 'on'")
            .replace("PRODUCT1", "a")
            .replace("PRODUCT2", "b")
            .replace("PART", "c")
            .replace("name: train", "name: e1")
        )
    )
    document = yaml.safe_load(render(plan, "hosts")["inventory.yaml"])["all"]
    assert document["vars"]["cluster"] == "on"
    assert document["children"]["nodes"]["children"]["pool_e1"]["vars"]["pool"] == "e1"
    (hosts,) = document["children"]["nodes"]["children"]["pool_e1"]["hosts"]
    assert hosts == "e1-0001"
