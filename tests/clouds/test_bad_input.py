"""What is wrong with a spec of a cloud, through the component: one finding each, and nothing registered before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from offline.graph import Graph
from offline.recorder import record
from programs import NAME, build_small_spec, record_small_spec
from samples import ROOT

import supercloud as sc
from supercloud.pulumi import Cluster
from supercloud.targets import list_targets

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
DATA = ROOT / "supercloud" / "catalog" / "data"
EFA = [{"name": "compute", "kind": "efa"}]
BLOCK = {"kind": "capacity-block", "id": "cr-0123456789abcdef0", "zone": "us-east-1a"}


def build_p5_pool(**changes: Any) -> dict[str, Any]:
    pool = {"name": "train", "machine": "p5.48xlarge", "nodes": 64, "fabrics": ["compute"]} | changes
    return {"pools": [pool], "fabrics": EFA}


def build_lustre(**changes: Any) -> dict[str, Any]:
    return {
        "storage": [
            {
                "name": "scratch",
                "kind": "lustre",
                "capacity": "19200 GiB",
                "throughput_per_tib": "250 MB/s",
                "mount": "/fsx",
            }
            | changes
        ]
    }


WRONG: list[tuple[str, dict[str, Any], str, str, str]] = [
    # (what, changes of the small spec, check, path, word of the problem)
    (
        "a machine the region does not sell",
        build_p5_pool(machine="p6-b200.48xlarge")
        | {"site": {"kind": "aws", "region": "eu-west-1", "zones": ["eu-west-1a"]}},
        "cloud-machine-region",
        "pools[0].machine",
        "does not offer P6-B200",
    ),
    (
        "a reservation in another zone",
        build_p5_pool(capacity=[{"kind": "reservation", "id": "cr-0123456789abcdef0", "zone": "us-east-1b"}]),
        "cloud-capacity-zone",
        "pools[0].capacity[0].zone",
        "us-east-1b",
    ),
    (
        "a placement group with a capacity block",
        build_p5_pool(capacity=[BLOCK], placement="cluster"),
        "cloud-placement",
        "pools[0].placement",
        "UltraCluster",
    ),
    (
        "subnets too small for what nodes take",
        build_p5_pool() | {"network": {"cidr": "10.0.0.0/16", "blocks": {"private": ["10.0.128.0/26"]}}},
        "cloud-subnet-size",
        "network",
        "59 addresses",
    ),
    (
        "subnets too small for nodes and their pods",
        build_p5_pool(nodes=40)
        | {
            "scheduler": {"kind": "kubernetes", "version": "1.35"},
            "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]},
            "network": {"blocks": {"private": ["10.0.128.0/20", "10.0.144.0/20"]}},
        },
        "cloud-subnet-size",
        "network",
        "40 × 101 of train",
    ),
    (
        "a throughput that Lustre is not sold with",
        build_lustre(throughput_per_tib="300 MB/s"),
        "cloud-storage-throughput",
        "storage[0].throughput_per_tib",
        "300 MB/s",
    ),
    (
        "a size that is no step with the fabric",
        build_lustre(capacity="21600 GiB", options={"efa": True}),
        "cloud-storage-fabric",
        "storage[0].options.efa",
        "21600 GiB",
    ),
    (
        "the name of a bucket that AWS refuses",
        {"storage": [{"name": "data", "kind": "object", "options": {"bucket": "My_Data"}}]},
        "cloud-bucket-name",
        "storage[0].options.bucket",
        "My_Data",
    ),
    (
        "more rules than a security group has",
        {
            "scheduler": {"kind": "slurm", "version": "25.11", "login": {"count": 1, "public": True}},
            "network": {"access": [f"203.0.113.{number}/32" for number in range(61)]},
        },
        "cloud-security-rules",
        "network.access",
        "60",
    ),
]


def record_refusal(spec: Any) -> tuple[sc.InputError, Graph]:
    """The error of a spec, and what was registered before it."""
    errors: list[sc.InputError] = []

    def program() -> None:
        try:
            Cluster(NAME, {"spec": spec})
        except sc.InputError as error:
            errors.append(error)

    found = record(program)
    assert errors, "the component was made"
    return errors[0], found


@pytest.mark.parametrize("what, changes, check, path, word", WRONG, ids=[row[0] for row in WRONG])
def test_bad_input_is_one_finding_and_no_resource(
    what: str, changes: dict[str, Any], check: str, path: str, word: str
) -> None:
    error, found = record_refusal(build_small_spec(**changes))
    (finding,) = [item for item in error.findings if item.level == "error"]
    assert (finding.check, finding.path) == (check, path), what
    assert word in finding.problem and finding.hint
    assert str(finding) in str(error)
    assert not len(found)


def test_all_findings_are_reported_together() -> None:
    changes: dict[str, Any] = {}
    for _, own, _, _, _ in (WRONG[1], WRONG[5], WRONG[8]):
        changes |= own
    error, found = record_refusal(build_small_spec(**changes))
    assert {item.check for item in error.findings if item.level == "error"} == {
        "cloud-capacity-zone",
        "cloud-storage-throughput",
        "cloud-security-rules",
    }
    assert not len(found)


@pytest.mark.slow
def test_a_size_between_two_steps_is_rounded_up_and_reported() -> None:
    found = record_small_spec(**build_lustre(capacity="20 TiB"))
    assert found.one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs["storageCapacity"] == 21600
    assert any("20480 GiB" in message or "20 TiB" in message for message in found.log)


@pytest.mark.parametrize("kind", ["gcp", "azure"])
def test_a_cloud_without_a_builder_is_rejected_with_a_message(kind: str) -> None:
    error, found = record_refusal(build_small_spec(site={"kind": kind, "region": "somewhere"}))
    assert {item.check for item in error.findings} == {"machine-site"}  # the catalog has no machine of them
    assert any(
        "site.kind" in message and f"resources of {kind} are not supported yet" in message for message in found.log
    )
    assert not len(found)


@pytest.mark.parametrize(
    "scheduler", [{"kind": "slurm", "version": "25.11"}, {"kind": "kubernetes", "version": "1.35"}]
)
def test_software_for_a_cloud_without_a_builder_is_rendered(tmp_path: Path, scheduler: dict[str, str]) -> None:
    machine = yaml.safe_load((DATA / "machines" / "m6i.8xlarge.yaml").read_text())
    machine |= {"name": "n2-standard-32", "provider": "gcp"}
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines" / "n2-standard-32.yaml").write_text(yaml.safe_dump(machine))
    spec = build_small_spec(
        site={"kind": "gcp", "region": "us-central1"},
        scheduler=scheduler,
        catalog=str(tmp_path),
        pools=[{"name": "cpu", "machine": "n2-standard-32", "nodes": 4}],
    )
    plan = sc.resolve(sc.ClusterSpec.model_validate(spec))
    assert plan.errors == () and plan.cloud is None
    assert [item.path for item in plan.findings if item.check == "cloud-provider"] == ["site.kind"]
    targets = list_targets(plan)
    assert scheduler["kind"] in targets and "boot" not in targets
    assert all(len(sc.render(plan, target)) for target in targets)
    error, found = record_refusal(spec)
    assert "is on gcp" in str(error) and "supercloud render" in str(error)
    assert not len(found)


@pytest.mark.slow
def test_a_bucket_has_the_declared_name() -> None:
    found = record_small_spec(
        storage=[{"name": "data", "kind": "object", "options": {"bucket": "my-data", "versioning": False}}]
    )
    assert found.one("aws:s3/bucket:Bucket", "prod-bucket-data").inputs["bucket"] == "my-data"
    versions = "aws:s3/bucketVersioning:BucketVersioning"
    assert found.one(versions, "prod-bucket-data-versions").inputs["versioningConfiguration"]["status"] == "Suspended"
    assert "bucket" not in found.one("aws:s3/bucket:Bucket", "prod-bucket-state").inputs
