"""The resources of a cluster that most of its other resources use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
from pulumi_aws import ec2, s3

from .network import Network
from .security import SecurityGroups
from .watch import Monitoring

__all__ = ["SharedResources"]


@dataclass(frozen=True)
class SharedResources:
    """Created once per cluster, before machines and file systems."""

    network: Network
    security_groups: SecurityGroups
    zone: pulumi.Input[str]
    """Identifier of the zone of the private domain."""
    buckets: Mapping[str, s3.Bucket]
    published: Sequence[pulumi.Resource]
    """The bundles in the state bucket, which machines read when they start."""
    monitoring: Monitoring
    interfaces: Mapping[str, ec2.NetworkInterface] = field(default_factory=dict)
    """Host -> interface that exists before the machine; hosts without one get an address with the machine."""
