"""Findings on plans for Slurm, and the release that has a missing capability."""

from __future__ import annotations

from typing import Any

import pytest
from slurm_plans import build_gb200_pool, build_h100_pool, build_plan

from supercloud.plan.model.plan import Plan


def list_findings(plan: Plan, check: str) -> list[tuple[str, str, str]]:
    return [(item.level, item.path, item.hint) for item in plan.findings if item.check == check]


CASES: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("slurm-option-unknown", {"options": {"MetricsType": "x"}}, "error", "scheduler.options.MetricsType", "25.11"),
    (
        "slurm-option-unknown",
        {"options": {"SlurmdTimeuot": "9"}},
        "error",
        "scheduler.options.SlurmdTimeuot",
        "did you mean SlurmdTimeout",
    ),
    (
        "slurm-option-value",
        {"options": {"LaunchParameters": 'x" NoSuchKey=1 A="b'}},
        "error",
        "scheduler.options.LaunchParameters",
        "omit it",
    ),
    (
        "slurm-option-value",
        {"options": {"CommunicationParameters": '"'}},
        "error",
        "scheduler.options.CommunicationParameters",
        "omit it",
    ),
    ("slurm-option-reserved", {"options": {"NodeName": "x"}}, "error", "scheduler.options.NodeName", "pools"),
    ("slurm-auth", {"auth": "slurm"}, "error", "scheduler.auth", "23.11"),
    ("slurm-topology", {"topology": "block"}, "error", "scheduler.topology", "23.11"),
    (
        "slurm-topology",
        {"version": "26.05", "topology": "torus3d"},
        "error",
        "scheduler.topology",
        "available: flat, tree",
    ),
    (
        "slurm-topology-choice",
        {"partitions": [{"name": "a", "pools": ["train"], "topology": "flat"}]},
        "error",
        "scheduler.partitions[0].topology",
        "25.05",
    ),
    ("slurm-times", {"health_check_interval": "1 d"}, "error", "scheduler.health_check_interval", "hour"),
    ("slurm-times", {"default_time": "8 d"}, "error", "scheduler.default_time", "max_time"),
    (
        "slurm-times",
        {"partitions": [{"name": "a", "pools": ["train"], "max_time": "30 d"}]},
        "error",
        "scheduler.partitions[0].max_time",
        "raise",
    ),
    (
        "slurm-times",
        {"partitions": [{"name": "a", "pools": ["train"], "max_time": "1 h", "default_time": "2 h"}]},
        "error",
        "scheduler.partitions[0].default_time",
        "shorten",
    ),
    (
        "slurm-metrics",
        {"version": "25.11", "options": {"MetricsType": "metrics/openmetrics"}},
        "warning",
        "scheduler.options.MetricsType",
        "26.05 or later",
    ),
    (
        "slurm-metrics",
        {"version": "25.11", "options": {"MetricsType": "metrics/openmetrics", "PrivateData": "jobs"}},
        "error",
        "scheduler.options.MetricsType",
        "26.05 or later",
    ),
    (
        "slurm-shared-state",
        {"controllers": [{"name": "a"}, {"name": "b"}]},
        "note",
        "scheduler.controllers",
        "file system",
    ),
    *(
        ("slurm-state-folder", {"state_folder": folder}, "error", "scheduler.state_folder", "/var/spool/slurmctld")
        for folder in (
            "/",
            "/etc",
            "/etc/slurm",
            "/home",
            "/var/spool",
            "/var/spool/slurmd",
            "/var/log/slurm",
            "/root/s",
        )
    ),
]


@pytest.mark.parametrize("check, scheduler, level, path, hint", CASES)
def test_findings_of_the_scheduler_are_reported(
    check: str, scheduler: dict[str, Any], level: str, path: str, hint: str
) -> None:
    [finding] = list_findings(build_plan(scheduler=scheduler), check)
    assert finding[:2] == (level, path)
    assert hint in finding[2]


def test_a_valid_plan_has_no_findings() -> None:
    assert not [item for item in build_plan("25.11").findings if item.check.startswith("slurm")]
    assert [item.check for item in build_plan("22.05").findings if item.check.startswith("slurm")] == [
        "slurm-container-tmp"
    ]


def test_a_shared_tmp_is_a_finding() -> None:
    for version in ("22.05", "26.05"):
        [shared] = list_findings(build_plan(version), "slurm-container-tmp")
        assert shared[0] == "note" and "scheduler.version to 25.11," in shared[2], "not a later one that cannot either"
        assert ("of 26.05 may prevent it too, which was not tested" in shared[2]) == (version == "26.05")


def test_unsupported_locality_is_a_finding() -> None:
    [lost] = list_findings(build_plan("22.05", [build_gb200_pool()]), "slurm-topology-unsupported")
    assert lost[0] == "warning" and "23.11" in lost[2]
    assert not list_findings(build_plan("23.11", [build_gb200_pool()]), "slurm-topology-unsupported")


def test_imex_findings_depend_on_the_release() -> None:
    assert list_findings(build_plan("23.11", [build_gb200_pool()]), "slurm-imex")[0][0] == "warning"
    [asked] = list_findings(build_plan("23.11", [build_h100_pool(), build_gb200_pool(imex=True)]), "slurm-imex")
    assert asked[:2] == ("error", "pools[1].imex") and "24.05" in asked[2]
    assert not list_findings(build_plan("24.05", [build_gb200_pool()]), "slurm-imex")


def test_incomplete_blocks_are_reported() -> None:
    pools = [build_gb200_pool(nodes=70)]
    assert list_findings(build_plan("25.05", pools), "slurm-block-incomplete")[0][0] == "note"
    [older] = list_findings(build_plan("24.11", pools), "slurm-block-incomplete")
    assert older[0] == "warning" and "25.05" in older[2]
    assert (
        list_findings(build_plan("24.11", pools, scheduler={"topology": "block"}), "slurm-block-incomplete")[0][0]
        == "error"
    )
    assert not list_findings(build_plan("22.05", pools), "slurm-block-incomplete")


def test_findings_of_pools_are_reported() -> None:
    [mig] = list_findings(
        build_plan(pools=[{"name": "a", "machine": "mi300x-8gpu", "nodes": 2, "slicing": {"mig": {"1g.1gb": 1}}}]),
        "slurm-mig",
    )
    assert mig[:2] == ("error", "pools[0].slicing.mig")
    reserve = list_findings(
        build_plan(pools=[build_h100_pool(reserve={"cores": 112, "memory": "1.5 TB"})]), "slurm-reserve"
    )
    assert [item[1] for item in reserve] == ["pools[0].reserve.cores", "pools[0].reserve.memory"]


def test_findings_of_tenants_are_reported() -> None:
    tenants = [{"name": "a", "priority": "high"}]
    assert list_findings(build_plan(tenants=tenants), "slurm-tenant-users")[0][:2] == ("note", "tenants[0].users")
    without = build_plan(tenants=tenants, scheduler={"accounting": False})
    assert list_findings(without, "slurm-preemption") and not list_findings(without, "slurm-tenant-users")
