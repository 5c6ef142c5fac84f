"""Each check finds what it is for, and a suppressed finding is set apart with its reason."""

from __future__ import annotations

from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec

from supercloud.plan.checks import CHECKS, format_check_name

RACK = {"type": "orv3-48u", "nodes": 4}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "power-budget": ("error", {"facility": {"power": {"budget": "1 MW"}}}),
    "power-headroom": ("warning", {"facility": {"power": {"budget": "1400 kW"}}}),
    "cooling-method": ("warning", {"facility": {"cooling": {"kind": "direct-liquid"}}}),
    "cooling-density": (
        "warning",
        {"facility": {"rack": RACK, "cooling": {"kind": "air"}}, "pools": build_pools("dgx-b200", 64)},
    ),
    "carbon-unknown": ("note", {"site": {"kind": "onprem", "location": "atlantis"}}),
    "fabric-unused": ("warning", {"pools": [{"name": "train", "machine": "dgx-h100", "nodes": 4}]}),
    "fabric-rails-disjoint": (
        "note",
        {
            "pools": build_pools("dgx-gb200", 72),
            "fabrics": [
                {
                    "name": "compute",
                    "kind": "infiniband",
                    "shape": "rail-optimized",
                    "switch": "nvidia-qm9700",
                    "pod": "rail",
                }
            ],
        },
    ),
    "fabric-torus": (
        "warning",
        {
            "pools": build_pools("mi300x-8gpu", 32),
            "fabrics": [{"name": "compute", "kind": "roce", "shape": "torus", "dims": [4, 4, 2]}],
        },
    ),
    "fabric-split-domain": (
        "warning",
        {
            "pools": build_pools("dgx-gb200", 72),
            "fabrics": [
                {
                    "name": "compute",
                    "kind": "infiniband",
                    "shape": "rail-optimized",
                    "switch": "nvidia-qm9700",
                    "leaf_down": 20,
                }
            ],
        },
    ),
    "mig-profile": ("error", {"pools": [build_pools("dgx-h100", 8)[0] | {"slicing": {"mig": {"9g.99gb": 1}}}]}),
    "slicing-support": (
        "error",
        {"pools": [{"name": "c", "machine": "cpu-6740e", "nodes": 1, "slicing": {"shards": 4}}], "fabrics": []},
    ),
    "tenant-accounting": (
        "error",
        {"scheduler": {"kind": "slurm", "version": "22.05", "accounting": False}, "tenants": [{"name": "a"}]},
    ),
    "tenant-limits": ("warning", {"tenants": [{"name": "a", "limits": {"accelerators": 5000}}]}),
    "storage-mount": (
        "error",
        {"storage": [{"name": "a", "kind": "nfs", "mount": "/x"}, {"name": "b", "kind": "nfs", "mount": "/x/"}]},
    ),
    "storage-mount-reserved": ("error", {"storage": [{"name": "a", "kind": "nfs", "mount": "/etc"}]}),
    "storage-throughput-unknown": ("note", {"storage": [{"name": "a", "kind": "nfs", "mount": "/x"}]}),
}


OF_SOFTWARE = [
    "/opt/amazon",
    "/opt/aws/amazon-cloudwatch-agent/bin",
    "/opt/amdgpu/share",
    "/opt/rocm",
    "/opt/rocm-7.0.0/lib",
    "/opt/habanalabs",
]


@pytest.mark.parametrize(
    "mount", ["/etc", "/tmp/shared", "/opt/cni/bin", "/opt/weka", "/opt/mellanox", "/var/spool/slurmd", *OF_SOFTWARE]
)
def test_system_folders_cannot_be_mounts(mount: str) -> None:
    found = plan_spec(storage=[{"name": "a", "kind": "nfs", "mount": mount}]).findings
    assert "storage-mount-reserved" in {finding.check for finding in found}


@pytest.mark.parametrize("mount", ["/opt/data", "/opt/amdgpudata", "/opt/rocmdata", "/scratch/opt/rocm"])
def test_other_folders_can_be_mounts(mount: str) -> None:
    found = plan_spec(storage=[{"name": "a", "kind": "nfs", "mount": mount}]).findings
    assert "storage-mount-reserved" not in {finding.check for finding in found}


@pytest.mark.parametrize("name", sorted(CASES))
def test_each_check_reports_its_case(name: str) -> None:
    level, changes = CASES[name]
    found = [finding for finding in plan_spec(**changes).findings if finding.check == name]
    assert found and {finding.level for finding in found} == {level}
    assert all(finding.problem and finding.path for finding in found)
    assert all(finding.hint for finding in found)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_finding_is_suppressed_with_a_reason(name: str) -> None:
    _, changes = CASES[name]
    plan = plan_spec(**changes, suppress=[{"check": name, "reason": "we know"}])
    assert name not in {finding.check for finding in plan.findings}
    assert {(item.finding.check, item.reason) for item in plan.suppressed} == {(name, "we know")}


def test_a_finding_is_suppressed_only_at_its_path() -> None:
    changes = CASES["storage-throughput-unknown"][1]
    plan = plan_spec(**changes, suppress=[{"check": "storage-throughput-unknown", "path": "storage[9]", "reason": "r"}])
    assert {"storage-throughput-unknown", "suppress-unused"} <= {finding.check for finding in plan.findings}


def test_a_clean_spec_has_no_findings() -> None:
    assert plan_spec(scheduler={"kind": "slurm", "version": "24.11"}).findings == ()


def test_invalid_suppressions_are_errors() -> None:
    plan = plan_spec(suppress=[{"check": "power-hedroom", "reason": "typo"}])
    (finding,) = plan.errors
    assert finding.hint == "did you mean power-headroom?"
    plan = plan_spec(pools=build_pools("dgx-h10", 4), suppress=[{"check": "unknown-name", "reason": "no"}])
    assert "findings of resolution cannot be suppressed" in " ".join(finding.problem for finding in plan.errors)


def test_check_names_are_unique_and_documented() -> None:
    names = [format_check_name(check) for check in CHECKS]
    assert len(names) == len(set(names))
    assert all(check.__doc__ for check in CHECKS)


@pytest.mark.parametrize(
    "machine, mig, problems",
    [
        ("dgx-h100", {"3g.40gb": 1, "2g.20gb": 2}, []),
        ("dgx-h200", {"3g.71gb": 1, "1g.18gb": 4}, []),  # 143 GB by name, which is rounding
        ("dgx-h100", {"3g.40gb": 2, "1g.10gb": 1}, ["90 GiB of memory, 10 GiB more than the 80 GiB"]),
        ("dgx-b200", {"4g.90gb": 1, "1g.23gb": 4}, ["8 compute slices, 1 more than the 7"]),
    ],
)
def test_mixed_mig_profiles_share_slices_and_memory(machine: str, mig: dict[str, int], problems: list[str]) -> None:
    """Both compute slices and memory are shared by whatever profiles there are."""
    plan = plan_spec(pools=[build_pools(machine, 8)[0] | {"slicing": {"mig": mig}}])
    found = [item.problem for item in plan.findings if item.check == "mig-profile"]
    assert len(found) == len(problems) and all(want in have for want, have in zip(problems, found, strict=True))
