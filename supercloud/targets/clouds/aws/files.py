"""What all file systems have in common: a wall with their ports, logs, and how they are mounted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import pulumi
from pulumi_aws import cloudwatch, ec2

from ....errors import InputError
from ....plan.model.cloud import CloudStorage, MountRule
from ..work import Work
from .network import Network
from .security import Walls, group_of, reach
from .watch import log_group

__all__ = ["FileSystem", "log_of", "mount_rule", "needed", "walls_for"]

_Q = TypeVar("_Q")


@dataclass(frozen=True)
class FileSystem:
    """A file system that exists."""

    plan: CloudStorage
    source: pulumi.Output[str]
    """What ``mount`` takes as its device."""
    handles: Mapping[str, pulumi.Input[str]]
    """What a volume of Kubernetes knows it by: the fields of the volume driver's catalog file."""

    @property
    def command(self) -> pulumi.Output[str]:
        """The mount command."""
        where = self.plan.mount or f"/{self.plan.name}"
        rule = mount_rule(self.plan)
        return pulumi.Output.concat(f"sudo mount -t {rule.type} -o {rule.options} ", self.source, f" {where}")


def mount_rule(plan: CloudStorage) -> MountRule:
    """How clients mount it; raises :class:`InputError` where the catalog does not say."""
    return needed(plan.mounting, plan, "way to be mounted in the catalog")


def walls_for(work: Work, plan: CloudStorage, network: Network, walls: Walls) -> ec2.SecurityGroup:
    """A group that lets machines of the cluster reach the product's ports.

    Servers of parallel file systems talk to each other and call clients back on the same ports.
    """
    key = f"storage-{plan.name}"
    group = group_of(work, network, key, f"File system {plan.name}")
    for port in plan.ports:
        protocol, _, ports = port.partition(":")
        reach(work, key, walls.cluster, group, ports, protocol, outward=work.cloud.network.closed)
        if plan.kind == "parallel":
            reach(work, f"{key}-among", group, group, ports, protocol)
            reach(work, f"{key}-back", group, walls.cluster, ports, protocol)
    return group


def log_of(work: Work, name: str) -> cloudwatch.LogGroup:
    """Where FSx writes: it insists on how the name begins."""
    return log_group(work, f"storage-{name}-logs", prefix=f"/aws/fsx/{work.child(name, 'log-group')}-")


def needed(value: _Q | None, plan: CloudStorage, what: str) -> _Q:
    """A decision that the product cannot do without; raises :class:`InputError` where the plan has none."""
    if value is None:
        raise InputError(f"storage {plan.name}: {plan.product} needs a {what}; set it in the spec")
    return value
