"""Auto Scaling groups: equal instances that Slurm starts and stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
from pulumi_aws import autoscaling, ec2

from ....plan.model.cloud import NodeGroup
from ..boot import user_data
from ..work import Work
from .launch import template, version_of
from .network import Network
from .placement import placement_of

__all__ = ["GROUP_TAG", "POOL_TAG", "group_of_instances", "node_group"]

POOL_TAG = "supercloud:pool"
GROUP_TAG = "supercloud:group"
"""By these the controller finds its groups and instances."""
_NOT_OURS = ["AZRebalance", "ReplaceUnhealthy"]
"""What Auto Scaling must not do: end instances under running jobs. Slurm drains and replaces."""


def node_group(
    work: Work,
    plan: NodeGroup,
    network: Network,
    walls: Sequence[pulumi.Input[str]],
    profile: pulumi.Input[str],
    values: Mapping[str, pulumi.Input[str]],
) -> autoscaling.Group:
    """The instances of a node group; Slurm owns their number once they are there."""
    labels = {POOL_TAG: plan.pool, GROUP_TAG: plan.key}
    launch = template(
        work,
        plan.key,
        machine=work.plan.pool(plan.pool).machine.name,
        disk=plan.disk,
        walls=walls,
        interfaces=plan.interfaces,
        image=plan.image,
        profile=profile,
        capacity=plan.capacity,
        placement=placement_of(work, plan.key, plan.cluster_placement),
        user_data=user_data(work, plan.key, values),
        tags=labels,
    )
    return group_of_instances(
        work,
        plan.key,
        launch,
        network.among(plan.subnets),
        sizes=(plan.minimum, plan.initial, plan.nodes),
        tags=labels,
    )


def group_of_instances(
    work: Work,
    key: str,
    launch: ec2.LaunchTemplate,
    subnets: Sequence[pulumi.Input[str]],
    *,
    sizes: tuple[int, int, int],
    tags: Mapping[str, str],
    targets: Sequence[pulumi.Input[str]] = (),
    keeps: bool = False,
) -> autoscaling.Group:
    """An Auto Scaling group with least, first and most instances, that ends none of them on its own."""
    least, first, most = sizes
    labels = work.tags(key) | dict(tags)
    return autoscaling.Group(
        work.child(key, "auto-scaling-group"),
        min_size=least,
        desired_capacity=first,
        max_size=most,
        vpc_zone_identifiers=list(subnets),
        launch_template=autoscaling.GroupLaunchTemplateArgs(id=launch.id, version=version_of(launch)),
        target_group_arns=list(targets) or None,
        suspended_processes=_NOT_OURS,
        protect_from_scale_in=True,
        wait_for_capacity_timeout="0",  # capacity may take days; what is missing shows in the scheduler
        force_delete=not keeps,  # protected instances would otherwise hold up a destroy
        enabled_metrics=[autoscaling.Metric.GROUP_DESIRED_CAPACITY, autoscaling.Metric.GROUP_IN_SERVICE_INSTANCES],
        tags=[
            autoscaling.GroupTagArgs(key=name, value=labels[name], propagate_at_launch=True) for name in sorted(labels)
        ],
        opts=work.options(keeps=keeps, ignore_changes=["desiredCapacity"]),
    )
