"""Placement groups: instances close to each other, if their kind of capacity supports it."""

from __future__ import annotations

import pulumi
from pulumi_aws import ec2

from ....plan.model.cloud import NodeGroup
from ..build_context import BuildContext

__all__ = ["create_nodes_placement_group", "create_placement_group"]


def create_nodes_placement_group(context: BuildContext, nodes: NodeGroup) -> pulumi.Input[str] | None:
    """Return the name of the user's placement group or of a new one; None if the capacity determines the placement."""
    if nodes.placement_group is not None:
        return nodes.placement_group
    if not nodes.has_placement_group:
        return None
    return create_placement_group(context, nodes.key)


def create_placement_group(context: BuildContext, key: str) -> pulumi.Output[str]:
    """Return the name of a new cluster placement group."""
    group = ec2.PlacementGroup(
        context.name_child(f"{key}-placement", "placement-group"),
        strategy="cluster",
        tags=context.build_tags(key),
        opts=context.build_options(),
    )
    return group.name
