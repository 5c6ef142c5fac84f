"""AWS where it is not as usual: China's principals, isolated networks that were there before, hard disks of Lustre."""

from __future__ import annotations

import json
from typing import Any

import pytest
from offline.recorder import record
from programs import build_program, build_small_spec, record_small_spec

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning"),
]
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
GIVEN: dict[str, Any] = {
    "id": "vpc-1",
    "subnets": [{"id": "subnet-1", "zone": "us-east-1b"}, {"id": "subnet-2", "zone": "us-east-1c"}],
    "isolated": True,
}


@pytest.mark.parametrize(
    "region, partition, who",
    [
        ("cn-north-1", "aws-cn", {"ec2.amazonaws.com.cn", "eks.amazonaws.com", "pods.eks.amazonaws.com"}),
        ("us-gov-west-1", "aws-us-gov", {"ec2.amazonaws.com", "eks.amazonaws.com", "pods.eks.amazonaws.com"}),
    ],
)
def test_roles_are_assumed_by_the_services_of_their_partition(region: str, partition: str, who: set[str]) -> None:
    found = record_small_spec(
        site={"kind": "aws", "region": region, "zones": [f"{region}a", f"{region}b"]},
        scheduler={"kind": "kubernetes", "version": "1.35"},
        pools=[{"name": "gpu", "machine": "g4dn.12xlarge", "nodes": 2}],
    )
    trusted = {
        json.loads(entry.inputs["assumeRolePolicy"])["Statement"][0]["Principal"]["Service"]
        for entry in found.of_type("aws:iam/role:Role")
    }
    assert trusted - {"vpc-flow-logs.amazonaws.com"} == who
    for entry in found.of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment"):
        assert entry.inputs["policyArn"].startswith(f"arn:{partition}:iam::aws:policy/")


def test_buckets_of_an_existing_isolated_network_need_no_gateway() -> None:
    site = {"kind": "aws", "region": "us-east-1"}
    found = record(build_program(spec=build_small_spec(network=GIVEN, site=site)))
    endpoints = {entry.inputs["serviceName"].rpartition(".")[2]: entry.inputs for entry in found.of_type(ENDPOINT)}
    assert endpoints["s3"]["vpcEndpointType"] == "Interface" and endpoints["s3"]["privateDnsEnabled"] is True
    assert endpoints["s3"]["dnsOptions"] == {"privateDnsOnlyForInboundResolverEndpoint": False}
    assert [name for name, inputs in endpoints.items() if "dnsOptions" in inputs] == ["s3"]
    # if the site specifies no zones, they are those of the subnets
    assert endpoints["sts"]["subnetIds"] == ["subnet-1", "subnet-2"]
    assert found.one("aws:ec2/instance:Instance", "prod-ctl1").inputs["subnetId"] == "subnet-1"


@pytest.mark.parametrize("options, cache", [({}, "NONE"), ({"drive-cache": "READ"}, "READ")])
def test_lustre_on_hard_disks_sets_its_drive_cache(options: dict[str, str], cache: str) -> None:
    disks = {
        "name": "s",
        "kind": "lustre",
        "capacity": "6000 GiB",
        "mount": "/s",
        "deployment": "PERSISTENT_1_HDD",
        "throughput_per_tib": "12 MB/s",
        "options": options,
    }
    system = record_small_spec(storage=[disks]).one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
    assert (system["storageType"], system["driveCacheType"]) == ("HDD", cache)
    fast = record_small_spec(storage=[disks | {"deployment": "SCRATCH_2", "throughput_per_tib": None, "options": {}}])
    assert "driveCacheType" not in fast.one("aws:fsx/lustreFileSystem:LustreFileSystem").inputs
