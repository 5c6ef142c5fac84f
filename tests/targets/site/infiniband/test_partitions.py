"""Partitions of InfiniBand: who reaches whom, at which index of the P_Key tables, by keys that stay.

What the real OpenSM makes of the same files is compared with the same model in tests/real/fabric/test_opensm.py.
"""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

import supercloud as sc
from supercloud.errors import InputError
from supercloud.plan.build.fabric.partitions import (
    PortKeys,
    build_partition_rules,
    build_port_keys,
    compute_pkey,
    find_key_match,
)
from supercloud.plan.build.fabric.port_guids import PortGuids
from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.diff import diff_plans
from supercloud.spec.loader import loads
from supercloud.targets import render

HOSTS = [f"train-{number:04d}" for number in range(1, 9)]
LLM, VISION = 'tenant: llm, hosts: "train-[0001-0003]"', 'tenant: vision, hosts: "train-[0004-0008]"'


def format_spec(*partitions: str, tenants: str = "llm, vision", **more: str) -> str:
    listed = f"partitions: [{', '.join(f'{{{item}}}' for item in partitions)}]" if partitions else ""
    names = ", ".join(f"{{name: {name.strip()}}}" for name in tenants.split(","))
    return f"""
name: parts
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "24.11"}}
pools: [{{name: train, machine: dgx-h100, nodes: 8, fabrics: [compute]}}]
fabrics:
  - name: compute
    kind: infiniband
    shape: rail-optimized
    switch: nvidia-qm9700
    {more.get("fabric", "")}
    {listed}
tenants: [{names}]
{more.get("rest", "")}
"""


def write_guids(
    folder: Path, devices: tuple[int, ...] = (11, 6, 10, 9, 4, 3, 5, 0), services: tuple[str, ...] = ()
) -> None:
    names = [f"{host} mlx5_{port}" for host in HOSTS for port in devices] + list(services)
    (folder / "guids.txt").write_text("".join(f'"{name}" 0x{at:016x}\n' for at, name in enumerate(names, 0x1000)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_guids(tmp_path)
    return tmp_path


def build_plan(text: str, folder: Path) -> Plan:
    return sc.resolve(loads(text, str(folder / "cluster.yaml")))


def format_spec_with_guids(*partitions: str, **more: str) -> str:
    return format_spec(*partitions, fabric="guids: guids.txt", **more)


def build_keys(plan: Plan, index: int = 0) -> dict[str, PortKeys]:
    rules = build_partition_rules(plan, plan.fabrics[index])
    return {host: build_port_keys(rules, host) for host in HOSTS}


def list_problems(plan: Plan, check: str) -> list[str]:
    return [item.problem for item in plan.findings if item.check == check]


def test_two_limited_members_never_match() -> None:
    limited, full = PortKeys(0x7FFF, frozenset()), PortKeys(0xFFFF, frozenset())
    assert find_key_match(limited, limited) == (False, frozenset())
    assert find_key_match(limited, full) == find_key_match(full, full) == (True, frozenset({0x7FFF}))
    tenant = PortKeys(0x9234, frozenset({0x7FFF}))
    assert find_key_match(tenant, full) == (False, frozenset({0x7FFF}))


@pytest.mark.parametrize("partitions", [(), ("tenant: llm",), ("tenant: llm", "tenant: vision, pkey: 5")])
def test_tenants_without_hosts_have_all_nodes_reach_each_other_at_index_0(
    partitions: tuple[str, ...], tmp_path: Path
) -> None:
    plan = build_plan(format_spec(*partitions), tmp_path)
    assert not plan.errors
    text = render(plan, "infiniband")["compute/partitions.conf"]
    assert "Default=0x7fff, indx0, ipoib, mtu=5, defmember=full : ALL ;" in text and "limited" not in text
    keys = build_keys(plan)
    assert {item.index_0_key for item in keys.values()} == {0xFFFF}
    assert ("vision=0x0005, ipoib, mtu=5, defmember=full : ALL_CAS ;" in text) == (len(partitions) == 2)


def test_nodes_of_a_tenant_match_at_index_0_and_those_of_two_tenants_nowhere(folder: Path) -> None:
    plan = build_plan(format_spec_with_guids(LLM, VISION), folder)
    assert not plan.errors
    keys = build_keys(plan)
    for one, other in combinations(HOSTS, 2):
        same = (one <= "train-0003") == (other <= "train-0003")
        at_index_0, matches = find_key_match(keys[one], keys[other])
        assert at_index_0 == same and bool(matches) == same
    text = render(plan, "infiniband")["compute/partitions.conf"]
    assert f"llm=0x{compute_pkey('llm'):04x}, indx0, ipoib, mtu=5, defmember=full :\n    0x0000000000001000,\n" in text
    assert "Default=0x7fff, ipoib, mtu=5, defmember=limited : ALL, ALL_SWITCHES=full, SELF=full ;" in text


def test_the_host_of_the_subnet_manager_is_not_a_member_of_tenants(folder: Path) -> None:
    """SELF in a tenant's partition would have the machine that runs the subnet manager reach all tenants as a full
    member, and tenants' nodes through it.
    """
    text = render(build_plan(format_spec_with_guids(LLM, VISION), folder), "infiniband")["compute/partitions.conf"]
    assert text.count("SELF") == 1


def test_storage_servers_match_every_tenant_at_index_0(tmp_path: Path) -> None:
    servers = ("filer-01 mlx5_0", "filer-01 mlx5_1")
    write_guids(tmp_path, (7, 1), servers)
    fabric = "role: storage\n    guids: guids.txt\n    services: [{name: filer, count: 1, links: 2}]"
    plan = build_plan(format_spec(LLM, VISION, fabric=fabric), tmp_path)
    assert not plan.errors
    rules = build_partition_rules(plan, plan.fabrics[0])
    filer, keys = build_port_keys(rules, "filer-01"), build_keys(plan)
    assert all(find_key_match(filer, item)[0] for item in keys.values())
    assert not find_key_match(keys["train-0001"], keys["train-0004"])[1]
    assert find_key_match(keys["train-0001"], keys["train-0002"]) == (False, frozenset({compute_pkey("llm")}))
    text = render(plan, "infiniband")["compute/partitions.conf"]
    assert "Default=0x7fff, indx0, ipoib, mtu=5, defmember=limited :" in text and "0x0000000000001011=full ;" in text


def test_a_storage_fabric_without_servers_is_a_finding(tmp_path: Path) -> None:
    write_guids(tmp_path, (7, 1))
    plan = build_plan(format_spec(LLM, VISION, fabric="role: storage\n    guids: guids.txt"), tmp_path)
    assert "no server is on compute" in list_problems(plan, "subnet-reach")[0]


@pytest.mark.slow
def test_nodes_without_a_tenant_are_a_finding(folder: Path) -> None:
    plan = build_plan(format_spec_with_guids(LLM), folder)
    assert list_problems(plan, "subnet-reach") == [
        "5 nodes are in no partition of compute and cannot reach each other: train-[0004-0008]"
    ]
    rest = build_plan(format_spec_with_guids(LLM, "tenant: vision"), folder)  # has all nodes
    assert not list_problems(rest, "subnet-reach")
    keys = build_keys(rest)
    assert keys["train-0004"].index_0_key == 0x8000 | compute_pkey("vision")
    assert find_key_match(keys["train-0001"], keys["train-0004"]) == (False, frozenset({compute_pkey("vision")}))


@pytest.mark.slow
def test_a_node_of_two_tenants_has_one_key_at_index_0_whatever_their_order(folder: Path) -> None:
    both = 'tenant: vision, hosts: "train-[0003-0008]"'
    plans = [build_plan(format_spec_with_guids(*order), folder) for order in ((LLM, both), (both, LLM))]
    (problem,) = list_problems(plans[0], "subnet-reach")
    assert "1 nodes of vision also belong to llm, whose key is at index 0 on them: train-0003" in problem
    assert (
        render(plans[0], "infiniband")["compute/partitions.conf"]
        == (render(plans[1], "infiniband")["compute/partitions.conf"])
    )
    keys = build_keys(plans[0])
    assert keys["train-0003"].index_0_key == 0x8000 | compute_pkey("llm")
    assert 0x8000 | compute_pkey("vision") in keys["train-0003"].other_keys


@pytest.mark.slow
def test_keys_are_stable_when_tenants_change(folder: Path) -> None:
    """They were numbered in the order of the spec: without llm, vision had the key that llm's nodes still had."""
    three = format_spec_with_guids(LLM, VISION, "tenant: audio", tenants="llm, vision, audio")
    for partitions in ((VISION, LLM), (VISION,), ("tenant: audio", VISION)):
        fewer = build_plan(format_spec_with_guids(*partitions, tenants="llm, vision, audio"), folder)
        text = render(fewer, "infiniband")["compute/partitions.conf"]
        assert f"vision=0x{compute_pkey('vision'):04x}," in text
        assert not any(item.path.endswith(".pkey") for item in diff_plans(build_plan(three, folder), fewer))


@pytest.mark.slow
def test_a_changed_key_is_in_the_diff(folder: Path) -> None:
    one, other = (build_plan(format_spec_with_guids(LLM, f"{VISION}, pkey: {key}"), folder) for key in (7, 8))
    changes = {change.path: change for change in diff_plans(one, other)}
    change = changes["fabrics[compute].partitions[vision].pkey"]
    assert (change.old, change.new, change.impact) == ("0x0007", "0x0008", "replaces")


def test_the_finding_on_equal_keys_suggests_another_key(folder: Path) -> None:
    """The later of two gets no key here: otherwise the key of the other would change when it is removed."""
    taken = compute_pkey("llm")
    plan = build_plan(format_spec_with_guids(LLM, f"{VISION}, pkey: {taken}"), folder)
    (found,) = [item for item in plan.errors if item.check == "subnet-partitions"]
    assert f"vision has the key {taken:#06x} of llm" in found.problem
    assert found.path == "fabrics[0].partitions[1].pkey" and f"set pkey: {compute_pkey('vision')}" in found.hint


@pytest.mark.slow
def test_colliding_names_are_a_finding_with_an_unused_key() -> None:
    seen: dict[int, str] = {}
    first, second = next(
        (seen[key], name)
        for name in (f"t{number}" for number in range(100_000))
        if (key := compute_pkey(name)) in seen or seen.setdefault(key, name) != name
    )
    text = format_spec(f"tenant: {first}", f"tenant: {second}", tenants=f"{first}, {second}")
    (found,) = [item for item in sc.resolve(loads(text)).errors if item.check == "subnet-partitions"]
    advised = int(found.hint.split()[2].rstrip(";"))
    assert 16 <= advised < 0x7FFF and advised != compute_pkey(first)
    fixed = format_spec(f"tenant: {first}", f"tenant: {second}, pkey: {advised}", tenants=f"{first}, {second}")
    assert not sc.resolve(loads(fixed)).errors


def test_every_derived_key_is_valid_for_a_partition() -> None:
    keys = {compute_pkey(f"tenant-{number}") for number in range(5000)}
    assert min(keys) >= 16 and max(keys) < 0x7FFF and len(keys) > 4500


def test_slurm_partitions_over_isolated_tenants_are_a_finding(folder: Path) -> None:
    (problem,) = list_problems(build_plan(format_spec_with_guids(LLM, VISION), folder), "subnet-jobs")
    assert "the Slurm partition train has nodes of llm, vision, which cannot reach each other over compute" in problem


def test_guids_of_service_machines_are_required_for_rendering(folder: Path) -> None:
    fabric = "guids: guids.txt\n    services: [{name: mgmt, count: 2, links: 1}]"
    plan = build_plan(format_spec(LLM, VISION, fabric=fabric), folder)
    assert list_problems(plan, "subnet-guids") == ["the GUIDs of 2 of 2 ports are unknown, the first is 'mgmt-01'"]
    with pytest.raises(InputError, match="cannot be rendered"):
        render(plan, "infiniband")


def test_ports_of_machines_without_known_devices_are_read_from_the_file(tmp_path: Path) -> None:
    """Their numbers depend on the machine: they need not be mlx5_0 to mlx5_7."""
    write_guids(tmp_path, (4, 7, 8, 9, 10, 13, 14, 15))
    text = format_spec_with_guids(LLM, VISION).replace("dgx-h100", "mi300x-8gpu")
    plan = build_plan(text, tmp_path)
    assert not plan.errors
    assert len(PortGuids(plan, plan.fabrics[0]).list_guids("train-0003")) == 8
    assert render(plan, "infiniband")["compute/partitions.conf"].count("0x00000000") == 64


def test_invalid_host_lists_are_a_finding(folder: Path) -> None:
    plan = build_plan(format_spec_with_guids('tenant: llm, hosts: "train-[0001"'), folder)
    assert "is not a valid list of hosts" in list_problems(plan, "subnet-partitions")[0]
    assert json.loads(sc.build_document(plan).model_dump_json())["fabrics"][0]["partitions"][0]["hosts"] == ""
