"""The subnet manager of switches: what is rendered for it, and which fabrics cannot have it."""

from __future__ import annotations

from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec

from supercloud.plan.model.plan import Plan
from supercloud.targets.installation import render_order
from supercloud.targets.site.infiniband import render

FABRIC = {"name": "compute", "kind": "infiniband", "switch": "nvidia-qm9700", "subnet_manager": "switch"}


def build_plan(nodes: int = 32, machine: str = "dgx-h100", **changes: Any) -> Plan:
    return plan_spec(pools=build_pools(machine, nodes), fabrics=[FABRIC | changes])


def list_refused(plan: Plan) -> list[str]:
    return [item.path for item in plan.errors if item.check == "subnet-manager-switch"]


def test_two_switches_run_the_manager_and_no_host_does() -> None:
    plan = build_plan()
    assert not plan.errors
    files = {path: file.text for path, file in render(plan).files.items()}
    managers = {path: text for path, text in files.items() if "/switch/" in path}
    assert list(managers) == [f"compute/switch/compute-spine-00{number}.txt" for number in (1, 2)]
    for number, priority in ((1, 14), (2, 7)):
        text = managers[f"compute/switch/compute-spine-00{number}.txt"]
        assert f"ib smnode compute-spine-00{number} enable\n" in text and f"sm-priority {priority}\n" in text
    assert not [path for path in files if "opensm" in path or "partitions" in path]
    assert "systemctl enable --now opensm" not in files["compute/GUIDE.md"]
    (row,) = (line for line in render_order(plan).files["INSTALL.md"].text.splitlines() if "the subnet manager" in line)
    assert "compute-spine-001, compute-spine-002" in row and "train-0001" not in row


def test_no_port_is_missing_for_a_manager_on_switches() -> None:
    assert not [item for item in build_plan().findings if item.check == "subnet-manager-port"]
    (finding,) = (item for item in build_plan(subnet_manager="opensm").findings if item.check == "subnet-manager-port")
    assert "OpenSM runs on a node, such as train-0001" in finding.problem
    assert finding.hint.startswith("set subnet_manager: switch, or ")


@pytest.mark.parametrize(
    "changes, field",
    [
        ({"switch": "nvidia-qm9790"}, "subnet_manager"),  # externally managed
        ({"switch": "nvidia-q3400-ra", "speed": "800 Gb/s"}, "subnet_manager"),  # not known to have one
        ({"nodes": 256}, "subnet_manager"),  # 2048 adapters, and switches
        ({"planes": 2}, "subnet_manager"),
        ({"kind": "roce", "switch": "nvidia-sn5600"}, "subnet_manager"),
        ({"partitions": [{"tenant": "lab"}]}, "partitions"),
        ({"m_key": "/etc/opensm/m_key"}, "m_key"),
        ({"manager": {"links": 2}}, "manager"),
    ],
)
def test_fabrics_that_cannot_have_it_are_refused(changes: dict[str, Any], field: str) -> None:
    machine = "dgx-gb300" if changes.get("switch") == "nvidia-q3400-ra" else "dgx-h100"
    nodes = 36 if machine == "dgx-gb300" else 30
    assert list_refused(build_plan(**({"machine": machine, "nodes": nodes} | changes))) == [f"fabrics[0].{field}"]


@pytest.mark.parametrize("function", ["sharp", "adaptive_routing"])
def test_functions_that_only_ufm_has_are_refused(function: str) -> None:
    assert f"fabrics[0].{function}" in [item.path for item in build_plan(**{function: True}).errors]
