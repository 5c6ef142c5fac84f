"""What the autoscaler in an EKS cluster needs: the permissions of its pods, and tags by which it finds its groups.

github.com/kubernetes/autoscaler, cluster-autoscaler/cloudprovider/aws/README.md: actions and tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi_aws import autoscaling, eks

from ....plan.build.kubernetes.growth import find_autoscaler, list_resized_groups
from ....plan.model.cloud import NodeGroup
from ..build_context import BuildContext
from .iam import Statement, allow, create_role

__all__ = ["create_autoscaler_access"]

_NAMESPACE = "kube-system"
_READ_ACTIONS = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:DescribeTags",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:GetInstanceTypesFromInstanceRequirements",
)
"""Actions without resource-level permissions."""
_RESIZE_ACTIONS = ("autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup")
_CLUSTER_TAG = "eks:cluster-name"
"""Tag of EKS on the Auto Scaling groups of its node groups."""


def create_autoscaler_access(context: BuildContext, cluster: eks.Cluster, groups: Mapping[str, eks.NodeGroup]) -> None:
    """Create the role of its pods and the tags of the groups of ``groups`` (by key); nothing if no pool can grow."""
    scaler = find_autoscaler(context.plan)
    if scaler is None:
        return
    caller = {"eks-cluster-arn": cluster.arn, "kubernetes-service-account": scaler.account}
    role = create_role(
        context,
        "autoscaler",
        "pods.eks.amazonaws.com",
        _allow_resizing(context, cluster),
        assume_actions=("sts:AssumeRole", "sts:TagSession"),
        conditions={"StringEquals": {f"aws:RequestTag/{name}": value for name, value in caller.items()}},
    )
    eks.PodIdentityAssociation(
        context.name_child("autoscaler-identity"),
        cluster_name=cluster.name,
        namespace=_NAMESPACE,
        service_account=scaler.account,
        role_arn=role.arn,
        tags=context.build_tags("autoscaler"),
        opts=context.build_options(depends_on=list(role.policies)),
    )
    for group in list_resized_groups(context.plan):
        name = groups[group.key].resources.apply(_get_group_name)
        tags = {scaler.group_tag: context.plan.name} | {
            f"{scaler.resource_tag}{resource}": str(count) for resource, count in _count_ports(context, group).items()
        }
        for number, (key, value) in enumerate(tags.items()):
            autoscaling.Tag(
                context.name_child(f"{group.key}-autoscaler-{number}"),
                autoscaling_group_name=name,
                tag=autoscaling.TagTagArgs(key=key, value=value, propagate_at_launch=False),
                opts=context.build_options(),
            )


def _get_group_name(resources: Sequence[Any]) -> str:
    """Return the name of the Auto Scaling group of a node group, of which there is one."""
    (group,) = resources[0].autoscaling_groups
    return str(group.name)


def _allow_resizing(context: BuildContext, cluster: eks.Cluster) -> tuple[Statement, ...]:
    """Allow resizing groups of this cluster only, and reading what describes their nodes."""
    start = f"arn:{context.cloud.partition}:autoscaling:{context.cloud.region}:*:autoScalingGroup:*"
    own = {"StringEquals": {f"aws:ResourceTag/{_CLUSTER_TAG}": cluster.name}}
    nodes = pulumi.Output.concat(f"arn:{context.cloud.partition}:eks:{context.cloud.region}:*:nodegroup/", cluster.name)
    return (
        allow(_READ_ACTIONS),
        allow(_RESIZE_ACTIONS, [f"{start}:autoScalingGroupName/*"], own),
        allow(["eks:DescribeNodegroup"], [pulumi.Output.concat(nodes, "/*")]),
    )


def _count_ports(context: BuildContext, group: NodeGroup) -> dict[str, int]:
    """Count the ports of a node by resource name: the autoscaler knows processors, memory and accelerators only."""
    facts, pool = context.plan.scheduler.kubernetes, context.plan.get_pool(group.pool)
    found = {}
    for fabric in context.plan.fabrics:
        plugin = facts.find_port_plugin(fabric.kind) if facts and fabric.name in pool.fabrics else None
        if plugin is not None:
            found[plugin.resource] = sum(interface.kind != "interface" for interface in group.interfaces)
    return found
