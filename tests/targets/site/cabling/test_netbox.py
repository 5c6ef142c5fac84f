"""NetBox's bulk import: device types by the rules of the device-type library, tables by NetBox's own fields."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from typing import Any

import jsonschema
import pytest
import yaml
from samples import EXAMPLES

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import list_targets, render

# Written from schema/devicetype.json and schema/components.json of github.com/netbox-community/devicetype-library: the
# same keys, lengths and patterns; of the types of interfaces those for links of 1 to 800 Gb/s.
ETHERNET = [
    "1000base-t",
    "100gbase-x-qsfp28",
    "200gbase-x-qsfp56",
    "400gbase-x-qsfp112",
    "400gbase-x-osfp",
    "800gbase-x-osfp",
    "other",
]
INFINIBAND = ["infiniband-edr", "infiniband-hdr", "infiniband-ndr", "infiniband-xdr"]
INTERFACE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 64},
        "label": {"type": "string", "maxLength": 64},
        "type": {"enum": ETHERNET + INFINIBAND},
        "mgmt_only": {"type": "boolean"},
        "description": {"type": "string", "maxLength": 200},
    },
    "required": ["name", "type"],
    "additionalProperties": False,
}
DEVICE_TYPE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "manufacturer": {"type": "string", "minLength": 1, "maxLength": 100},
        "model": {"type": "string", "minLength": 1, "maxLength": 100},
        "slug": {"type": "string", "maxLength": 100, "pattern": "^[-a-z0-9_]+$"},
        "part_number": {"type": "string", "maxLength": 50},
        "u_height": {"type": "number", "minimum": 0, "multipleOf": 0.5},
        "is_full_depth": {"type": "boolean"},
        "interfaces": {"type": "array", "items": INTERFACE},
    },
    "required": ["manufacturer", "model", "slug", "u_height", "is_full_depth"],
    "additionalProperties": False,
}
CABLES = {"cat6", "dac-passive", "dac-active", "aoc", "mmf-om4", "smf-os2", ""}


@pytest.fixture(
    scope="module",
    params=[path for path in EXAMPLES if load(path).model.site.kind == "onprem"],
    ids=lambda path: path.parent.name,
)
def plan(request: pytest.FixtureRequest) -> Plan:
    return resolve(load(request.param))


@pytest.fixture(scope="module")
def files(plan: Plan) -> dict[str, Any]:
    if "cabling" not in list_targets(plan):
        return {}
    bundle = render(plan, "cabling")
    return {path.removeprefix("netbox/"): text for path, text in bundle.items() if path.startswith("netbox/")}


def read_rows(files: dict[str, Any], name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files.get(name, ""))))


def list_types(files: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [yaml.safe_load(text) for path, text in files.items() if path.startswith("5-device-types/")]
    return {item["model"]: item for item in found}


@pytest.mark.slow
def test_device_types_follow_the_rules_of_the_library(files: dict[str, Any]) -> None:
    types = list_types(files)
    check = jsonschema.Draft202012Validator(DEVICE_TYPE)
    for item in types.values():
        assert not list(check.iter_errors(item)), item["model"]
        names = [port["name"] for port in item["interfaces"]]
        assert len(names) == len(set(names)), "an interface of a device has one name"
        assert item["slug"].startswith(f"{item['manufacturer'].lower().replace(' ', '-')}"), "the library's own test"
    slugs = [item["slug"] for item in types.values()]
    assert len(slugs) == len(set(slugs))


@pytest.mark.slow
def test_devices_are_within_their_racks_without_overlap(files: dict[str, Any], plan: Plan) -> None:
    types, racks = list_types(files), {row["name"]: int(row["u_height"]) for row in read_rows(files, "4-racks.csv")}
    held: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    names = set()
    for row in read_rows(files, "6-devices.csv"):
        assert row["name"] not in names and len(row["name"]) <= 64
        names.add(row["name"])
        units = types[row["device_type"]]["u_height"]
        if row["position"]:
            assert row["face"] == "front" and units > 0
            held[row["rack"]].append((int(row["position"]), int(row["position"]) + units, row["name"]))
        else:
            assert not row["face"]
    for rack, places in held.items():
        places.sort()
        assert places[0][0] >= 1 and places[-1][1] <= racks[rack] + 1, (rack, places[-1])
        for one, other in zip(places, places[1:], strict=False):
            assert one[1] <= other[0], (rack, one, other)


@pytest.mark.slow
def test_cables_have_valid_fields_of_netbox(files: dict[str, Any]) -> None:
    types = {model: {port["name"] for port in item["interfaces"]} for model, item in list_types(files).items()}
    devices = {row["name"]: row["device_type"] for row in read_rows(files, "6-devices.csv")}
    used = set()
    for row in read_rows(files, "7-cables.csv"):
        assert row["type"] in CABLES and row["status"] == "planned" and len(row["label"]) <= 100
        assert (row["length_unit"] == "m") == bool(row["length"])
        for side in "ab":
            end = (row[f"side_{side}_device"], row[f"side_{side}_name"])
            assert row[f"side_{side}_type"] == "dcim.interface" and end not in used
            assert end[1] in types[devices[end[0]]]
            used.add(end)


@pytest.mark.slow
def test_interfaces_have_the_name_of_the_system_and_the_printed_label() -> None:
    path = next(path for path in EXAMPLES if path.parent.name == "06-roce-small")
    from supercloud.spec.loader import loads

    plan = resolve(loads(path.read_text().replace("os: nvue ", "os: sonic "), str(path)))
    item = yaml.safe_load(render(plan, "cabling")["netbox/5-device-types/nvidia-sn5600.yaml"])
    assert item["interfaces"][1] == {"name": "Ethernet4", "type": "400gbase-x-osfp", "label": "swp1s1"}
