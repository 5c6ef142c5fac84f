"""Managed node groups of EKS: those of pools, and the one for what the cluster itself runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi_aws import ec2, eks

from ....plan.build.kubernetes.labels import pool_labels, taints_of
from ....plan.model.cloud import CloudHost, NodeGroup
from ....plan.model.plan import Plan, PoolPlan
from ....spec.pool import CapacityBlock, Spot
from ..work import Work
from .launch import template, version_of
from .network import Network
from .node_config import ami_type, node_config
from .placement import placement_of

__all__ = ["pool_group", "system_group"]

_AT_ONCE = 10
"""Per cent of a group that an update takes away at once."""
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
"""Effects of taints, as EKS writes them."""


def pool_group(
    work: Work,
    cluster: eks.Cluster,
    plan: NodeGroup,
    network: Network,
    walls: Sequence[pulumi.Input[str]],
    role: pulumi.Input[str],
    after: Sequence[pulumi.Resource],
) -> eks.NodeGroup:
    """Nodes of a pool, labelled and tainted as the rendered bundle expects them."""
    pool = work.plan.pool(plan.pool)
    launch = template(
        work,
        plan.key,
        machine=pool.machine.name,
        disk=plan.disk,
        walls=walls,
        interfaces=plan.interfaces,
        capacity=None if isinstance(plan.capacity, Spot) else plan.capacity,  # the group itself says spot
        placement=placement_of(work, plan.key, plan.cluster_placement),
        **_system(work, cluster, plan.image, local_disks=plan.local is not None),
    )
    return _group(
        work,
        cluster,
        plan.key,
        network.among(plan.subnets),
        role,
        launch,
        plan.image,
        sizes=(plan.minimum, plan.initial, plan.nodes),
        kind=_kind(plan),
        labels=pool_labels(work.plan, pool),
        taints=_taints(work.plan, pool),
        after=after,
    )


def system_group(
    work: Work,
    cluster: eks.Cluster,
    plan: CloudHost,
    network: Network,
    walls: Sequence[pulumi.Input[str]],
    role: pulumi.Input[str],
    after: Sequence[pulumi.Resource],
) -> eks.NodeGroup:
    """Nodes for queues, operators and monitoring."""
    launch = template(
        work,
        plan.key,
        machine=plan.machine.name,
        disk=plan.disk,
        walls=walls,
        **_system(work, cluster, plan.image, local_disks=False),
    )
    subnets, count = network.among(plan.subnets), plan.count
    return _group(
        work, cluster, plan.key, subnets, role, launch, plan.image, sizes=(count, count, count), kind="ON_DEMAND",
        labels={}, taints=[], after=after,
    )  # fmt: skip


def _group(
    work: Work,
    cluster: eks.Cluster,
    key: str,
    subnets: Sequence[pulumi.Input[str]],
    role: pulumi.Input[str],
    launch: ec2.LaunchTemplate,
    image: str,
    *,
    sizes: tuple[int, int, int],
    kind: str,
    labels: Mapping[str, str],
    taints: Sequence[eks.NodeGroupTaintArgs],
    after: Sequence[pulumi.Resource],
) -> eks.NodeGroup:
    least, first, most = sizes
    published = ami_type(work.cloud.images[image])
    return eks.NodeGroup(
        work.child(key, "node-group"),
        cluster_name=cluster.name,
        node_role_arn=role,
        subnet_ids=list(subnets),
        ami_type=published or "CUSTOM",
        version=work.plan.scheduler.version if published else None,
        capacity_type=kind,
        launch_template=eks.NodeGroupLaunchTemplateArgs(id=launch.id, version=version_of(launch)),
        scaling_config=eks.NodeGroupScalingConfigArgs(min_size=least, desired_size=first, max_size=most),
        update_config=eks.NodeGroupUpdateConfigArgs(max_unavailable_percentage=_AT_ONCE),
        node_repair_config=eks.NodeGroupNodeRepairConfigArgs(enabled=True),
        labels=dict(labels),
        taints=list(taints),
        tags=work.tags(key),
        opts=work.options(depends_on=list(after), ignore_changes=["scalingConfig.desiredSize"]),
    )


def _system(work: Work, cluster: eks.Cluster, image: str, local_disks: bool) -> dict[str, Any]:
    """Image and start configuration: EKS knows its own images, others are told which cluster to join."""
    own = ami_type(work.cloud.images[image]) is None
    return {
        "image": image,
        "managed": not own,
        "user_data": node_config(cluster if own else None, local_disks),
    }


def _kind(plan: NodeGroup) -> str:
    if isinstance(plan.capacity, CapacityBlock):
        return "CAPACITY_BLOCK"
    return "SPOT" if isinstance(plan.capacity, Spot) else "ON_DEMAND"


def _taints(plan: Plan, pool: PoolPlan) -> list[eks.NodeGroupTaintArgs]:
    return [
        eks.NodeGroupTaintArgs(key=item["key"], value=item["value"], effect=_EFFECTS[item["effect"]])
        for item in taints_of(plan, pool)
    ]
