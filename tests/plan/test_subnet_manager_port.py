"""A subnet manager needs a switch port: fabrics whose nodes and uplinks have all of them are found."""

from __future__ import annotations

from typing import Any

from plan.test_resolve import planned, train

from supercloud.errors import Finding


def found(nodes: int, **changes: Any) -> list[Finding]:
    fabric = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}
    plan = planned(pools=train("dgx-b200", nodes), fabrics=[fabric | changes])
    return [item for item in plan.findings if item.check == "subnet-manager-port"]


def test_a_full_switch_has_no_port_for_the_subnet_manager() -> None:
    (finding,) = found(8)  # 64 ports of one switch
    assert finding.level == "warning" and "64 switch ports" in finding.problem and "manager:" in finding.hint


def test_full_tiers_have_no_port_for_the_subnet_manager() -> None:
    assert found(32) and not found(31)


def test_a_free_port_or_a_declared_manager_is_enough() -> None:
    assert not found(7)
    assert not found(7, manager={"links": 2})
    assert not found(8, manager={"links": 2})
    assert not found(7, services=[{"name": "mgmt", "count": 2}])
    assert not found(8, kind="roce", switch="nvidia-sn5600")
