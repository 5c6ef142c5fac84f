"""Managed node groups of EKS: those of pools, and the one for system components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi_aws import ec2, eks

from ....plan.build.kubernetes.labels import build_pool_labels, build_taints
from ....plan.model.cloud import CloudHost, NodeGroup
from ....plan.model.plan import Plan, PoolPlan
from ....spec.pool import CapacityBlock, Spot
from ..build_context import BuildContext
from .launch import LaunchSettings, create_launch_template, get_latest_version
from .network import Network
from .node_config import build_node_config, find_ami_type
from .placement import create_nodes_placement_group

__all__ = ["create_pool_node_group", "create_system_node_group"]

_MAX_UNAVAILABLE_PERCENT = 10
"""Maximum percentage of a group that is unavailable during an update."""
_TAINT_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
"""Taint effects in the notation of EKS."""


def create_pool_node_group(
    context: BuildContext,
    cluster: eks.Cluster,
    group: NodeGroup,
    network: Network,
    security_group_ids: Sequence[pulumi.Input[str]],
    role: pulumi.Input[str],
    depends_on: Sequence[pulumi.Resource],
) -> eks.NodeGroup:
    """Create the nodes of a pool, with the labels and taints that the rendered bundle expects."""
    pool = context.plan.get_pool(group.pool)
    settings = LaunchSettings(
        machine=pool.machine.name,
        disk=group.disk,
        security_group_ids=security_group_ids,
        interfaces=group.interfaces,
        cores=group.cores,
        capacity=None
        if isinstance(group.capacity, Spot)
        else group.capacity,  # capacity_type of the group is already SPOT
        placement=create_nodes_placement_group(context, group),
        **_build_launch_settings(context, cluster, group.image, local_disks=group.local_disk_mount is not None),
    )
    nodes = _ManagedNodes(
        group.key,
        network.select_subnet_ids(group.subnets),
        create_launch_template(context, group.key, settings),
        group.image,
        sizes=(group.min_nodes, group.initial_nodes, group.max_nodes),
        capacity_type=_select_capacity_type(group),
        labels=build_pool_labels(context.plan, pool),
        taints=_build_taints(context.plan, pool),
    )
    return _create_managed_node_group(context, cluster, role, nodes, depends_on)


def create_system_node_group(
    context: BuildContext,
    cluster: eks.Cluster,
    host: CloudHost,
    network: Network,
    security_group_ids: Sequence[pulumi.Input[str]],
    role: pulumi.Input[str],
    depends_on: Sequence[pulumi.Resource],
) -> eks.NodeGroup:
    """Create the nodes for queues, operators and monitoring."""
    settings = LaunchSettings(
        machine=host.machine.name,
        disk=host.disk,
        security_group_ids=security_group_ids,
        **_build_launch_settings(context, cluster, host.image, local_disks=False),
    )
    subnets, count = network.select_subnet_ids(host.subnets), host.count
    launch = create_launch_template(context, host.key, settings)
    nodes = _ManagedNodes(host.key, subnets, launch, host.image, sizes=(count, count, count))
    return _create_managed_node_group(context, cluster, role, nodes, depends_on)


@dataclass(frozen=True)
class _ManagedNodes:
    """The nodes of a managed node group."""

    key: str
    subnets: Sequence[pulumi.Input[str]]
    launch: ec2.LaunchTemplate
    image: str
    sizes: tuple[int, int, int]
    """Minimum, initial and maximum number of nodes."""
    capacity_type: str = "ON_DEMAND"
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[eks.NodeGroupTaintArgs] = ()


def _create_managed_node_group(
    context: BuildContext,
    cluster: eks.Cluster,
    role: pulumi.Input[str],
    nodes: _ManagedNodes,
    depends_on: Sequence[pulumi.Resource],
) -> eks.NodeGroup:
    least, first, most = nodes.sizes
    published = find_ami_type(context.cloud.images[nodes.image])
    return eks.NodeGroup(
        context.name_child(nodes.key, "node-group"),
        cluster_name=cluster.name,
        node_role_arn=role,
        subnet_ids=list(nodes.subnets),
        ami_type=published or "CUSTOM",
        version=context.plan.scheduler.version if published else None,
        capacity_type=nodes.capacity_type,
        launch_template=eks.NodeGroupLaunchTemplateArgs(id=nodes.launch.id, version=get_latest_version(nodes.launch)),
        scaling_config=eks.NodeGroupScalingConfigArgs(min_size=least, desired_size=first, max_size=most),
        update_config=eks.NodeGroupUpdateConfigArgs(max_unavailable_percentage=_MAX_UNAVAILABLE_PERCENT),
        node_repair_config=eks.NodeGroupNodeRepairConfigArgs(enabled=True),
        labels=dict(nodes.labels),
        taints=list(nodes.taints),
        tags=context.build_tags(nodes.key),
        opts=context.build_options(depends_on=list(depends_on), ignore_changes=["scalingConfig.desiredSize"]),
    )


def _build_launch_settings(
    context: BuildContext, cluster: eks.Cluster, image: str, local_disks: bool
) -> dict[str, Any]:
    """Build image and start configuration: EKS configures its own images, others are given the cluster to join."""
    own = find_ami_type(context.cloud.images[image]) is None
    return {
        "image": image,
        "managed": not own,
        "user_data": build_node_config(cluster if own else None, local_disks),
    }


def _select_capacity_type(group: NodeGroup) -> str:
    if isinstance(group.capacity, CapacityBlock):
        return "CAPACITY_BLOCK"
    return "SPOT" if isinstance(group.capacity, Spot) else "ON_DEMAND"


def _build_taints(plan: Plan, pool: PoolPlan) -> list[eks.NodeGroupTaintArgs]:
    return [
        eks.NodeGroupTaintArgs(key=item["key"], value=item["value"], effect=_TAINT_EFFECTS[item["effect"]])
        for item in build_taints(plan, pool)
    ]
