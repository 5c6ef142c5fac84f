"""Hosts of several vendors on RoCE: each has the tool of its vendor and the file of its library only."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from plan.test_resolve import plan_spec

from supercloud.plan.build.kubernetes.fabrics import build_nccl_environment
from supercloud.plan.model.plan import Plan
from supercloud.primitives.bundle import Bundle
from supercloud.targets import render

_SWITCHED = {"kind": "roce", "shape": "fat-tree", "switch": "nvidia-sn5600", "os": "sonic"}
_NVIDIA = ("mlnx_qos", "cma_roce", "roce_np")


@pytest.fixture(scope="module")
def plan() -> Plan:
    pools = [
        ("amd", "mi355x-8gpu", ["compute"]),
        ("nv", "dgx-h100", ["compute"]),
        ("gd", "gaudi3-8", ["other", "data"]),
    ]
    found = plan_spec(
        pools=[{"name": name, "machine": machine, "nodes": 4, "fabrics": fabrics} for name, machine, fabrics in pools],
        fabrics=[
            {"name": "compute", **_SWITCHED},
            {"name": "other", "role": "compute", **_SWITCHED},
            {"name": "data", "role": "storage", **_SWITCHED},
        ],
    )
    assert not found.errors, found.errors
    return found


@pytest.fixture(scope="module")
def bundle(plan: Plan) -> Bundle:
    return render(plan, "roce")


def _list_files(bundle: Bundle, folder: str) -> set[str]:
    return {path.removeprefix(f"{folder}/") for path in bundle if path.startswith(f"{folder}/")}


def test_adapters_are_configured_with_the_tool_of_their_vendor(bundle: Bundle) -> None:
    tools = {"amd": ("compute", "nicctl"), "nv": ("compute", "mlnx_qos"), "gd": ("data", "bnxt_setupcc.sh")}
    for pool, (fabric, tool) in tools.items():
        text = bundle[f"{fabric}/nodes/{pool}/roce-qos.sh"]
        others = {other for _, other in tools.values()} - {tool}
        assert tool in text and not any(other in text for other in (*others, *(_NVIDIA if pool != "nv" else ())))


def test_adapters_without_a_known_tool_have_a_finding_and_no_script(plan: Plan, bundle: Bundle) -> None:
    assert _list_files(bundle, "other/nodes/gd") == {"roce-rails.sh", "roce-other.service"}
    assert "roce-qos" not in bundle["other/nodes/gd/roce-other.service"]
    assert "roce-qos" in bundle["data/nodes/gd/roce-data.service"]
    (finding,) = [item for item in plan.findings if item.check == "roce-host-qos"]
    assert finding.path == "fabrics[1]" and "nodes/gd (Gaudi 3)" in finding.problem
    assert re.search(r"adapters of `nodes/gd`, so that their folders have no `roce-qos.sh`", bundle["INSTALL.md"])


def test_qos_is_configured_again_after_the_driver_is_reloaded(bundle: Bundle) -> None:
    """Interfaces come back without names, addresses and QoS; a unit that remains active is not started again."""
    unit = bundle["compute/nodes/nv/roce-compute.service"].splitlines()
    assert "PartOf=openibd.service" in unit and "After=network-pre.target openibd.service" in unit
    for path in ("compute/nodes/amd/roce-compute.service", "other/nodes/gd/roce-other.service"):
        assert "PartOf" not in bundle[path] and "openibd" not in bundle[path]


def test_install_lists_the_software_of_hosts(bundle: Bundle) -> None:
    sections = bundle["INSTALL.md"].split("\n## ")
    [compute] = [text for text in sections if text.startswith("compute\n")]
    first, _, third = re.findall(r"^[123]\. .+(?:\n   .+)*", compute.partition("On the nodes:")[2], re.M)[:3]
    assert "nicctl of AMD's host software for Pollara adapters (`nodes/amd`)" in first
    assert "DOCA-OFED (profile doca-ofed of DOCA-Host) (`nodes/nv`)" in first and "not in a container" in first
    assert "LINK_TYPE_P1=ETH" in first
    assert "`openibd.service` is restarted" in third
    [other] = [text for text in sections if text.startswith("other\n")]
    assert "as described in their vendor's manual" in other and "openibd" not in other


def test_each_collective_library_has_its_configuration_file(plan: Plan, bundle: Bundle) -> None:
    """NCCL reads /etc/nccl.conf, RCCL /etc/rccl.conf, HCCL of Gaudi neither."""
    assert "nccl.conf" in _list_files(bundle, "compute/nodes/nv") and "rccl.conf" not in _list_files(
        bundle, "compute/nodes/nv"
    )
    assert "rccl.conf" in _list_files(bundle, "compute/nodes/amd") and "nccl.conf" not in _list_files(
        bundle, "compute/nodes/amd"
    )
    assert "NCCL_IB_GID_INDEX=1\n" in bundle["compute/nodes/amd/rccl.conf"]
    assert "NCCL_IB_GID_INDEX=3\n" in bundle["compute/nodes/nv/nccl.conf"]
    assert "`nccl.conf` or `rccl.conf` to `/etc`" in bundle["INSTALL.md"]
    assert (
        build_nccl_environment(plan, plan.get_pool("gd")) == {}
        and build_nccl_environment(plan, plan.get_pool("amd"))["NCCL_IB_GID_INDEX"] == "1"
    )


def test_every_dscp_and_priority_is_mapped_once(bundle: Bundle) -> None:
    text = bundle["compute/nodes/amd/roce-qos.sh"]
    mapped: dict[int, int] = {}
    for dscps, priority in re.findall(r"dscp-to-priority --dscp (\S+) --priority (\d)", text):
        for part in dscps.split(","):
            first, _, last = part.partition("-")
            for dscp in range(int(first), int(last or first) + 1):
                assert dscp not in mapped
                mapped[dscp] = int(priority)
    assert sorted(mapped) == list(range(64)) and mapped[26] == 3 and mapped[48] == 6
    assert {priority for dscp, priority in mapped.items() if dscp not in (26, 48)} == {0}


@pytest.mark.parametrize("pool, fabric", [("amd", "compute"), ("gd", "data")])
def test_scripts_pass_shellcheck(bundle: Bundle, tmp_path: Path, pool: str, fabric: str) -> None:
    script = tmp_path / "roce-qos.sh"
    script.write_text(bundle[f"{fabric}/nodes/{pool}/roce-qos.sh"])
    command: list[Any] = [Path(sys.executable).with_name("shellcheck"), script]
    if os.path.exists(command[0]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
