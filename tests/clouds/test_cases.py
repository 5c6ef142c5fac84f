"""Published cluster definitions, fact by fact. A fact that differs on purpose has a comment with the reason.

The definitions and where they are published stand at the top of each file in ``cases``.
"""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from offline.graph import Graph
from programs import CASES, read_statements, read_user_data, record_spec

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
LAUNCH = "aws:ec2/launchTemplate:LaunchTemplate"
SCALED = "aws:autoscaling/group:Group"
NODES = "aws:eks/nodeGroup:NodeGroup"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
OPENZFS = "aws:fsx/openZfsFileSystem:OpenZfsFileSystem"
VPC, FURTHER, SUBNET = (
    "aws:ec2/vpc:Vpc",
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation",
    "aws:ec2/subnet:Subnet",
)
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"


def count(found: Graph, *tokens: str) -> list[int]:
    return [len(found.of_type(token)) for token in tokens]


def list_networks(found: Graph) -> list[str]:
    return [found.one(VPC).inputs["cidrBlock"], *(entry.inputs["cidrBlock"] for entry in found.of_type(FURTHER))]


def list_subnets(found: Graph, start: str) -> dict[str, ipaddress.IPv4Network]:
    return {
        entry.name.removeprefix("prod-"): ipaddress.IPv4Network(entry.inputs["cidrBlock"])
        for entry in found.of_type(SUBNET)
        if entry.name.startswith(f"prod-{start}")
    }


def get_launch_template(found: Graph, key: str) -> dict[str, Any]:
    return dict(found.one(LAUNCH, f"prod-{key}-launch").inputs)


def list_efa_cards(template: dict[str, Any]) -> list[int]:
    return [
        item["networkCardIndex"] for item in template["networkInterfaces"] if item["interfaceType"].startswith("efa")
    ]


def describe_storage(system: Any) -> dict[str, Any]:
    return {
        key: system.inputs.get(key)
        for key in (
            "deploymentType",
            "storageCapacity",
            "perUnitStorageThroughput",
            "dataCompressionType",
            "fileSystemTypeVersion",
        )
    }


def test_every_case_has_a_test() -> None:
    assert set(CASES) == {"a1", "a2", "a6", "a8"}


class TestA1:
    """AWS ParallelCluster, vanilla GPU."""

    @pytest.fixture
    def found(self) -> Graph:
        return record_spec("a1")

    def test_the_head_node_matches_the_case(self, found: Graph) -> None:
        head = found.one("aws:ec2/instance:Instance")  # no login besides
        assert head.inputs["instanceType"] == "m5.8xlarge"
        assert head.inputs["rootBlockDevice"]["volumeSize"] == 500
        interface = found.one("aws:ec2/networkInterface:NetworkInterface", "prod-ctl1-interface")
        assert head.inputs["primaryNetworkInterface"] == {"networkInterfaceId": f"{interface.name}-id"}
        assert interface.inputs["subnetId"] == "prod-public-us-west-2a-id"
        assert head.inputs["metadataOptions"]["httpTokens"] == "required"
        image = found.one(LAUNCH, "prod-ctl1-image").inputs["imageId"]
        assert "ubuntu" in image and "22.04" in image

    def test_the_queue_matches_the_case(self, found: Graph) -> None:
        group = found.one(SCALED).inputs
        assert (group["minSize"], group["desiredCapacity"], group["maxSize"]) == (4, 4, 4)
        template = get_launch_template(found, "compute-gpu-reserved")
        assert template["instanceType"] == "p5.48xlarge"
        assert template["blockDeviceMappings"][0]["ebs"]["volumeSize"] == 512
        assert list_efa_cards(template) == list(range(32))
        assert len(template["networkInterfaces"]) == 33  # as ParallelCluster since 3.15: a separate ENA on card 0
        target = template["capacityReservationSpecification"]["capacityReservationTarget"]
        assert target == {"capacityReservationId": "cr-0123456789abcdef0"}
        assert "placement" not in template and count(found, "aws:ec2/placementGroup:PlacementGroup") == [0]

    def test_storage_matches_the_case(self, found: Graph) -> None:
        assert describe_storage(found.one(LUSTRE)) == {
            "deploymentType": "PERSISTENT_2",
            "storageCapacity": 1200,
            "perUnitStorageThroughput": 250,
            "dataCompressionType": "LZ4",
            "fileSystemTypeVersion": "2.15",
        }
        assert found.one(LUSTRE).inputs["metadataConfiguration"] == {"mode": "AUTOMATIC"}
        home = found.one(OPENZFS).inputs
        assert (home["deploymentType"], home["storageCapacity"], home["throughputCapacity"]) == ("MULTI_AZ_1", 512, 160)
        assert home["rootVolumeConfiguration"]["dataCompressionType"] == "NONE"
        assert len(home["subnetIds"]) == 2 and home["preferredSubnetId"] == home["subnetIds"][0]
        mounts = found.exports["mounts"]
        assert mounts["home"].endswith(" /home") and mounts["fsx"].endswith(" /fsx")

    def test_the_network_matches_the_case(self, found: Graph) -> None:
        assert list_networks(found) == ["10.0.0.0/16", "10.1.0.0/16"]
        assert [net.prefixlen for net in list_subnets(found, "public").values()] == [17]
        inside = list_subnets(found, "private").values()
        assert [net.prefixlen for net in inside] == [17, 17]
        assert all(net.subnet_of(ipaddress.IPv4Network("10.1.0.0/16")) for net in inside)
        assert count(found, "aws:ec2/natGateway:NatGateway", "aws:ec2/internetGateway:InternetGateway") == [1, 1]
        endpoint = found.one(ENDPOINT).inputs
        assert endpoint["vpcEndpointType"] == "Gateway" and endpoint["serviceName"].endswith(".s3")

    def test_permissions_match_the_case(self, found: Graph) -> None:
        attached = {
            entry.inputs["policyArn"].rsplit("/", 1)[-1]
            for entry in found.of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
            if entry.inputs["role"] == "prod-users-role-name"
        }
        # PullOnly of the registry is ReadOnly without listing what is in it; users have it, not their machines
        assert attached == {"AmazonEC2ContainerRegistryPullOnly"}
        # AmazonS3ReadOnlyAccess would open every bucket of the account: ours are named instead
        node = read_statements(found.one("aws:iam/rolePolicy:RolePolicy", "prod-node-policy"))
        assert {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["prod-bucket-state-arn/*"]} in node


class TestA2:
    """AWS PCS with P5 and a capacity block."""

    @pytest.fixture
    def found(self) -> Graph:
        return record_spec("a2")

    def test_the_capacity_block_matches_the_case(self, found: Graph) -> None:
        template = get_launch_template(found, "p5-block")
        assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
        assert template["capacityReservationSpecification"]["capacityReservationTarget"]["capacityReservationId"]
        assert "placement" not in template
        assert (
            found.one(SCALED, "prod-p5-block").inputs["minSize"],
            found.one(SCALED, "prod-p5-block").inputs["maxSize"],
        ) == (0, 4)

    def test_on_demand_has_a_placement_group(self, found: Graph) -> None:
        assert get_launch_template(found, "p5-on-demand")["placement"] == {
            "groupName": "prod-p5-on-demand-placement-name"
        }
        assert (
            found.one("aws:ec2/placementGroup:PlacementGroup", "prod-p5-on-demand-placement").inputs["strategy"]
            == "cluster"
        )

    def test_instances_match_the_case(self, found: Graph) -> None:
        template = get_launch_template(found, "p5-block")
        assert list_efa_cards(template) == list(range(32))
        disk = template["blockDeviceMappings"][0]
        assert (disk["deviceName"], disk["ebs"]["volumeType"], disk["ebs"]["volumeSize"]) == ("/dev/sda1", "gp3", 300)
        assert template["metadataOptions"] == {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 4,
            "instanceMetadataTags": "enabled",
        }
        assert template["imageId"] == "resolve:ssm:/aws/service/pcs/ami/dlami-base-ubuntu2404/x86_64/latest/ami-id"

    def test_machines_of_other_types_match_the_case(self, found: Graph) -> None:
        assert found.one("aws:ec2/instance:Instance", "prod-login").inputs["instanceType"] == "m6i.4xlarge"
        assert get_launch_template(found, "cpu-on-demand")["instanceType"] == "c6i.4xlarge"
        assert found.one(SCALED, "prod-cpu-on-demand").inputs["maxSize"] == 4

    def test_storage_matches_the_case(self, found: Graph) -> None:
        assert describe_storage(found.one(LUSTRE)) == {
            "deploymentType": "PERSISTENT_2",
            "storageCapacity": 1200,
            "perUnitStorageThroughput": 250,
            "dataCompressionType": "LZ4",
            "fileSystemTypeVersion": "2.15",
        }
        assert "efaEnabled" not in found.one(LUSTRE).inputs  # 19,200 GiB are needed for it
        home = found.one(OPENZFS).inputs
        assert (home["deploymentType"], home["storageCapacity"], home["throughputCapacity"]) == (
            "SINGLE_AZ_HA_2",
            512,
            320,
        )

    def test_the_network_matches_the_case(self, found: Graph) -> None:
        assert list_networks(found) == ["10.0.0.0/16", "10.1.0.0/16"]
        assert [net.prefixlen for net in list_subnets(found, "public").values()] == [17]
        assert {net.prefixlen for net in list_subnets(found, "private").values()} == {18}
        assert 1 <= len(list_subnets(found, "private")) <= 3


class TestA6:
    """EKS with a p5 capacity block in an existing VPC."""

    @pytest.fixture
    def found(self) -> Graph:
        return record_spec("a6")

    def test_the_cluster_matches_the_case(self, found: Graph) -> None:
        control = found.one("aws:eks/cluster:Cluster").inputs
        assert control["version"] == "1.32"
        assert set(control["vpcConfig"]["subnetIds"]) == {"subnet-0000000000000000a", "subnet-0000000000000000b"}
        # pods get roles by pod identity, which needs no OIDC provider
        assert "eks-pod-identity-agent" in {entry.inputs["addonName"] for entry in found.of_type("aws:eks/addon:Addon")}
        assert count(found, VPC, SUBNET, "aws:ec2/natGateway:NatGateway") == [0, 0, 0]

    def test_the_node_group_matches_the_case(self, found: Graph) -> None:
        group = found.one(NODES, "prod-p5-cbr-block").inputs
        assert group["scalingConfig"] == {"minSize": 0, "desiredSize": 1, "maxSize": 10}
        assert group["capacityType"] == "CAPACITY_BLOCK"
        assert group["subnetIds"] == ["subnet-0000000000000000a"]
        template = get_launch_template(found, "p5-cbr-block")
        assert template["instanceType"] == "p5.48xlarge"
        assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
        target = template["capacityReservationSpecification"]["capacityReservationTarget"]
        assert target == {"capacityReservationId": "cr-0123456789abcdef0"}
        assert list_efa_cards(template) == list(range(32))
        config = read_user_data(found.one(LAUNCH, "prod-p5-cbr-block-launch"))
        assert '"localStorage": {"strategy": "RAID0"}' in config
        assert all(item.get("associatePublicIpAddress") != "true" for item in template["networkInterfaces"])


class TestA8:
    """HyperPod on EKS in an isolated network."""

    @pytest.fixture
    def found(self) -> Graph:
        return record_spec("a8")

    def test_the_network_matches_the_case(self, found: Graph) -> None:
        assert list_networks(found) == ["10.192.0.0/16", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", "10.4.0.0/16"]
        assert [str(net) for net in list_subnets(found, "private").values()] == [
            "10.1.0.0/16",
            "10.2.0.0/16",
            "10.3.0.0/16",
            "10.4.0.0/16",
        ]
        assert [str(net) for net in list_subnets(found, "control").values()] == ["10.192.7.0/28", "10.192.8.0/28"]
        assert count(found, "aws:ec2/internetGateway:InternetGateway", "aws:ec2/natGateway:NatGateway") == [0, 0]

    def test_the_endpoints_match_the_case(self, found: Graph) -> None:
        kinds: dict[str, set[str]] = {"Gateway": set(), "Interface": set()}
        for entry in found.of_type(ENDPOINT):
            kinds[entry.inputs["vpcEndpointType"]].add(entry.inputs["serviceName"].split(".", 3)[3])
        assert kinds == {
            "Gateway": {"s3"},
            "Interface": {
                "ec2",
                "ecr.api",
                "ecr.dkr",
                "sts",
                "logs",
                "monitoring",
                "ssm",
                "ssmmessages",
                "ec2messages",
                "eks-auth",
            },
        }

    def test_kubernetes_matches_the_case(self, found: Graph) -> None:
        control = found.one("aws:eks/cluster:Cluster").inputs
        assert control["version"] == "1.33"
        assert control["vpcConfig"]["subnetIds"] == ["prod-control-us-west-2a-id", "prod-control-us-west-2b-id"]
        assert all(entry.inputs["nodeRepairConfig"] == {"enabled": True} for entry in found.of_type(NODES))
        assert get_launch_template(found, "system")["instanceType"] == "m5.12xlarge"
        assert found.one(NODES, "prod-system").inputs["scalingConfig"]["desiredSize"] == 1

    def test_the_restricted_group_matches_the_case(self, found: Graph) -> None:
        template = get_launch_template(found, "rig-on-demand")
        assert template["instanceType"] == "p5.48xlarge"
        assert template["blockDeviceMappings"][0]["ebs"]["volumeSize"] == 850
        assert found.one(NODES, "prod-rig-on-demand").inputs["scalingConfig"]["maxSize"] == 2
        assert len(list_efa_cards(template)) == 32  # vpc.amazonaws.com/efa: 32
        system = describe_storage(found.one(LUSTRE))
        assert (system["storageCapacity"], system["perUnitStorageThroughput"]) == (4800, 250)
