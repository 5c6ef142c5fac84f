"""Kubernetes on AWS, alarms, the budget, and names within what the provider takes."""

from __future__ import annotations

import fnmatch
import json

import pytest
from offline import wire
from offline.recorder import record
from programs import (
    build_program,
    build_small_spec,
    get_launch_template,
    read_statements,
    read_user_data,
    record_small_spec,
    record_spec,
)

import supercloud as sc
from supercloud.targets.schedulers.kubernetes import accessors

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning"),
]
LAUNCH = "aws:ec2/launchTemplate:LaunchTemplate"
SCALED = "aws:autoscaling/group:Group"
NODES = "aws:eks/nodeGroup:NodeGroup"


def test_nodes_of_pools_are_labelled_and_tainted_as_the_bundle_expects() -> None:
    found = record_spec("10-aws-eks")
    nodes = found.one(NODES, "prod-train-block").inputs
    assert nodes["labels"]["supercloud.dev/pool"] == "train"
    assert nodes["labels"]["supercloud.dev/accelerator"] == "h100-sxm"
    assert nodes["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert nodes["amiType"] == "AL2023_x86_64_NVIDIA" and nodes["capacityType"] == "CAPACITY_BLOCK"
    assert nodes["scalingConfig"] == {"minSize": 0, "desiredSize": 1, "maxSize": 10}
    assert found.one(NODES, "prod-train-block").ignore_changes == ("scalingConfig.desiredSize",)
    template = get_launch_template(found, "train-block")
    assert "iamInstanceProfile" not in template and "imageId" not in template  # EKS refuses the one, brings the other
    assert template["networkInterfaces"][0]["securityGroups"] == ["prod-cluster-sg-id"]
    control = found.one("aws:eks/cluster:Cluster").inputs["vpcConfig"]
    assert control["securityGroupIds"] == ["prod-cluster-sg-id"]


def test_labels_and_taints_are_those_of_the_rendered_bundle() -> None:
    spec = build_small_spec(
        site={"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]},
        scheduler={"kind": "kubernetes", "version": "1.35"},
        pools=[
            {"name": "sliced", "machine": "p5.48xlarge", "nodes": 2, "slicing": {"mig": {"1g.10gb": 7}}},
            {"name": "shared", "machine": "g6.12xlarge", "nodes": 2, "slicing": {"shards": 4}, "features": ["blue"]},
            {"name": "cpu", "machine": "m6i.8xlarge", "nodes": 2},
        ],
    )
    plan = sc.resolve(sc.ClusterSpec.model_validate(spec))
    found = record(build_program(spec=spec))
    for pool in plan.pools:
        nodes = found.one(NODES, f"prod-{pool.name}-on-demand").inputs
        assert nodes["labels"] == accessors.build_pool_labels(plan, pool)
        assert [taint["key"] for taint in nodes["taints"]] == [
            taint["key"] for taint in accessors.build_taints(plan, pool)
        ]
        assert all(taint["effect"] == "NO_SCHEDULE" for taint in nodes["taints"])


def test_pods_have_separate_roles() -> None:
    found = record_spec("10-aws-eks")
    addons = {entry.inputs["addonName"]: entry.inputs for entry in found.of_type("aws:eks/addon:Addon")}
    assert set(addons) >= {
        "vpc-cni",
        "kube-proxy",
        "coredns",
        "eks-pod-identity-agent",
        "eks-node-monitoring-agent",
        "aws-fsx-csi-driver",
        "aws-mountpoint-s3-csi-driver",
    }
    assert addons["vpc-cni"]["podIdentityAssociations"][0]["serviceAccount"] == "aws-node"
    trust = read_statements(found.one("aws:iam/role:Role", "prod-s3-csi-role"), "assumeRolePolicy")
    assert trust[0]["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert set(trust[0]["Action"]) == {"sts:AssumeRole", "sts:TagSession"}
    caller = trust[0]["Condition"]["StringEquals"]  # not other clusters of the account, nor pods of other accounts
    assert caller["aws:RequestTag/kubernetes-service-account"] == "s3-csi-driver-sa"
    assert caller["aws:RequestTag/eks-cluster-arn"] == "prod-cluster-arn"


def test_administrators_have_access_entries() -> None:
    kubernetes = {"kind": "kubernetes", "version": "1.35"}
    site = {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]}
    found = record(
        build_program(spec=build_small_spec(scheduler=kubernetes, site=site), admins={"ada": "arn:aws:iam::1:role/ada"})
    )
    assert found.one("aws:eks/accessEntry:AccessEntry", "prod-admin-ada").inputs["principalArn"].endswith("role/ada")
    scope = found.one("aws:eks/accessPolicyAssociation:AccessPolicyAssociation").inputs
    assert scope["policyArn"] == "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


def test_roles_of_the_account_are_members_of_their_tenants() -> None:
    research, both = "arn:aws:iam::111122223333:role/teams/research", "arn:aws:iam::111122223333:role/both"
    tenants = [{"name": "research", "principals": [research, both]}, {"name": "product", "principals": [both]}]
    site = {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]}
    found = record_small_spec(scheduler={"kind": "kubernetes", "version": "1.35"}, site=site, tenants=tenants)
    entries = {entry.name: entry.inputs for entry in found.of_type("aws:eks/accessEntry:AccessEntry")}
    assert entries["prod-member-111122223333-role-teams-research"]["kubernetesGroups"] == ["supercloud:research"]
    groups = entries["prod-member-111122223333-role-both"]["kubernetesGroups"]
    assert groups == ["supercloud:research", "supercloud:product"]
    assert not found.of_type("aws:eks/accessPolicyAssociation:AccessPolicyAssociation")  # no rights beyond the tenant's


def test_the_autoscaler_resizes_groups_of_pools_that_can_grow() -> None:
    found = record_spec("10-aws-eks")
    tags = [entry.inputs["tag"] for entry in found.of_type("aws:autoscaling/tag:Tag")]
    assert {tag["key"]: tag["value"] for tag in tags} == {
        "supercloud:autoscaler": "block",
        "k8s.io/cluster-autoscaler/node-template/resources/vpc.amazonaws.com/efa": "32",
    }
    identity = found.one("aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert (identity["namespace"], identity["serviceAccount"]) == ("kube-system", "cluster-autoscaler")
    statements = read_statements(found.one("aws:iam/rolePolicy:RolePolicy", "prod-autoscaler-policy"))
    (resize,) = [item for item in statements if "autoscaling:SetDesiredCapacity" in item["Action"]]
    assert resize["Condition"] == {"StringEquals": {"aws:ResourceTag/eks:cluster-name": "prod-project-stack"}}


def test_pools_whose_nodes_all_run_have_no_autoscaler() -> None:
    site = {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]}
    found = record_small_spec(scheduler={"kind": "kubernetes", "version": "1.35"}, site=site)
    assert not found.of_type("aws:autoscaling/tag:Tag")
    assert not found.of_type("aws:eks/podIdentityAssociation:PodIdentityAssociation")


def test_a_custom_image_gets_the_cluster_to_join() -> None:
    site = {
        "kind": "aws",
        "region": "us-east-1",
        "zones": ["us-east-1a", "us-east-1b"],
        "images": {"kubernetes-cpu-x86": {"id": "ami-0123456789abcdef0", "root": "/dev/sda1"}},
    }
    found = record_small_spec(scheduler={"kind": "kubernetes", "version": "1.35"}, site=site)
    assert found.one(NODES, "prod-cpu-on-demand").inputs["amiType"] == "CUSTOM"
    text = read_user_data(found.one(LAUNCH, "prod-cpu-on-demand-launch"))
    config = json.loads(text.split("application/node.eks.aws\n\n")[1].split("\n--//--")[0])
    assert config["kind"] == "NodeConfig" and config["spec"]["cluster"]["name"] == "prod-project-stack"


def test_alarms_and_the_budget_notify_the_topic_and_the_addresses() -> None:
    storage = [{"name": "scratch", "kind": "lustre", "capacity": "1200 GiB", "mount": "/fsx"}]
    found = record(
        build_program(spec=build_small_spec(budget="5500000 USD", storage=storage), notify=["ada@example.com"])
    )
    assert found.one("aws:sns/topicSubscription:TopicSubscription").inputs["endpoint"] == "ada@example.com"
    budget = found.one("aws:budgets/budget:Budget").inputs
    assert (budget["limitAmount"], budget["limitUnit"]) == ("5500000.00", "USD")
    assert budget["costFilters"][0]["values"] == ["user:supercloud:cluster$project/stack/prod"]
    assert all("ada@example.com" in item["subscriberEmailAddresses"] for item in budget["notifications"])
    alarms = found.of_type("aws:cloudwatch/metricAlarm:MetricAlarm")
    assert {entry.name for entry in alarms} >= {"prod-alarm-ctl1-status", "prod-alarm-storage-scratch-free"}
    assert all(entry.inputs["alarmActions"] == ["prod-alarms-arn"] for entry in alarms)


def test_long_names_leave_room_for_the_suffix_of_autonaming() -> None:
    long = "a" * 40
    pools = [{"name": long, "machine": "m6i.8xlarge", "nodes": 2}]
    storage = [{"name": "b" * 40, "kind": "object"}]
    found = record(build_program("c" * 40, spec=build_small_spec(pools=pools, storage=storage)))
    limits = {"aws:s3/bucket:Bucket": 63, "aws:iam/role:Role": 64, SCALED: 255, LAUNCH: 128}
    for token, limit in limits.items():
        names = [entry.name for entry in found.of_type(token)]
        assert names and len(set(names)) == len(names)
        assert all(len(name) + 8 <= limit for name in names), names
    assert not any(fnmatch.fnmatch(entry.name, "*--*") for entry in found.values())


def test_the_name_of_the_cluster_is_bounded() -> None:
    site = {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]}
    spec = build_small_spec(scheduler={"kind": "kubernetes", "version": "1.35"}, site=site)
    found = record(build_program("d" * 120, spec=spec))
    assert len(found.one("aws:eks/cluster:Cluster").inputs["name"]) <= 100
    assert not isinstance(found.one("aws:eks/cluster:Cluster").inputs["name"], wire.Unknown)
