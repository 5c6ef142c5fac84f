"""What may talk to what on AWS, and who may do what: security groups, isolated networks, roles, tags."""

from __future__ import annotations

import re

import pytest
from offline.graph import Graph
from offline.schema import read_schema
from programs import SPECS, read_statements, read_user_data, record_small_spec, record_spec

import supercloud as sc

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
HOST = "aws:ec2/instance:Instance"


def list_rules(found: Graph, token: str) -> set[tuple[str, str, str]]:
    """(group, the other side, protocol:ports)."""
    rules = set()
    for entry in found.of_type(token):
        values = entry.inputs
        other = values.get("referencedSecurityGroupId") or values.get("cidrIpv4") or values.get("prefixListId")
        ports = f":{values['fromPort']}-{values['toPort']}" if "fromPort" in values else ""
        rules.add((values["securityGroupId"], str(other), f"{values['ipProtocol']}{ports}"))
    return rules


@pytest.mark.parametrize("name", SPECS)
def test_efa_traffic_is_allowed_between_machines_in_both_directions(name: str) -> None:
    everything = ("prod-cluster-sg-id", "prod-cluster-sg-id", "-1")
    assert everything in list_rules(record_spec(name), INGRESS) and everything in list_rules(record_spec(name), EGRESS)


@pytest.mark.parametrize("name", SPECS)
def test_nothing_is_open_to_the_internet(name: str) -> None:
    assert not [rule for rule in list_rules(record_spec(name), INGRESS) if rule[1] == "0.0.0.0/0"]
    assert not [
        entry for entry in record_spec(name).of_type("aws:ec2/subnet:Subnet") if entry.inputs["mapPublicIpOnLaunch"]
    ]
    assert not any(
        "ingress" in entry.inputs for entry in record_spec(name).of_type("aws:ec2/securityGroup:SecurityGroup")
    )


def test_logins_are_reachable_from_the_declared_ranges() -> None:
    found = record_spec("09-aws-slurm")
    ssh = ("prod-access-sg-id", "203.0.113.0/24", "tcp:22-22")
    assert ssh in list_rules(found, INGRESS)
    assert "prod-access-sg-id" in found.one(HOST, "prod-login1").inputs["vpcSecurityGroupIds"]
    controller = found.one("aws:ec2/networkInterface:NetworkInterface", "prod-ctl1-interface")
    assert "prod-access-sg-id" not in controller.inputs["securityGroups"]
    assert found.one("aws:ec2/eip:Eip", "prod-login1-address").inputs["instance"] == "prod-login1-id"


def test_lustre_servers_and_clients_can_connect_to_each_other() -> None:
    found = record_spec("09-aws-slurm")
    scratch, machines = "prod-storage-scratch-sg-id", "prod-cluster-sg-id"
    for ports in ("tcp:988-988", "tcp:1018-1023"):
        assert {(scratch, machines, ports), (scratch, scratch, ports), (machines, scratch, ports)} <= list_rules(
            found, INGRESS
        )
        assert {(scratch, machines, ports), (scratch, scratch, ports)} <= list_rules(found, EGRESS)


def test_an_isolated_network_has_no_route_to_the_internet() -> None:
    found = record_spec("a8")
    for token in ("internetGateway:InternetGateway", "natGateway:NatGateway", "eip:Eip", "route:Route"):
        assert not found.of_type(f"aws:ec2/{token}")
    assert not [rule for rule in list_rules(found, EGRESS) if rule[1] == "0.0.0.0/0"]
    prefixes = ("prod-cluster-sg-id", "prod-endpoint-s3-prefixListId", "tcp:443-443")
    assert prefixes in list_rules(found, EGRESS)
    assert found.one("aws:eks/cluster:Cluster").inputs["vpcConfig"]["endpointPublicAccess"] is False
    for entry in found.of_type("aws:ec2/vpcEndpoint:VpcEndpoint"):
        if entry.inputs["vpcEndpointType"] == "Interface":
            assert entry.inputs["privateDnsEnabled"] is True
            assert entry.inputs["securityGroupIds"] == ["prod-endpoints-sg-id"]


def test_private_endpoints_are_in_each_zone_of_the_nodes_once() -> None:
    found = record_spec("a8")
    nodes = [f"prod-private-us-west-2{zone}-id" for zone in "abcd"]  # the control plane's subnets have no room for them
    for entry in found.of_type("aws:ec2/vpcEndpoint:VpcEndpoint"):
        if entry.inputs["vpcEndpointType"] == "Interface":
            assert entry.inputs["subnetIds"] == nodes


@pytest.mark.slow
def test_machines_of_an_isolated_network_may_reach_their_storage_and_database() -> None:
    found = record_small_spec(
        network={"cidr": "10.0.0.0/16", "isolated": True},
        site={"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]},
        scheduler={"kind": "slurm", "version": "25.11", "managed_database": True},
        storage=[{"name": "home", "kind": "nfs", "product": "efs", "mount": "/home"}],
    )
    out = {rule[1:] for rule in list_rules(found, EGRESS) if rule[0] == "prod-cluster-sg-id"}
    assert {("prod-storage-home-sg-id", "tcp:2049-2049"), ("prod-database-sg-id", "tcp:3306-3306")} <= out


UNSCOPED = re.compile(
    r"[a-z0-9]+:Describe|(ssm|ssmmessages|ec2messages):|ec2:GetInstanceTypesFromInstanceRequirements$"
)
"""What describes, and how the agent of Systems Manager speaks to it: the services do not scope these."""


@pytest.mark.parametrize("name", SPECS)
def test_permissions_are_scoped_to_resources_of_the_cluster(name: str) -> None:
    found = record_spec(name)
    for entry in found.of_type("aws:iam/rolePolicy:RolePolicy"):
        for statement in read_statements(entry):
            if statement["Resource"] == "*":
                assert all(UNSCOPED.match(action) for action in statement["Action"]), entry.urn
            elif any(resource.endswith("/*") and resource.startswith("arn:") for resource in statement["Resource"]):
                if all(":nodegroup/prod-project-stack/" in resource for resource in statement["Resource"]):
                    continue  # the name of the cluster is unique in a region of an account
                assert statement["Condition"]["StringEquals"] in (
                    {"aws:ResourceTag/supercloud:cluster": "project/stack/prod"},
                    {"aws:ResourceTag/eks:cluster-name": "prod-project-stack"},
                )
            assert not any("*" in action for action in statement["Action"])
    assert not [entry for entry in found.of_type("aws:iam/role:Role") if "managedPolicyArns" in entry.inputs]


ACTIONS = {
    "s3 cp": "s3:GetObject",
    "secretsmanager get-secret-value": "secretsmanager:GetSecretValue",
    "secretsmanager put-secret-value": "secretsmanager:PutSecretValue",
    "autoscaling describe-auto-scaling-groups": "autoscaling:DescribeAutoScalingGroups",
    "autoscaling set-desired-capacity": "autoscaling:SetDesiredCapacity",
    "autoscaling describe-scaling-activities": "autoscaling:DescribeScalingActivities",
    "autoscaling terminate-instance-in-auto-scaling-group": "autoscaling:TerminateInstanceInAutoScalingGroup",
    "ec2 describe-instances": "ec2:DescribeInstances",
    "ec2 describe-instance-topology": "ec2:DescribeInstanceTopology",
}


def test_controllers_have_the_permissions_that_their_scripts_need() -> None:
    found = record_spec("09-aws-slurm")
    script = read_user_data(found.one(HOST, "prod-ctl1"))
    used = {match[1] for match in re.finditer(r"aws ([a-z0-9]+ [a-z-]+)", script)} - {"sts assume-role"}  # for users
    assert used and used <= set(ACTIONS), "a script asks for something that no right is known for"
    granted = {
        action
        for statement in read_statements(found.one("aws:iam/rolePolicy:RolePolicy", "prod-controller-policy"))
        for action in statement["Action"]
    }
    asked = {ACTIONS[name] for name in used}
    common = {
        action
        for statement in read_statements(found.one("aws:iam/rolePolicy:RolePolicy", "prod-login-policy"))
        for action in statement["Action"]
    }
    assert asked <= granted, "a script would be refused"
    assert granted - common <= asked, "a right that nothing uses"


@pytest.mark.slow
def test_an_existing_isolated_network_reaches_buckets_through_an_interface_endpoint() -> None:
    subnets = [{"id": f"subnet-{zone}", "zone": f"us-east-1{zone}"} for zone in "ab"]
    found = record_small_spec(
        network={"id": "vpc-1", "isolated": True, "subnets": subnets},
        site={"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]},
    )
    kinds = {
        entry.inputs["serviceName"].rpartition(".")[2]: entry.inputs
        for entry in found.of_type("aws:ec2/vpcEndpoint:VpcEndpoint")
    }
    assert {item["vpcEndpointType"] for item in kinds.values()} == {"Interface"}  # its routes belong to the user
    assert kinds["s3"]["privateDnsEnabled"] is True and kinds["s3"]["subnetIds"] == ["subnet-a", "subnet-b"]
    out = {rule[1:] for rule in list_rules(found, EGRESS) if rule[0] == "prod-cluster-sg-id"}
    assert out == {("prod-cluster-sg-id", "-1"), ("prod-endpoints-sg-id", "tcp:443-443")}


@pytest.mark.slow
def test_objects_have_at_most_the_allowed_number_of_tags() -> None:
    few, many = record_small_spec(tags={"a": "1"}), record_small_spec(tags={f"k{number}": "1" for number in range(20)})
    token = "aws:s3/bucketObjectv2:BucketObjectv2"
    assert all("a" in entry.inputs["tags"] for entry in few.of_type(token))
    assert all(set(entry.inputs["tags"]) == {"supercloud:cluster"} for entry in many.of_type(token))
    assert all(len(entry.inputs["tags"]) > 20 for entry in many.of_type("aws:s3/bucket:Bucket"))


@pytest.mark.parametrize("name", SPECS)
def test_all_taggable_resources_have_the_tags_of_user_and_cluster(name: str) -> None:
    found = record_spec(name)
    tags = sc.load(SPECS[name]).model.tags
    for entry in found.values():
        if entry.custom and "tags" in read_schema(entry.type).inputs and not entry.type.startswith("pulumi:"):
            carried = entry.inputs["tags"]
            if isinstance(carried, list):
                carried = {item["key"]: item["value"] for item in carried}
            assert carried.items() >= {**tags, "supercloud:cluster": "project/stack/prod"}.items(), entry.urn
