"""Resources of the user's on AWS: they are used, and nothing is created in their place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from offline.graph import Graph
from programs import get_launch_template, read_statements, record_small_spec

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning"),
]
KEY = "arn:aws:kms:us-east-1:111122223333:key/0a1b2c3d-1111-2222-3333-444455556666"
BOUNDARY = "arn:aws:iam::111122223333:policy/boundary"
LICENSES = "arn:aws:iam::111122223333:policy/licenses"
SITE: dict[str, Any] = {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]}


def record_owned() -> Graph:
    return record_small_spec(
        site=SITE | {"key_pair": "admins", "kms_key": KEY, "permissions_boundary": BOUNDARY, "policies": [LICENSES]},
        network={
            "id": "vpc-1",
            "subnets": [{"id": "subnet-1", "zone": "us-east-1a"}],
            "zone": "Z0123456789ABCDEFGHIJ",
            "endpoints": ["ec2", "s3"],
            "isolated": True,
        },
        scheduler={"kind": "slurm", "version": "25.11", "login": {"count": 1}},
        pools=[
            {"name": "cpu", "machine": "g6e.48xlarge", "nodes": 4, "placement_group": "ours", "threads_per_core": 1}
        ],
        storage=[
            {
                "name": "scratch",
                "kind": "lustre",
                "id": "fs-0a1b2c3d4e5f60718",
                "mount": "/scratch",
                "options": {"mount-name": "ab12cdef"},
            },
            {"name": "home", "kind": "nfs", "product": "efs", "id": "fs-0a1b2c3d", "mount": "/home"},
            {"name": "work", "kind": "lustre", "capacity": "1200 GiB", "mount": "/work"},
            {"name": "data", "kind": "object"},
        ],
    )


def test_existing_file_systems_are_mounted_by_their_names() -> None:
    found = record_owned()
    assert [entry.name for entry in found.of_type("aws:fsx/lustreFileSystem:LustreFileSystem")] == ["prod-work"]
    assert not found.of_type("aws:efs/fileSystem:FileSystem")
    mounts = found.exports["mounts"]
    assert "fs-0a1b2c3d4e5f60718.fsx.us-east-1.amazonaws.com@tcp:/ab12cdef /scratch" in mounts["scratch"]
    assert "fs-0a1b2c3d.efs.us-east-1.amazonaws.com:/ /home" in mounts["home"]
    assert found.exports["network"]["security-group"] == "prod-cluster-sg-id"


def test_existing_zone_endpoints_and_placement_group_replace_new_ones() -> None:
    found = record_owned()
    assert not found.of_type("aws:route53/zone:Zone") and not found.of_type("aws:ec2/placementGroup:PlacementGroup")
    assert {entry.inputs["zoneId"] for entry in found.of_type("aws:route53/record:Record")} == {"Z0123456789ABCDEFGHIJ"}
    services = {entry.inputs["serviceName"] for entry in found.of_type("aws:ec2/vpcEndpoint:VpcEndpoint")}
    assert services and not {"com.amazonaws.us-east-1.s3", "com.amazonaws.us-east-1.ec2"} & services
    rule = found.one("aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", "prod-cluster-endpoints-out").inputs
    assert (rule["fromPort"], rule["toPort"], rule["cidrIpv4"]) == (443, 443, "0.0.0.0/0")
    template = get_launch_template(found, "cpu-on-demand")
    assert template["placement"] == {"groupName": "ours"} and template["keyName"] == "admins"
    assert template["cpuOptions"] == {"coreCount": 96, "threadsPerCore": 1}


def test_the_key_of_the_user_encrypts_all_data_and_machines_may_use_it_through_services_only() -> None:
    found = record_owned()
    template = get_launch_template(found, "cpu-on-demand")
    assert template["blockDeviceMappings"][0]["ebs"]["kmsKeyId"] == KEY
    assert found.one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs.get("kmsKeyId") == KEY
    assert {entry.inputs["kmsKeyId"] for entry in found.of_type("aws:secretsmanager/secret:Secret")} == {KEY}
    assert {entry.inputs["kmsKeyId"] for entry in found.of_type("aws:ebs/volume:Volume")} == {KEY}
    kind = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
    assert all(KEY in json.dumps(entry.inputs["rules"]) for entry in found.of_type(kind))
    for role in ("controller", "login", "node", "users"):
        statements = read_statements(found.one("aws:iam/rolePolicy:RolePolicy", f"prod-{role}-policy"))
        (use,) = [item for item in statements if "kms:Decrypt" in item["Action"]]
        assert use["Resource"] == [KEY]
        through = use["Condition"]["StringEquals"]["kms:ViaService"]
        assert through == ["s3.us-east-1.amazonaws.com", "secretsmanager.us-east-1.amazonaws.com"]


def test_every_role_has_the_boundary_and_machines_of_users_the_extra_policies() -> None:
    found = record_owned()
    roles = found.of_type("aws:iam/role:Role")
    assert len(roles) >= 4 and {entry.inputs["permissionsBoundary"] for entry in roles} == {BOUNDARY}
    attached = found.of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    assert [entry.name for entry in attached if entry.inputs["policyArn"] == LICENSES] == [
        "prod-login-licenses",
        "prod-node-licenses",
    ]


@pytest.mark.parametrize("public", [True, False])
def test_a_load_balancer_is_the_address_of_several_login_machines(public: bool) -> None:
    login = {"count": 2, "public": public, "balancer": True}
    found = record_small_spec(
        scheduler={"kind": "slurm", "version": "25.11", "login": login},
        network={"access": ["203.0.113.0/24"]} if public else {},
    )
    balancer = found.one("aws:lb/loadBalancer:LoadBalancer").inputs
    assert balancer["internal"] is not public
    assert balancer["securityGroups"] == ["prod-cluster-sg-id", *(["prod-access-sg-id"] if public else [])]
    targets = found.of_type("aws:lb/targetGroupAttachment:TargetGroupAttachment")
    assert [entry.inputs["targetId"] for entry in targets] == ["prod-login1-id", "prod-login2-id"]
    assert not [entry for entry in found.of_type("aws:ec2/eip:Eip") if "login" in entry.name]
    name = found.one("aws:route53/record:Record", "prod-name-login").inputs
    assert name["type"] == "CNAME" and found.exports["connection"]["via"] == f"ssh:{name['records'][0]}"


def test_machines_may_read_the_programs_of_the_spec() -> None:
    scripts = [{"source": "s3://example-software/agents/install.sh", "sha256": "0" * 64}]
    found = record_small_spec(site=SITE | {"scripts": scripts})
    for role in ("controller", "login", "node"):
        statements = read_statements(found.one("aws:iam/rolePolicy:RolePolicy", f"prod-{role}-policy"))
        assert any(item["Resource"] == ["arn:aws:s3:::example-software/agents/install.sh"] for item in statements)
