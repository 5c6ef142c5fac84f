"""The subnet manager's files, and GUIDs that are read, never made up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import supercloud as sc
from supercloud.errors import InputError
from supercloud.plan.build.fabric.guids import parse_guids
from supercloud.plan.model.plan import Plan
from supercloud.spec.loader import loads
from supercloud.targets import render

SPEC = Path(__file__).parents[4] / "examples" / "02-superpod" / "cluster.yaml"
MANAGER = "manager: {links: 4}"


def build_plan(more: str, folder: Path = SPEC.parent) -> Plan:
    text = SPEC.read_text()
    assert MANAGER in text
    return sc.resolve(loads(text.replace(MANAGER, f"{MANAGER}\n    {more}"), str(folder / "cluster.yaml")))


def test_opensm_has_the_fat_tree_without_another_fallback() -> None:
    conf = render(build_plan("tiers: 2"), "infiniband")["compute/opensm.conf"]
    assert "\nrouting_engine ftree,updn,no_fallback\n" in conf
    assert "=" not in conf and "root_guid_file" not in conf and "sharp" not in conf


@pytest.mark.slow
def test_licensed_features_require_ufm() -> None:
    found = [item.problem for item in build_plan("adaptive_routing: true\n    sharp: true").errors]
    assert found == [
        "the open subnet manager has no adaptive_routing",
        "the open subnet manager has no sharp",
    ]
    bundle = render(build_plan("adaptive_routing: true\n    sharp: true\n    subnet_manager: nvidia"), "infiniband")
    assert "routing_engine ar_ftree\n" in bundle["compute/ufm/opensm.conf"]
    assert "sharp_enabled 2" in bundle["compute/ufm/opensm.conf"]
    assert "port-regexp: compute-spine-.*" in bundle["compute/ufm/pgrp_policy.conf"]
    assert "high_ber_ports_auto_isolation" in bundle["compute/ufm/gv.cfg"]


@pytest.mark.slow
def test_roots_and_partitions_from_a_file_of_guids(tmp_path: Path) -> None:
    names = [f"compute-spine-{number:03d}" for number in range(1, 17)]
    names += [f"train-0001 mlx5_{port}" for port in (11, 6, 10, 9, 4, 3, 5, 0)]
    names += [f"train-{node:04d} mlx5_{port}" for node in range(3, 128) for port in (11, 6, 10, 9, 4, 3, 5, 0)]
    (tmp_path / "guids.txt").write_text("".join(f'"{name}" 0x{0xB8CE + at:016x}\n' for at, name in enumerate(names)))
    more = 'guids: guids.txt\n    partitions: [{tenant: llm, hosts: "train-0001", pkey: 5}, {tenant: vision}]'
    bundle = render(build_plan("guids: guids.txt", tmp_path), "infiniband")
    assert bundle["compute/root-guids.conf"].split() == [f"0x{0xB8CE + at:016x}" for at in range(16)]
    assert "root_guid_file /etc/opensm/compute/root-guids.conf" in bundle["compute/opensm.conf"]
    assert '0x000000000000b8ce "compute-spine-001"' in bundle["compute/node-name-map"]
    lacking = [item for item in build_plan(more, tmp_path).errors if item.check == "subnet-guids"]
    assert [(item.path, item.problem) for item in lacking] == [
        ("fabrics[0].partitions[1]", "the GUIDs of 8 of 1008 ports are unknown, the first is 'train-0002 mlx5_11'"),
    ]


def test_duplicates_are_findings_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "guids.txt").write_text('# ours\na 0x1\nb 0x1\n"c d" 0x3\n"c d" 0x4\ne 0x0\n')
    found = [item for item in build_plan("guids: guids.txt", tmp_path).errors if item.check == "guids-duplicate"]
    place = tmp_path / "guids.txt"
    assert [item.problem for item in found] == [
        f"{place}:3: 0x0000000000000001 of b is also that of a on line 2",
        f"{place}:5: c d has 0x0000000000000004, but 0x0000000000000003 on an earlier line",
        f"{place}:6: the GUID of e is 0",
    ]
    assert all(item.path == "fabrics[0].guids" and item.line for item in found)


@pytest.mark.parametrize("text", ["a\n", "a 0x12345678901234567\n", "a b c 0x1\n"])
def test_an_invalid_guid_is_an_error_with_its_line(text: str) -> None:
    with pytest.raises(InputError, match="guids:1: this line is not a name and a GUID"):
        parse_guids(text, "guids")


def test_a_missing_file_is_a_finding(tmp_path: Path) -> None:
    (found,) = [item for item in build_plan("guids: none.txt", tmp_path).errors if item.check == "guids-file"]
    assert "'none.txt': file not found" in found.problem


@pytest.mark.slow
def test_servers_of_storage_are_reached_by_every_tenant(tmp_path: Path) -> None:
    """They are in the simulated network and in the list of cables too, with the adapters that their machine has."""
    spec = SPEC.parents[1] / "07-storage" / "cluster.yaml"
    names = [f"train-{node:04d} mlx5_{port}" for node in (1, 2) for port in (7, 1)]
    servers = [
        f"{name} mlx5_{port}"
        for group in sc.resolve(sc.load(spec)).servers
        if group.storage in _PARALLEL
        for name in group.hosts
        for port in (0, 1)
    ]
    guids = "".join(f'"{name}" 0x{0xA0 + at:016x}\n' for at, name in enumerate([*names, *servers]))
    (tmp_path / "guids.txt").write_text(guids)
    more = "switch: nvidia-qm9700, guids: guids.txt, partitions: [{tenant: llm, hosts: 'train-[0001-0002]'}]}     # par"
    text = spec.read_text().replace("switch: nvidia-qm9700}     # par", more).replace("catalog: catalog", "", 1)
    text = text.replace("name: storage\n", f"name: storage\ncatalog: {spec.parent / 'catalog'}\n", 1)
    plan = sc.resolve(loads(text, str(tmp_path / "cluster.yaml")))
    assert not plan.errors
    conf = render(plan, "infiniband")["storage/partitions.conf"]
    assert len(re.findall(r"^    0x[0-9a-f]{16}=full", conf, re.MULTILINE)) == len(servers)
    assert (
        "Default=0x7fff, indx0, ipoib, mtu=5, defmember=limited :" in conf
        and f"0x{0xA0 + len(names):016x}=full" in conf
    )
    assert "llm=0x5401, ipoib, mtu=5, defmember=full :" in conf
    net = render(plan, "cabling")["storage.net"]
    assert 'Hca 1 "scratch-oss-0001 mlx5_0"' in net and net.count('Hca 1 "fast-backend-') == 16


_PARALLEL = ("scratch", "fast", "proj")
