"""Placement groups: instances close to each other, if their kind of capacity supports it."""

from __future__ import annotations

import pulumi
from pulumi_aws import ec2

from ..build_context import BuildContext

__all__ = ["create_placement_group"]


def create_placement_group(context: BuildContext, key: str, is_clustered: bool) -> pulumi.Output[str] | None:
    """Return the name of a cluster placement group; None if the capacity determines the placement."""
    if not is_clustered:
        return None
    group = ec2.PlacementGroup(
        context.name_child(f"{key}-placement", "placement-group"),
        strategy="cluster",
        tags=context.build_tags(key),
        opts=context.build_options(),
    )
    return group.name
