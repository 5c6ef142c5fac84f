"""Bounds of the spec; every problem is reported with its line, whatever else is wrong."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from samples import EXAMPLES

from supercloud.catalog import Catalog
from supercloud.errors import SpecError
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec, Fabric, Storage
from supercloud.spec.constructed import validate_document
from supercloud.spec.document import parse_yaml
from supercloud.spec.fleet import Connection, FleetMember, FleetSpec
from supercloud.spec.job import JobSpec
from supercloud.spec.loader import loads
from supercloud.spec.problems import build_findings

GOOD = EXAMPLES[0].read_text()


@pytest.mark.parametrize("opening", ["[", "- ", "{a: "])
def test_deep_nesting_does_not_end_the_process(opening: str) -> None:
    with pytest.raises(SpecError):
        parse_yaml("x:\n  " + opening * 100_000)


@pytest.mark.slow
def test_only_the_first_of_many_problems_are_reported() -> None:
    with pytest.raises(SpecError) as caught:
        loads(GOOD + "".join(f"key{number}: 1\n" for number in range(3000)))
    assert len(caught.value.findings) == 201 and "2800 more" in str(caught.value)


@pytest.mark.slow
def test_the_number_of_located_unknown_keys_is_bounded() -> None:
    data = {f"key{number}": 1 for number in range(400_000)}
    with pytest.raises(ValidationError) as caught:
        validate_document(ClusterSpec, data)
    asked = 0

    def get_line(place: tuple[str | int, ...]) -> int:
        nonlocal asked
        asked += 1
        return 1

    found = [finding for _, finding in build_findings(caught.value, data, ClusterSpec, find_line=get_line)]
    assert len(found) == 201 and asked <= 10_000
    assert found[-1].problem == f"{caught.value.error_count() - 200} more problems"


LARGE_SPECS: dict[str, tuple[str, dict[str, Any]]] = {
    "nodes": ("pools[0].nodes", {"pools": [{"name": "train", "machine": "dgx-h100", "nodes": 1_000_001}]}),
    "nodes beyond words": ("pools[0].nodes", {"pools": [{"name": "train", "machine": "dgx-h100", "nodes": 10**30}]}),
    "links of services": (
        "fabrics[0]",
        {"fabrics": [{"name": "a", "kind": "roce", "services": [{"name": "s", "count": 39_873, "links": 128}]}]},
    ),
    "links between machines of pairs": (
        "fabrics[0]",
        {
            "fabrics": [
                {"name": "a", "kind": "ethernet", "services": [{"name": "s", "count": 20_000, "peer_links": 1024}]}
            ]
        },
    ),
    "pools": ("pools", {"pools": [{"name": f"p{at}", "machine": "dgx-h100", "nodes": 1} for at in range(1001)]}),
    "suppressions": ("suppress", {"suppress": [{"check": "x", "reason": "y"}] * 60_000}),
    "ranges of addresses": ("network.access", {"network": {"access": ["192.0.2.0/24"] * 60_000}}),
    "fabrics of a pool": (
        "pools[0].fabrics",
        {"pools": [{"name": "train", "machine": "dgx-h100", "nodes": 1, "fabrics": [f"f{at}" for at in range(65)]}]},
    ),
    "zones of a pool": (
        "pools[0].zones",
        {"pools": [{"name": "train", "machine": "dgx-h100", "nodes": 1, "zones": [f"z{at}" for at in range(65)]}]},
    ),
    "ranges of subnets": ("network.blocks.private", {"network": {"blocks": {"private": ["10.0.0.0/24"] * 257}}}),
    "VLANs": ("network.vlans", {"network": {"vlans": {f"v{at}": 10 for at in range(1001)}}}),
    "peer links": ("fabrics[0].peer_links", {"fabrics": [{"name": "a", "kind": "roce", "peer_links": 10_000_000}]}),
    "appliances": (
        "facility.machines[0].count",
        {"facility": {"machines": [{"name": "ufm", "machine": "management-server", "count": 10_000_000}]}},
    ),
    "storage servers": (
        "storage[0].servers.count",
        {"storage": [{"name": "s", "kind": "weka", "servers": {"machine": "weka-24", "count": 10_000_000}}]},
    ),
}


@pytest.mark.parametrize("case", LARGE_SPECS)
def test_sizes_beyond_the_limits_are_rejected(case: str) -> None:
    path, more = LARGE_SPECS[case]
    with pytest.raises(SpecError) as caught:
        loads(yaml.safe_dump(yaml.safe_load(GOOD) | more))
    assert path in [finding.path for finding in caught.value.findings], caught.value.findings


@pytest.mark.parametrize("pue, is_possible", [(0.3, False), (0.999, False), (1, True), (1.0, True), (1.2, True)])
def test_the_pue_is_at_least_one(pue: float, is_possible: bool) -> None:
    text = yaml.safe_dump(yaml.safe_load(GOOD) | {"facility": {"rack": {"type": "eia-48u"}, "pue": pue}})
    if is_possible:
        assert loads(text)
        return
    with pytest.raises(SpecError, match=r"facility\.pue: .* is less than 1"):
        loads(text)


@pytest.mark.parametrize("capacity", ["1000 EB", "800 EiB"])
@pytest.mark.parametrize("example", ["07-storage", "11-aws-ultraserver"])
def test_a_file_system_of_more_servers_than_can_be_planned_is_one_finding(example: str, capacity: str) -> None:
    """On-prem its servers get addresses one by one, in a cloud names."""
    path = next(path for path in EXAMPLES if path.parent.name == example)
    data = yaml.safe_load(path.read_text())
    index = next(number for number, item in enumerate(data["storage"]) if item["kind"] == "weka")
    data["storage"][index]["capacity"] = capacity
    plan = resolve(
        ClusterSpec.model_validate(data),
        Catalog([path.parent / "catalog"] if (path.parent / "catalog").is_dir() else []),
    )
    wrong = [finding for finding in plan.errors if finding.check == "storage-servers"]
    assert [finding.path for finding in wrong] == [f"storage[{index}].servers"]
    assert "the maximum is 65536" in wrong[0].problem


def test_duplicate_names_and_keys_are_reported_with_other_problems() -> None:
    pool = "{name: train, machine: dgx-h100, nodes: 1}"
    with pytest.raises(SpecError) as caught:
        loads(f"name: a\nname: b\nwrong: 1\npools:\n  - {pool}\n  - {pool}\n", "x.yaml")
    findings = {(item.line, item.path) for item in caught.value.findings}
    assert {(2, "name"), (3, "wrong"), (6, "pools[1].name")} <= findings


def test_a_duration_of_zero_is_rejected() -> None:
    with pytest.raises(ValidationError, match="must be greater than 0"):
        Storage.model_validate({"name": "a", "kind": "nfs", "checkpoint": {"parameters": "1B", "stall": "0 s"}})


def test_ten_million_links_are_refused() -> None:
    with pytest.raises(ValidationError):
        Fabric.model_validate({"name": "a", "kind": "roce", "peer_links": 10_000_000})


def test_links_of_the_manager_are_bounded_as_those_of_services() -> None:
    fabric = {"name": "a", "kind": "roce", "manager": {"links": 1000, "appliances": 975, "peer_links": 1024}}  # 999,400
    Fabric.model_validate(fabric)
    service = {"services": [{"name": "b", "count": 500, "links": 2}]}
    for wrong in (fabric | service, fabric | {"manager": {"links": 2048, "peer_links": 1024}}):
        with pytest.raises(ValidationError, match="manager: .* Use fewer appliances"):
            Fabric.model_validate(wrong)


def test_every_appliance_of_the_subnet_manager_has_a_link() -> None:
    with pytest.raises(ValidationError, match="links: 1 .* for 2 appliances: 1 of them would have no link"):
        Fabric.model_validate({"name": "a", "kind": "infiniband", "manager": {"links": 1, "appliances": 2}})


@pytest.mark.parametrize("interface", ["ib0 $(id)", "ib0;id", "ib0\nib1", "a" * 16])
def test_an_interface_name_must_be_valid(interface: str) -> None:
    with pytest.raises(ValidationError):
        Storage.model_validate({"name": "a", "kind": "nfs", "interface": interface})


def test_an_option_must_be_one_line() -> None:
    with pytest.raises(ValidationError):
        Storage.model_validate({"name": "a", "kind": "weka", "options": {"source": "https://x\nENV\nid"}})


def test_the_examples_are_within_the_bounds() -> None:
    for path in EXAMPLES:
        ClusterSpec.model_validate(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("via", ["https://[::1", "http://:6820", "https://host:99999999", "https://host:port"])
def test_an_invalid_address_is_rejected(via: str) -> None:
    with pytest.raises(ValidationError, match="is not a valid address"):
        Connection(engine="slurm", via=via)
    assert Connection(engine="slurm", via="https://[::1]:6820").via


@pytest.mark.parametrize("field", ["distribution", "continuous", "power_factor"])
def test_a_divisor_of_power_cannot_be_nearly_zero(field: str) -> None:
    text = yaml.safe_dump(yaml.safe_load(GOOD) | {"facility": {"power": {field: 5e-324}}})
    with pytest.raises(SpecError, match=rf"facility\.power\.{field}: "):
        loads(text)


def test_a_program_has_no_more_arguments_and_variables_than_linux_starts() -> None:
    """The kernel uses 64 bytes of 2 MiB for each on average."""
    for field, value in (("command", ["x"] * 32_769), ("env", {f"V{number}": "" for number in range(32_769)})):
        with pytest.raises(SpecError) as caught:
            JobSpec(**{"name": "a", "command": ["true"], field: value})
        assert [(finding.path, "32768" in str(finding)) for finding in caught.value.findings] == [(field, True)]


def test_values_of_merged_mappings_count_wherever_they_are_copied() -> None:
    keys = ", ".join(f"k{number}: 1" for number in range(1000))
    text = f"base: &base {{{keys}}}\nall: {{<<: [{', '.join(['*base'] * 250)}]}}\n"
    with pytest.raises(SpecError, match=":1: the file has more than 400,000 values"):
        parse_yaml(text, "x.yaml")


@pytest.mark.slow
def test_a_merge_of_many_mappings_is_read_once() -> None:
    """If every source were merged into a copy of all before, this would take minutes."""
    keys = ", ".join(f"k{number}: 1" for number in range(60_000))
    assert len(parse_yaml(f"<<: [{{{keys}}}{', {x: 1}' * 60_000}]").data) == 60_001


def test_the_first_source_of_a_merge_has_priority() -> None:
    data = parse_yaml("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], z: 3}").data
    assert data["c"] == {"x": 1, "y": 1, "z": 3}


def test_problems_of_merges_are_bounded() -> None:
    with pytest.raises(SpecError) as caught:
        parse_yaml(f"<<: [{', '.join(['1'] * 1000)}]")
    assert len(caught.value.findings) == 201
    assert caught.value.findings[-1].problem == "800 more problems"


def test_the_reported_duplicate_names_are_bounded() -> None:
    pool = "{name: train, machine: dgx-h100, nodes: 1}"
    with pytest.raises(SpecError) as caught:
        loads(f"name: a\npools: [{', '.join([pool] * 1000)}]\n", "x.yaml")
    assert sum("duplicate name" in finding.problem for finding in caught.value.findings) == 200


def test_the_reported_duplicate_members_of_a_fleet_are_bounded() -> None:
    with pytest.raises(SpecError) as caught:
        FleetSpec(name="all", clusters=tuple(FleetMember(spec="a.yaml") for _ in range(1000)))
    assert len(caught.value.findings) == 201 and "799 more" in caught.value.findings[-1].problem
    assert "first in clusters[0]" in caught.value.findings[0].problem
