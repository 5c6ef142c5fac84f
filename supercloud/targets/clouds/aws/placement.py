"""Placement groups: instances near to each other, exactly where the way to get them allows one."""

from __future__ import annotations

import pulumi
from pulumi_aws import ec2

from ..work import BuildContext

__all__ = ["create_placement_group"]


def create_placement_group(context: BuildContext, key: str, is_clustered: bool) -> pulumi.Output[str] | None:
    """Name of a cluster placement group; None where instances are placed by someone else."""
    if not is_clustered:
        return None
    group = ec2.PlacementGroup(
        context.name_child(f"{key}-placement", "placement-group"),
        strategy="cluster",
        tags=context.build_tags(key),
        opts=context.build_options(),
    )
    return group.name
