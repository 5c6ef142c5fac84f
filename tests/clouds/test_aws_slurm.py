"""Slurm on AWS: groups that Slurm resizes, start scripts, controllers whose state stays, databases, storage."""

from __future__ import annotations

import pytest
from programs import SLURM, get_launch_template, read_statements, read_user_data, record_small_spec, record_spec

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
LAUNCH = "aws:ec2/launchTemplate:LaunchTemplate"
SCALED = "aws:autoscaling/group:Group"
HOST = "aws:ec2/instance:Instance"


def test_groups_of_slurm_are_resized_only_by_slurm() -> None:
    for entry in record_spec("09-aws-slurm").of_type(SCALED):
        assert entry.inputs["minSize"] == 0
        assert entry.ignore_changes == ("desiredCapacity",)
        assert set(entry.inputs["suspendedProcesses"]) >= {"AZRebalance", "ReplaceUnhealthy"}
        assert entry.inputs["protectFromScaleIn"] is True and entry.inputs["waitForCapacityTimeout"] == "0"


def test_capacity_of_a_pool_is_tried_in_order() -> None:
    found = record_spec("09-aws-slurm")
    sizes = {entry.name: entry.inputs["desiredCapacity"] for entry in found.of_type(SCALED)}
    assert sizes == {
        "prod-prepare-on-demand": 0,
        "prod-prepare-spot": 0,
        "prod-train-on-demand": 0,
        "prod-train-reserved": 127,
    }


@pytest.mark.parametrize("name", SLURM)
def test_start_scripts_are_small_and_complete(name: str) -> None:
    found = record_spec(name)
    scripts = [entry for entry in found.values() if {"userData", "userDataBase64"} & set(entry.inputs)]
    assert len(scripts) >= len(found.of_type(SCALED))
    for entry in scripts:
        text = read_user_data(entry)
        assert len(text.encode()) <= 16384
        assert "@{" not in text
        assert "BUCKET='prod-bucket-state-bucket'" in text


@pytest.mark.parametrize(
    "changes, changed",
    [
        ({"users": [{"name": "ada", "uid": 20001}]}, {"users"}),
        ({"tenants": [{"name": "llm", "users": ["ada"]}, {"name": "new"}]}, {"slurm"}),
    ],
)
def test_users_and_tenants_change_published_archives_only(changes: dict[str, object], changed: set[str]) -> None:
    """Neither a start script nor a machine depends on them: running machines apply the archives again."""
    base = {"tenants": [{"name": "llm", "users": ["ada"]}]}
    before, after = record_small_spec(**base), record_small_spec(**(base | changes))
    assert set(before) == set(after)
    differing = {entry.name for urn, entry in after.items() if entry.inputs != before[urn].inputs}
    assert differing == {f"prod-{name}-bundle" for name in changed}


@pytest.mark.parametrize("name", SLURM)
def test_each_bundle_is_one_archive_that_machines_depend_on(name: str) -> None:
    found = record_spec(name)
    published = found.of_type("aws:s3/bucketObjectv2:BucketObjectv2")
    assert {entry.inputs["key"] for entry in published} == {
        "boot/boot.tar.gz",
        "settings/settings.tar.gz",
        "slurm/slurm.tar.gz",
        "users/users.tar.gz",
    }
    urns = {entry.urn for entry in published}
    for entry in [*found.of_type(HOST), *found.of_type(LAUNCH)]:
        key = "userDataBase64" if entry.type == HOST else "userData"
        if key in entry.inputs and "-servers-" not in entry.name:
            assert urns <= set(entry.property_dependencies[key]), entry.urn


def test_replacing_a_controller_keeps_its_state() -> None:
    found = record_spec("09-aws-slurm")
    host = found.one(HOST, "prod-ctl1")
    assert host.delete_before_replace and set(host.ignore_changes) == {"launchTemplate", "userDataBase64"}
    disk = found.one("aws:ebs/volume:Volume", "prod-ctl1-state")
    assert disk.inputs["availabilityZone"] == "us-east-1a" and host.urn not in disk.dependencies
    joined = found.one("aws:ec2/volumeAttachment:VolumeAttachment").inputs
    assert (joined["volumeId"], joined["instanceId"]) == ("prod-ctl1-state-id", "prod-ctl1-id")
    record_of = found.one("aws:route53/record:Record", "prod-name-ctl1").inputs
    assert record_of["name"] == "ctl1.trainer.internal" and record_of["records"] == ["prod-ctl1-privateIp"]


@pytest.mark.slow
def test_a_managed_database_manages_its_password() -> None:
    found = record_small_spec(
        scheduler={"kind": "slurm", "version": "25.11", "managed_database": True},
        site={"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]},
    )
    server = found.one("aws:rds/instance:Instance").inputs
    assert server["manageMasterUserPassword"] is True and "password" not in server
    assert server["deletionProtection"] is True and server["storageEncrypted"] is True
    assert not server["publiclyAccessible"]
    assert "DATABASE='managed'" in read_user_data(found.one(HOST, "prod-ctl1"))
    assert {entry.name for entry in found.of_type("aws:secretsmanager/secret:Secret")} == {"prod-secret-auth"}


def test_each_ultraserver_is_a_group_of_its_pool() -> None:
    found = record_spec("11-aws-ultraserver")
    group = found.one(SCALED, "prod-train-block").inputs
    assert group["maxSize"] == 18
    template = get_launch_template(found, "train-block")
    assert template["instanceType"] == "p6e-gb200.36xlarge"
    assert [item["interfaceType"] for item in template["networkInterfaces"]].count("efa-only") == 4
    assert "arm" in template["imageId"] and "placement" not in template


def test_weka_backends_are_a_protected_group_of_fixed_size() -> None:
    found = record_spec("11-aws-ultraserver")
    group = found.one(SCALED, "prod-scratch-servers")
    assert group.inputs["minSize"] == group.inputs["maxSize"] == group.inputs["desiredCapacity"] >= 6
    assert group.protect and "ReplaceUnhealthy" in group.inputs["suspendedProcesses"]
    assert group.inputs["targetGroupArns"] == ["prod-scratch-servers-arn"]
    assert found.one("aws:lb/loadBalancer:LoadBalancer").inputs["internal"] is True
    assert found.exports["mounts"]["scratch"].endswith("scratch-1.ultra.internal/default /scratch")


def test_buckets_are_private_versioned_encrypted_and_reached_over_tls_only() -> None:
    found = record_spec("09-aws-slurm")
    for name in ("data", "state"):
        start = f"prod-bucket-{name}"
        private = found.one("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", f"{start}-private").inputs
        assert all(private[key] for key in private if key != "bucket") and len(private) == 5
        versions = found.one("aws:s3/bucketVersioning:BucketVersioning", f"{start}-versions").inputs
        assert versions["versioningConfiguration"]["status"] == "Enabled"
        (denied,) = read_statements(found.one("aws:s3/bucketPolicy:BucketPolicy", f"{start}-policy"))
        assert denied["Effect"] == "Deny" and denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        assert found.one(
            "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
            f"{start}-encryption",
        ).inputs["rules"]


def test_large_lustre_file_systems_use_efa_and_import_from_their_bucket() -> None:
    found = record_spec("09-aws-slurm")
    system = found.one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
    assert (system["deploymentType"], system["storageCapacity"], system["perUnitStorageThroughput"]) == (
        "PERSISTENT_2",
        249600,
        250,
    )
    assert system["efaEnabled"] is True and system["metadataConfiguration"] == {"mode": "AUTOMATIC"}
    assert "prod-cluster-sg-id" in system["securityGroupIds"]
    link = found.one("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation").inputs
    assert link["dataRepositoryPath"] == "s3://prod-bucket-data-bucket"
    assert "efaEnabled" not in record_spec("a1").one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
