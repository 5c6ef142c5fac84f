"""What is found wrong with a spec for Kubernetes, and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kube_specs import ELSEWHERE, ONPREM, VARIANTS, build_plan
from samples import ROOT

from supercloud.catalog import Catalog

H100 = ONPREM["pools"][0]
AWS: dict[str, Any] = {
    "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
    "storage": [],
    "fabrics": [],
    "facility": None,
}
G5 = {"name": "g", "machine": "g5.48xlarge", "nodes": 8}
GB200 = {"name": "train", "machine": "dgx-gb200", "nodes": 72, "fabrics": ["compute"]}


def build_scheduler(**more: Any) -> dict[str, Any]:
    return {"scheduler": {"kind": "kubernetes", "version": "1.36"} | more}


CASES: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("unknown-name", build_scheduler(version="1.99"), "error", "scheduler.version", "1.36"),
    ("unknown-name", build_scheduler(queue_version="0.3"), "error", "scheduler.queue_version", "0.13"),
    (
        "kueue-slices",
        build_scheduler(queue_version="0.12") | {"pools": [GB200]},
        "warning",
        "scheduler.queue_version",
        "0.13",
    ),
    ("kueue-starts", build_scheduler(version="1.33"), "note", "scheduler.version", "to 1.34"),
    ("kueue-starts", build_scheduler(version="1.35") | AWS | {"pools": [G5]}, "note", "scheduler.version", "to 1.36"),
    (
        "kubernetes-devices",
        build_scheduler(version="1.33") | {"pools": [GB200]},
        "warning",
        "scheduler.version",
        "1.34",
    ),
    ("kubernetes-claims", build_scheduler(version="1.35", devices="claims"), "error", "scheduler.devices", "1.36"),
    (
        "kubernetes-claims",
        build_scheduler(devices="claims") | {"pools": [H100 | {"slicing": {"mig": {"1g.10gb": 7}}}]},
        "error",
        "pools[0].slicing",
        "devices: plugin",
    ),
    (
        "kubernetes-claims",
        build_scheduler(devices="claims") | {"pools": [{"name": "mi", "machine": "mi300x-8gpu", "nodes": 8}]},
        "warning",
        "pools[0].machine",
        "plugin",
    ),
    (
        "kubernetes-devices",
        {"pools": [H100 | {"slicing": {"shards": 2, "accelerators": 4}}]},
        "error",
        "pools[0].slicing.accelerators",
        "two pools",
    ),
    (
        "kubernetes-devices",
        {"pools": [{"name": "mi", "machine": "mi300x-8gpu", "nodes": 8, "slicing": {"shards": 2}}], "fabrics": []},
        "error",
        "pools[0].slicing.shards",
        "remove",
    ),
    (
        "kubernetes-devices",
        AWS | {"pools": [{"name": "g", "machine": "dl1.24xlarge", "nodes": 2}]},
        "warning",
        "pools[0].machine",
        "overlay",
    ),
    (
        "kubernetes-devices",
        {"pools": [{"name": "g", "machine": "gaudi3-8", "nodes": 8, "slicing": {"shards": 2}}], "fabrics": []},
        "error",
        "pools[0].slicing.shards",
        "NVIDIA",
    ),
    (
        "kubernetes-devices",
        AWS | {"pools": [{"name": "i", "machine": "inf2.48xlarge", "nodes": 2, "slicing": {"mig": {"1g.10gb": 7}}}]},
        "error",
        "pools[0].slicing.mig",
        "NVIDIA",
    ),
    ("kubernetes-visible-devices", AWS | {"pools": [G5]}, "note", "pools[0].machine", "check the line"),
    ("kubernetes-visible-devices", VARIANTS["gaudi"], "warning", "pools[0].machine", "check the line"),
    ("kubernetes-levels", build_scheduler(levels=["su", "rack"]), "error", "scheduler.levels[1]", "use one of those"),
    (
        "kubernetes-levels",
        build_scheduler(levels=["scale-up"]) | AWS | {"pools": [G5]},
        "error",
        "scheduler.levels[0]",
        "omit 'levels'",
    ),
    (
        "mig-profile",
        {"pools": [H100 | {"slicing": {"mig": {"1g.18gb": 7}}}]},
        "error",
        "pools[0].slicing.mig.1g.18gb",
        "1g.10gb",
    ),
    ("tenant-shares", {"tenants": [{"name": "a", "share": 0}]}, "error", "tenants", "set the share"),
    ("kubernetes-tenant-name", {"tenants": [{"name": "kube-system"}]}, "error", "tenants[0].name", "another"),
    ("kubernetes-tenant-name", {"tenants": [{"name": "monitoring"}]}, "error", "tenants[0].name", "another"),
    (
        "kubernetes-tenant-limits",
        {"tenants": [{"name": "a", "limits": {"jobs": 3}}]},
        "note",
        "tenants[0].limits.jobs",
        "submitted",
    ),
    ("kubernetes-channels", {"pools": [GB200]} | build_scheduler(queue="volcano"), "warning", "pools[0].imex", "Kueue"),
    ("kubernetes-claims", build_scheduler(queue="volcano", devices="claims"), "error", "scheduler.devices", "Kueue"),
    (
        "kubernetes-tenant-limits",
        {"tenants": [{"name": "a", "limits": {"max_time": "1 d"}}]} | build_scheduler(queue="volcano"),
        "note",
        "tenants[0].limits.max_time",
        "Kueue",
    ),
    (
        "kubernetes-tenant-limits",
        {"pools": [H100 | {"nodes": 1}], "tenants": [{"name": "a", "share": 1000}, {"name": "b", "share": 1}]},
        "warning",
        "tenants[1].share",
        "increase its share",
    ),
    (
        "kubernetes-size",
        {"pools": [H100 | {"nodes": 5001}], "fabrics": [], "facility": None}
        | {"pools": [{"name": "train", "machine": "dgx-h100", "nodes": 5001}]},
        "warning",
        "pools",
        "fleet",
    ),
    (
        "kubernetes-size",
        build_scheduler(controllers=[{"name": "a"}, {"name": "b"}]),
        "warning",
        "scheduler.controllers",
        "3 or 5",
    ),
    (
        "kubernetes-addresses",
        {
            "network": {"cidr": "10.0.0.0/8", "fabrics": "172.16.0.0/12"},
            "pools": [{"name": "train", "machine": "dgx-h100", "nodes": 60000}],
            "fabrics": [],
        },
        "error",
        "network.cidr",
        "smaller",
    ),
    (
        "kubernetes-node-size",
        {"pools": [{"name": "m", "machine": "management-server", "nodes": 2}], "fabrics": []},
        "note",
        "pools[0].machine",
        "overlay",
    ),
    # a tenant with a limit of nodes has its part of each pool, also of one with nothing to give
    (
        "kubernetes-reserve",
        {
            "pools": [H100, H100 | {"name": "all", "nodes": 4, "reserve": {"cores": 112}}],
            "tenants": [{"name": "a", "limits": {"nodes": 8}}],
        },
        "error",
        "pools[1].reserve.cores",
        "leave cores",
    ),
    (
        "kubernetes-reserve",
        {"pools": [H100 | {"reserve": {"memory": "2 TiB"}}]},
        "error",
        "pools[0].reserve.memory",
        "leave memory",
    ),
    ("kubernetes-labels", {"pools": [H100 | {"features": ["_odd"]}]}, "error", "pools[0].features[0]", "rename"),
]


@pytest.mark.slow
@pytest.mark.parametrize("check, changes, level, path, hint", CASES)
def test_each_case_has_its_finding(check: str, changes: dict[str, Any], level: str, path: str, hint: str) -> None:
    findings = [item for item in build_plan(changes).findings if item.check == check and item.path == path]
    assert [item.level for item in findings] == [level]
    assert hint in findings[0].hint


def test_a_valid_plan_has_no_findings() -> None:
    assert not [item for item in build_plan().findings if item.check.startswith(("kube", "kueue"))]


@pytest.mark.parametrize(
    "changes",
    [
        build_scheduler(version="1.34"),
        build_scheduler(version="1.31", queue="volcano"),
        build_scheduler() | AWS | {"pools": [G5]},
    ],
)
def test_plans_that_count_starts_have_no_finding(changes: dict[str, Any]) -> None:
    assert not [item for item in build_plan(changes).findings if item.check == "kueue-starts"]


@pytest.mark.parametrize("more", [{"version": "1.35"}, {"queue": "volcano"}])
def test_pools_that_keep_their_plugin_need_no_claims(more: dict[str, str]) -> None:
    """Nothing of theirs is claimed, so no release and no queue is too old for it."""
    pools = {"pools": [{"name": "mi", "machine": "mi300x-8gpu", "nodes": 8}]}
    found = [
        item
        for item in build_plan(build_scheduler(devices="claims", **more) | pools).findings
        if item.check == "kubernetes-claims"
    ]
    assert [item.level for item in found] == ["warning"]


def test_queued_capacity_is_only_for_gke() -> None:
    pools = [{"name": "train", "machine": "p5.48xlarge", "nodes": 4, "capacity": [{"kind": "flex-start"}]}]
    site = {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]}
    plan = build_plan({"site": site, "pools": pools, "fabrics": [], "storage": [], "facility": None})
    assert [item.path for item in plan.findings if item.check == "kubernetes-capacity"] == ["pools[0].capacity[0]"]


def test_an_unknown_level_is_reported_with_the_available_ones() -> None:
    [finding] = [
        item for item in build_plan(build_scheduler(levels=["rack"])).findings if item.check == "kubernetes-levels"
    ]
    assert "available: fabric, su" in finding.problem


def test_more_levels_than_the_queue_supports_are_reported(tmp_path: Path) -> None:
    """With room for three, two levels and the host have to be chosen."""
    (tmp_path / "kueue").mkdir()
    (tmp_path / "kueue" / "0.19.yaml").write_text("name: '0.19'\nmax_levels: 3\n")
    catalog = Catalog([tmp_path])
    whole = build_plan({"pools": [GB200]}, catalog)
    [finding] = [item for item in whole.findings if item.check == "kueue-limits"]
    assert (finding.level, finding.path) == ("error", "pools[0]") and "list 2 of them" in finding.hint
    chosen = build_plan({"pools": [GB200], **build_scheduler(levels=["scale-up", "su"])}, catalog)
    assert not [item for item in chosen.findings if item.check == "kueue-limits"]


def test_slicing_on_gke_is_set_by_the_node_group() -> None:
    [pool] = ELSEWHERE["gke"]["pools"]
    plan = build_plan(ELSEWHERE["gke"] | {"pools": [pool | {"slicing": {"shards": 4}}]})
    [finding] = [item for item in plan.findings if item.check == "kubernetes-devices"]
    assert (finding.level, finding.path) == ("warning", "pools[0].slicing")


def test_tpus_are_supported_only_on_gke(tmp_path: Path) -> None:
    clouds = ROOT / "supercloud/catalog/data/machines/ct5p-hightpu-4t.yaml"
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines" / "tpu-gcp.yaml").write_text(
        clouds.read_text().replace("provider: gcp", "provider: onprem").replace("ct5p-hightpu-4t", "tpu-gcp")
    )
    pools = [{"name": "train", "machine": "tpu-gcp", "nodes": 16}]
    plan = build_plan({"pools": pools, "fabrics": []}, Catalog([tmp_path]))
    found = [item.level for item in plan.findings if item.check == "kubernetes-devices"]
    assert found == ["warning"] and plan.scheduler.kubernetes and not plan.scheduler.kubernetes.stacks


@pytest.mark.slow
def test_pods_on_the_network_of_the_host_are_reported() -> None:
    """No network policy holds for such pods, and that is not silent."""
    plan = build_plan(VARIANTS["roce"])
    [finding] = [item for item in plan.findings if item.check == "kubernetes-host-network"]
    assert (finding.level, finding.path) == ("warning", "fabrics[0].kind")
    assert "network policies do not apply" in finding.problem and finding.hint
    for changes in ({}, VARIANTS["roce"] | {"tenants": []}, VARIANTS["aws"]):
        assert not [item for item in build_plan(changes).findings if item.check == "kubernetes-host-network"]
