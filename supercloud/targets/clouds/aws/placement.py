"""Placement groups: instances near to each other, exactly where the way to get them allows one."""

from __future__ import annotations

import pulumi
from pulumi_aws import ec2

from ..work import Work

__all__ = ["placement_of"]


def placement_of(work: Work, key: str, near: bool) -> pulumi.Output[str] | None:
    """Name of a cluster placement group; None where instances are placed by someone else."""
    if not near:
        return None
    group = ec2.PlacementGroup(
        work.child(f"{key}-placement", "placement-group"),
        strategy="cluster",
        tags=work.tags(key),
        opts=work.options(),
    )
    return group.name
