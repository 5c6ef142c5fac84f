"""Auto Scaling groups: equal instances that Slurm starts and stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_aws import autoscaling, ec2

from ....plan.model.cloud import NodeGroup
from ..boot import render_user_data
from ..build_context import BuildContext
from .launch import LaunchSettings, create_launch_template, get_latest_version
from .network import Network
from .placement import create_nodes_placement_group

__all__ = ["GROUP_TAG", "POOL_TAG", "GroupSettings", "create_instance_group", "create_node_group"]

POOL_TAG = "supercloud:pool"
GROUP_TAG = "supercloud:group"
"""Tags by which the controller finds its groups and instances."""
_SUSPENDED_PROCESSES = ["AZRebalance", "ReplaceUnhealthy"]
"""Suspended processes of Auto Scaling, which would terminate instances of running jobs. Slurm drains and replaces."""


def create_node_group(
    context: BuildContext,
    group: NodeGroup,
    network: Network,
    security_group_ids: Sequence[pulumi.Input[str]],
    profile: pulumi.Input[str],
    values: Mapping[str, pulumi.Input[str]],
) -> autoscaling.Group:
    """Create the instances of a node group; Slurm controls their number after creation."""
    labels = {POOL_TAG: group.pool, GROUP_TAG: group.key}
    settings = LaunchSettings(
        machine=context.plan.get_pool(group.pool).machine.name,
        disk=group.disk,
        security_group_ids=security_group_ids,
        interfaces=group.interfaces,
        image=group.image,
        profile=profile,
        cores=group.cores,
        capacity=group.capacity,
        placement=create_nodes_placement_group(context, group),
        user_data=render_user_data(context, group.key, values),
        tags=labels,
    )
    return create_instance_group(
        context,
        group.key,
        create_launch_template(context, group.key, settings),
        GroupSettings(
            network.select_subnet_ids(group.subnets),
            sizes=(group.min_nodes, group.initial_nodes, group.max_nodes),
            tags=labels,
        ),
    )


@dataclass(frozen=True)
class GroupSettings:
    """Where an Auto Scaling group has its instances, and how many."""

    subnets: Sequence[pulumi.Input[str]]
    sizes: tuple[int, int, int]
    """Minimum, initial and maximum number of instances."""
    tags: Mapping[str, str]
    targets: Sequence[pulumi.Input[str]] = ()
    """Target groups of load balancers."""
    has_data: bool = False
    """Whether data is on the instances, so that they are not deleted with the group."""


def create_instance_group(
    context: BuildContext,
    key: str,
    launch_template: ec2.LaunchTemplate,
    settings: GroupSettings,
) -> autoscaling.Group:
    """Create an Auto Scaling group that terminates no instances automatically."""
    least, first, most = settings.sizes
    labels = context.build_tags(key) | dict(settings.tags)
    return autoscaling.Group(
        context.name_child(key, "auto-scaling-group"),
        min_size=least,
        desired_capacity=first,
        max_size=most,
        vpc_zone_identifiers=list(settings.subnets),
        launch_template=autoscaling.GroupLaunchTemplateArgs(
            id=launch_template.id, version=get_latest_version(launch_template)
        ),
        target_group_arns=list(settings.targets) or None,
        suspended_processes=_SUSPENDED_PROCESSES,
        protect_from_scale_in=True,
        wait_for_capacity_timeout="0",  # capacity may take days; the scheduler shows missing nodes
        force_delete=not settings.has_data,  # protected instances would otherwise block a destroy
        enabled_metrics=[autoscaling.Metric.GROUP_DESIRED_CAPACITY, autoscaling.Metric.GROUP_IN_SERVICE_INSTANCES],
        tags=[
            autoscaling.GroupTagArgs(key=name, value=labels[name], propagate_at_launch=True) for name in sorted(labels)
        ],
        opts=context.build_options(has_data=settings.has_data, ignore_changes=["desiredCapacity"]),
    )
