"""Three specs that differ from the examples: rules of network, storage and permissions are compared with the spec."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

import pytest
import yaml
from answers import EXISTING
from offline.graph import Graph
from offline.recorder import record
from programs import HERE, build_program, read_statements, read_user_data

import supercloud as sc
from supercloud.plan.build.kubernetes.labels import build_pool_labels, build_taints

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
SPECS = {path.stem: path for path in sorted((HERE / "specs").glob("*.yaml"))}
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
LAUNCH = "aws:ec2/launchTemplate:LaunchTemplate"
NODES = "aws:eks/nodeGroup:NodeGroup"


@cache
def record_spec(name: str, preview: bool = False) -> Graph:
    return record(build_program(spec=str(SPECS[name])), preview, invokes=EXISTING)


def list_rules(found: Graph, token: str, group: str) -> set[str]:
    rules = set()
    for entry in found.of_type(token):
        values = entry.inputs
        if values["securityGroupId"] == group:
            other = values.get("referencedSecurityGroupId") or values.get("cidrIpv4") or values.get("prefixListId")
            ports = f" {values['fromPort']}-{values['toPort']}" if "fromPort" in values else ""
            rules.add(f"{values['ipProtocol']} {other}{ports}")
    return rules


def test_all_specs_are_tested() -> None:
    assert set(SPECS) == {"g6e-slurm", "p5en-isolated", "trn1-eks"}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECS)
def test_specs_plan_without_errors_and_preview_matches_update(name: str) -> None:
    plan = sc.resolve(sc.load(SPECS[name]))
    assert plan.errors == ()
    update, preview = (
        record_spec(name),
        record_spec(name, preview=True),
    )  # refuses what the provider's schema does not know
    assert set(update) == set(preview) and not update.warnings
    for target in ("boot", "slurm") if plan.scheduler.kind == "slurm" else ("kubernetes",):
        assert len(sc.render(plan, target))


def test_trainium_nodes_run_under_eks() -> None:
    found, plan = record_spec("trn1-eks"), sc.resolve(sc.load(SPECS["trn1-eks"]))
    for group in ("reserved", "on-demand"):
        nodes, pool = found.one(NODES, f"prod-trn-{group}").inputs, plan.get_pool("trn")
        assert nodes["amiType"] == "AL2023_x86_64_NEURON"
        assert nodes["labels"] == build_pool_labels(plan, pool)
        assert nodes["labels"]["feature.supercloud.dev/neuron"] == "true"
        assert [item["key"] for item in nodes["taints"]] == [item["key"] for item in build_taints(plan, pool)]
        template = found.one(LAUNCH, f"prod-trn-{group}-launch").inputs
        assert [item["interfaceType"] for item in template["networkInterfaces"]].count("efa-only") == 8
        assert template["blockDeviceMappings"][0]["deviceName"] == "/dev/xvda"
        assert "RAID0" in base64.b64decode(template["userData"]).decode()
    spot = found.one(NODES, "prod-cpu-spot").inputs
    assert spot["capacityType"] == "SPOT" and len(spot["subnetIds"]) == 2
    assert "instanceMarketOptions" not in found.one(LAUNCH, "prod-cpu-spot-launch").inputs
    # a client resolves the name of EFS only where its zone has an address of it
    mounts = [entry.inputs["subnetId"] for entry in found.of_type("aws:efs/mountTarget:MountTarget")]
    assert sorted(mounts) == ["prod-private-us-east-2a-id", "prod-private-us-east-2b-id"]
    addons = {entry.inputs["addonName"] for entry in found.of_type("aws:eks/addon:Addon")}
    assert addons >= {"aws-fsx-csi-driver", "aws-efs-csi-driver", "aws-mountpoint-s3-csi-driver"}
    ways = {
        entry.inputs["routeTableId"]: entry.inputs.get("natGatewayId") or entry.inputs["gatewayId"]
        for entry in found.of_type("aws:ec2/route:Route")
    }
    for entry in found.of_type("aws:ec2/routeTableAssociation:RouteTableAssociation"):
        subnet, zone = entry.inputs["subnetId"], entry.inputs["subnetId"].removesuffix("-id")[-10:]
        through = "prod-internet-id" if "public" in subnet else f"prod-nat-{zone}-id"
        assert ways[entry.inputs["routeTableId"]] == through, subnet


def test_l40s_nodes_run_in_an_existing_network() -> None:
    found = record_spec("g6e-slurm")
    for token in (
        "vpc:Vpc",
        "subnet:Subnet",
        "internetGateway:InternetGateway",
        "routeTable:RouteTable",
        "vpcEndpoint:VpcEndpoint",
        "flowLog:FlowLog",
    ):
        assert not found.of_type(f"aws:ec2/{token}"), token
    a, b, public = (f"subnet-0000000000000000{letter}" for letter in "abc")
    assert {tuple(entry.inputs["vpcZoneIdentifiers"]) for entry in found.of_type("aws:autoscaling/group:Group")} == {
        (a,)
    }
    assert found.one("aws:rds/subnetGroup:SubnetGroup").inputs["subnetIds"] == [a, b]
    login, controller = (found.one("aws:ec2/instance:Instance", f"prod-{name}").inputs for name in ("login", "ctl1"))
    interface = found.one(
        "aws:ec2/networkInterface:NetworkInterface"
    )  # that of the controller, which is root on OpenZFS
    assert controller["primaryNetworkInterface"] == {"networkInterfaceId": f"{interface.name}-id"}
    assert (login["subnetId"], interface.inputs["subnetId"]) == (public, a)
    assert list_rules(found, INGRESS, "prod-access-sg-id") == {"tcp 198.51.100.0/24 22-22"}
    assert list_rules(found, INGRESS, "prod-database-sg-id") == {"tcp prod-cluster-sg-id 3306-3306"}
    spot = found.one(LAUNCH, "prod-gpu-spot-launch").inputs["instanceMarketOptions"]
    assert spot == {"marketType": "spot", "spotOptions": {"maxPrice": "12.0000"}}
    for disk in (login["rootBlockDevice"], controller["rootBlockDevice"]):
        assert disk["encrypted"] is True and disk["tags"]["supercloud:cluster"] == "project/stack/prod"


def test_h200_nodes_run_without_internet_access() -> None:
    found = record_spec("p5en-isolated")
    for token in ("internetGateway:InternetGateway", "natGateway:NatGateway", "eip:Eip", "route:Route"):
        assert not found.of_type(f"aws:ec2/{token}")
    out = list_rules(found, EGRESS, "prod-cluster-sg-id")
    assert out == {
        "-1 prod-cluster-sg-id",
        "tcp prod-endpoint-s3-prefixListId 443-443",
        "tcp prod-endpoints-sg-id 443-443",
        "tcp prod-storage-home-sg-id 2049-2049",
    }
    assert list_rules(found, INGRESS, "prod-endpoints-sg-id") == {"tcp prod-cluster-sg-id 443-443"}
    services = {
        entry.inputs["serviceName"].split("us-west-2.")[1] for entry in found.of_type("aws:ec2/vpcEndpoint:VpcEndpoint")
    }
    assert services >= {"s3", "ssm", "logs", "autoscaling", "secretsmanager", "ec2", "sts"}
    assert "placement" not in found.one(LAUNCH, "prod-big-block-launch").inputs
    assert found.one(LAUNCH, "prod-small-on-demand-launch").inputs["placement"]
    for entry in found.of_type(LAUNCH):
        if not entry.name.endswith("-image"):
            assert entry.inputs["metadataOptions"]["httpPutResponseHopLimit"] == 1
            assert entry.inputs["blockDeviceMappings"][0]["deviceName"] == "/dev/sda1"


def test_weka_servers_can_read_only_their_software() -> None:
    found = record_spec("p5en-isolated")
    policy = found.one("aws:iam/rolePolicy:RolePolicy", "prod-scratch-servers-policy")
    granted = {action: statement["Resource"] for statement in read_statements(policy) for action in statement["Action"]}
    buckets = [
        statement["Resource"] for statement in read_statements(policy) if statement["Action"] == ["s3:GetObject"]
    ]
    assert buckets == [["prod-bucket-state-arn/*"], ["arn:aws:s3:::corp-software/weka/install.sh"]]
    assert granted["secretsmanager:GetSecretValue"] == ["arn:aws:secretsmanager:us-west-2:*:secret:weka-token-??????"]
    launch = found.one(LAUNCH, "prod-scratch-servers-launch")
    published = {entry.urn for entry in found.of_type("aws:s3/bucketObjectv2:BucketObjectv2")}
    assert published | {policy.urn} <= set(launch.property_dependencies["userData"])
    assert "ROLE='storage'" in read_user_data(launch)
    for token in ("loadBalancer:LoadBalancer", "targetGroup:TargetGroup"):
        assert len(found.one(f"aws:lb/{token}").name) + 8 <= 32


def test_endpoint_services_of_other_accounts_are_not_accessible() -> None:
    found = record_spec("trn1-eks")
    (statement,) = read_statements(found.one("aws:sns/topicPolicy:TopicPolicy"))
    assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": "prod-alarms-owner"}}
    (trust,) = json.loads(found.one("aws:iam/role:Role", "prod-flows-role").inputs["assumeRolePolicy"])["Statement"]
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": "prod-vpc-ownerId"}}


WRONG: list[tuple[str, dict[str, Any], set[str]]] = [
    # (spec, what is changed in it, checks that say so)
    ("g6e-slurm", {"site": {"kind": "aws", "region": "eu-west-1", "zones": ["eu-west-1a"]}}, {"cloud-machine-region"}),
    (
        "trn1-eks",
        {
            "pools": [
                {
                    "name": "trn",
                    "machine": "trn1.32xlarge",
                    "nodes": 16,
                    "fabrics": ["compute"],
                    "zones": ["us-east-2a"],
                    "local": "/scratch",
                    "capacity": [{"kind": "spot", "max_price": "9 USD/h"}],
                }
            ]
        },
        {"cloud-local-disks", "cloud-spot-limit"},
    ),
    (
        "p5en-isolated",
        {
            "storage": [
                {
                    "name": "scratch",
                    "kind": "weka",
                    "capacity": "500 TB",
                    "mount": "/scratch",
                    "options": {"install": "https://get.example.com/install.sh"},
                }
            ]
        },
        {"cloud-storage-install"},
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("name, changes, checks", WRONG, ids=[row[0] for row in WRONG])
def test_an_error_in_each_spec_is_found(name: str, changes: dict[str, Any], checks: set[str]) -> None:
    spec = yaml.safe_load(SPECS[name].read_text()) | changes
    spec["scheduler"]["version"] = str(spec["scheduler"]["version"])
    plan = sc.resolve(sc.ClusterSpec.model_validate(spec))
    assert {item.check for item in plan.errors} >= checks
    assert all(item.hint for item in plan.errors)
    with pytest.raises(sc.InputError):
        record(build_program(spec=spec))
