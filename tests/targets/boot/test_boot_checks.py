"""Findings on specs of Slurm on a cloud."""

from __future__ import annotations

from typing import Any

import pytest
from boot_machines import build_plan

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec

pytestmark = pytest.mark.slow


def _build_aws_plan(**scheduler: Any) -> Plan:
    return _build_plan_at({"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]}, **scheduler)


def _build_plan_at(site: dict[str, Any], network: dict[str, Any] | None = None, **scheduler: Any) -> Plan:
    declared = {
        "name": "pod",
        "site": site,
        "scheduler": {"kind": "slurm", "version": "25.11", **scheduler},
        "pools": [{"name": "train", "machine": "p5.48xlarge", "nodes": 2}],
        "network": network or {},
    }
    return resolve(ClusterSpec.model_validate(declared))


def _list_findings(plan: Plan, check: str) -> list[tuple[str, str, str]]:
    return [(item.level, item.path, item.problem) for item in plan.findings if item.check == check]


def test_a_cloud_has_one_controller() -> None:
    found = _list_findings(_build_aws_plan(controllers=[{"name": "a"}, {"name": "b"}]), "slurm-cloud-controllers")
    assert [(level, path) for level, path, _ in found] == [("error", "scheduler.controllers")]
    assert "2 controllers at aws share no disk" in found[0][2]
    assert not _list_findings(_build_aws_plan(), "slurm-cloud-controllers")


def test_features_that_cloud_nodes_do_not_get_at_boot_are_reported() -> None:
    """MIG: declared, but not set up by the boot."""
    pool = {"name": "train", "machine": "p5.48xlarge", "nodes": 2, "local": "/scratch"}
    declared = {
        "name": "pod",
        "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": [pool | {"slicing": {"mig": {"1g.10gb": 7}}}],
    }
    found = resolve(ClusterSpec.model_validate(declared))
    ((level, path, problem),) = _list_findings(found, "slurm-cloud-slices")
    assert (level, path) == ("error", "pools[0].slicing.mig") and "1g.10gb" in problem
    assert not _list_findings(found, "slurm-cloud-local-disks")
    assert not _list_findings(_build_aws_plan(), "slurm-cloud-slices")


def test_internal_disks_that_a_machine_does_not_have_are_reported() -> None:
    declared = {
        "name": "pod",
        "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": [{"name": "cpu", "machine": "m6i.2xlarge", "nodes": 2, "local": "/local"}],
    }
    ((level, path, problem),) = _list_findings(resolve(ClusterSpec.model_validate(declared)), "slurm-cloud-local-disks")
    assert (level, path) == ("error", "pools[0].local")
    assert "m6i.2xlarge is not known to have internal disks" in problem


def test_releases_without_topology_of_joining_nodes_are_reported() -> None:
    assert _list_findings(_build_aws_plan(version="24.11"), "slurm-cloud-topology") == [
        (
            "warning",
            "scheduler.version",
            "Slurm 24.11 cannot add joining nodes to the topology: the nodes of a job may be far apart",
        )
    ]
    found = _build_aws_plan(version="22.05")
    assert [item.hint for item in found.findings if item.check == "slurm-cloud-topology"] == [
        "set scheduler.version to 25.05 or later, or let jobs request the features net-… of running nodes"
    ]
    assert not _list_findings(_build_aws_plan(version="25.05"), "slurm-cloud-topology") and not _list_findings(
        build_plan(), "slurm-cloud-topology"
    )


def test_images_whose_archive_has_another_release_are_reported() -> None:
    (found,) = _list_findings(_build_aws_plan(), "slurm-cloud-image")
    assert found[:2] == ("warning", "site.images") and "slurm-nvidia-x86" in found[2]
    assert "their package archive has Slurm 23.11, not 25.11" in found[2]
    assert not _list_findings(_build_aws_plan(version="23.11"), "slurm-cloud-image")
    images = dict.fromkeys(_build_aws_plan().cloud.images, "ami-0123456789abcdef0")  # type: ignore[union-attr]
    site = {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"], "images": images}
    assert not _list_findings(_build_plan_at(site), "slurm-cloud-image")


def test_nodes_that_stay_on_need_a_release_that_supports_it() -> None:
    spec = _build_aws_plan().spec
    always = spec.model_copy(update={"pools": (spec.pools[0].model_copy(update={"min": 1}),)})
    assert not _list_findings(resolve(always), "slurm-cloud-minimum")
    old = always.model_copy(update={"scheduler": spec.scheduler.model_copy(update={"version": "22.05"})})
    (found,) = _list_findings(resolve(old), "slurm-cloud-minimum")
    assert found[:2] == ("warning", "pools[0].min") and "Slurm 22.05" in found[2]


def test_images_in_an_isolated_network_need_the_scheduler() -> None:
    (found,) = _list_findings(
        _build_plan_at({"kind": "aws", "region": "us-east-1"}, {"isolated": True}), "slurm-cloud-image"
    )
    assert found[:2] == ("warning", "site.images") and "an isolated network has no source for them" in found[2]
