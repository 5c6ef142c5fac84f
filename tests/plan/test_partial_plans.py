"""Errors of resolution: nothing is computed on a plan that lacks what they name, and they cannot be suppressed."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from plan.test_resolve import plan_spec
from samples import ROOT

from supercloud.plan.checks import CHECKS, format_check_name
from supercloud.plan.model.problems import OTHER_NAMES

SPEC: dict[str, Any] = {
    "fabrics": [{"name": "compute", "kind": "infiniband", "switch": "nvidia-qm9700"}],
    "facility": {"rack": {"type": "eia-48u"}, "power": {"budget": "20 kW"}},
}


def build_pools(machine: str = "dgx-h100", fabric: str = "compute") -> list[dict[str, Any]]:
    small = {"name": "debug", "machine": "dgx-h100", "nodes": 3}
    return [small, {"name": "train", "machine": machine, "nodes": 15, "fabrics": [fabric]}]


@pytest.mark.parametrize("pools", [build_pools("dgx-h10"), build_pools(fabric="compte")])
def test_an_unknown_name_hides_findings_that_depend_on_it(pools: list[dict[str, Any]]) -> None:
    assert {item.check for item in plan_spec(pools=pools, **SPEC).findings} == {"unknown-name"}


def test_with_all_names_checks_run() -> None:
    found = {item.check for item in plan_spec(pools=build_pools(), **SPEC).findings}
    assert "power-budget" in found and "unknown-name" not in found


def test_an_entry_of_suppress_is_not_called_unused_if_checks_did_not_run() -> None:
    plan = plan_spec(pools=build_pools("dgx-h10"), suppress=[{"check": "power-budget", "reason": "later"}], **SPEC)
    assert [item.check for item in plan.findings] == ["unknown-name"]


@pytest.mark.parametrize("machine", ["dgx-h100", "dgx-h10"])
def test_a_finding_of_resolution_cannot_be_suppressed(machine: str) -> None:
    suppress = [{"check": "unknown-name", "reason": "later"}]
    errors = plan_spec(pools=build_pools(machine), suppress=suppress).errors
    (finding,) = [item for item in errors if item.path == "suppress[0].check"]
    assert "findings of resolution cannot be suppressed" in finding.problem and "unknown check" not in finding.problem


def test_all_other_names_are_known() -> None:
    assert set(yaml.safe_load((ROOT / "docs/findings.yaml").read_text())) == OTHER_NAMES
    assert not OTHER_NAMES & {format_check_name(check) for check in CHECKS}
