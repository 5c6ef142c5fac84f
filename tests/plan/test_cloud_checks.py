"""Each check of a cloud site finds what it is for, with the value in the problem and a next step in the hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plan.clouds import (
    BLOCK,
    FABRICS,
    KUBERNETES,
    RESERVED,
    TWO,
    WEKA,
    build_lustre,
    build_plan,
    build_pool,
    build_slurm,
    overlay_catalog,
)
from plan.wrong_clouds import CASES

from supercloud.plan.checks import CHECKS, format_check_name


@pytest.mark.slow
@pytest.mark.parametrize(
    "check, level, path, word, changes", CASES, ids=[f"{row[0]}-{i}" for i, row in enumerate(CASES)]
)
def test_each_finding_is_reported_once(check: str, level: str, path: str, word: str, changes: dict[str, Any]) -> None:
    findings = [item for item in build_plan(**changes).findings if item.check == check and item.path == path]
    assert [item.level for item in findings] == [level], [str(item) for item in build_plan(**changes).findings]
    assert word in findings[0].problem
    assert findings[0].hint


def test_every_check_of_clouds_has_a_case() -> None:
    elsewhere = {
        "cloud-image-build",
        "cloud-image-packages",
        "cloud-image-tools",
    }
    # in tests/clouds/test_aws_image_builds.py
    ours = {format_check_name(check) for check in CHECKS if check.__name__.startswith("cloud_")}
    assert ours - elsewhere <= {row[0] for row in CASES}


def test_a_clean_spec_has_no_findings() -> None:
    plan = build_plan(
        pools=[build_pool(capacity=[RESERVED, {"kind": "on-demand"}])], scheduler=build_slurm(login={"count": 1})
    )
    # notes: what images have is not known on this machine, and who logs in is not declared
    assert [item.check for item in plan.findings] == ["slurm-cloud-image", "user-account"]


def test_all_findings_are_reported_together() -> None:
    plan = build_plan(
        pools=[build_pool(capacity=[BLOCK | {"zone": "us-east-1c"}], placement="cluster")],
        storage=[build_lustre(capacity="48 TiB", throughput_per_tib="300 MB/s", mount="/opt")],
        network={"cidr": "192.169.0.0/16"},
        tags={"aws:x": "1"},
    )
    assert {
        "cloud-capacity-zone",
        "cloud-placement",
        "cloud-storage-throughput",
        "cloud-storage-size",
        "storage-mount-reserved",
        "cloud-network-private",
        "cloud-tags",
    } <= {finding.check for finding in plan.findings}


def test_sixty_access_ranges_fit_a_security_group() -> None:
    access = [f"198.51.100.{number}/32" for number in range(60)]
    plan = build_plan(scheduler=build_slurm(login={"public": True}), network={"access": access})
    assert plan.errors == ()


def test_a_finding_is_suppressed_with_a_reason() -> None:
    plan = build_plan(
        pools=[build_pool(placement="none")], suppress=[{"check": "cloud-placement-missing", "reason": "two racks"}]
    )
    assert [item.check for item in plan.findings] == ["slurm-cloud-image", "user-account"]
    assert len(plan.suppressed) == 1


def test_an_unknown_region_suggests_the_nearest() -> None:
    plan = build_plan(site={"kind": "aws", "region": "us-east1"})
    (finding,) = [item for item in plan.errors if item.path == "site.region"]
    assert "us-east-1" in finding.hint and plan.cloud is None


def test_machines_of_other_sites_are_errors() -> None:
    plan = build_plan(scheduler=build_slurm(machine="dgx-h100"))
    assert [(item.check, item.path) for item in plan.errors] == [("machine-site", "scheduler.machine")]
    plan = build_plan(scheduler=build_slurm(machine="m6i.2xlarg"))
    (finding,) = plan.errors
    assert finding.check == "unknown-name" and "m6i.2xlarge" in finding.hint


def test_a_region_with_unknown_zones_requires_declared_zones(tmp_path: Path) -> None:
    catalog = overlay_catalog(tmp_path, "regions", "il-central-1", "zones: null\n")
    site = {"kind": "aws", "region": "il-central-1"}
    g5 = [build_pool(machine="g5.xlarge", fabrics=[])]
    plan = build_plan(catalog, site=site, pools=g5, fabrics=[])
    assert [item.check for item in plan.errors] == ["cloud-zones"]
    plan = build_plan(catalog, site=site | {"zones": ["il-central-1a"]}, pools=g5, fabrics=[])
    assert plan.errors == () and plan.cloud is not None


def test_an_unknown_storage_size_over_the_fabric_is_reported(tmp_path: Path) -> None:
    catalog = overlay_catalog(tmp_path, "storage-services", "fsx-lustre", "fabric: {steps: {500 MB/s: null}}\n")
    storage = build_lustre(throughput_per_tib="500 MB/s", options={"efa": True})
    (finding,) = [item for item in build_plan(catalog, storage=[storage]).findings if "fabric" in item.check]
    assert finding.level == "warning" and "250 MB/s" in finding.hint


def test_cloud_checks_do_not_apply_to_other_sites() -> None:
    plan = build_plan(
        site={"kind": "onprem", "location": "stockholm"},
        pools=[build_pool(machine="dgx-h100")],
        fabrics=[FABRICS[0] | {"kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}],
    )
    assert plan.cloud is None and not [item for item in plan.findings if item.check.startswith("cloud-")]


def test_supported_features_of_managed_services_have_no_findings() -> None:
    plan = build_plan(
        scheduler=KUBERNETES,
        site=TWO,
        pools=[build_pool(local="/mnt/k8s-disks/0", capacity=[{"kind": "spot"}])],
        network={"access": ["192.0.2.0/24"]},
    )
    assert plan.errors == ()
    under_slurm = build_plan(pools=[build_pool(local="/scratch", capacity=[{"kind": "spot", "max_price": "40 USD/h"}])])
    assert under_slurm.errors == ()


@pytest.mark.slow
def test_weka_servers_can_have_a_source_of_their_software() -> None:
    plan = build_plan(
        storage=[
            WEKA
            | {
                "options": {
                    "install": "https://example.com/weka.sh",
                    "install-sha256": "0A" * 32,
                    "install-token": "weka/get",
                }
            }
        ]
    )
    assert plan.errors == () and plan.cloud is not None
    install = plan.cloud.get_storage("scratch").install
    assert install is not None and (install.source, install.token, install.digest) == (
        "https://example.com/weka.sh",
        "weka/get",
        "0a" * 32,
    )
    secret = "arn:aws:secretsmanager:us-east-1:123456789012:secret:weka/get-AbCd12"
    for options in (
        {"install": "s3://my.bucket-1/a+b/weka.sh", "install-token": secret},
        {"install": "s3://bucket/weka_(1)!.sh", "install-token": "weka/get+1=a.b@c-d_e"},
    ):
        assert not build_plan(storage=[WEKA | {"options": options}]).errors
    accepted = build_plan(storage=[WEKA], suppress=[{"check": "cloud-storage-install", "reason": "the image has it"}])
    assert accepted.errors == () and accepted.cloud is not None
    assert accepted.cloud.get_storage("scratch").install is None
