"""What all file systems have in common: a wall with their ports, logs, and how they are mounted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import pulumi
from pulumi_aws import cloudwatch, ec2

from ....errors import InputError
from ....plan.model.cloud import CloudStorage, MountRule
from ..work import BuildContext
from .network import Network
from .security import SecurityGroups, allow_traffic, create_security_group
from .watch import create_log_group

__all__ = [
    "FileSystem",
    "create_storage_log_group",
    "require_mount_rule",
    "require_setting",
    "create_storage_security_group",
]

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
    def mount_command(self) -> pulumi.Output[str]:
        """The mount command."""
        where = self.plan.mount or f"/{self.plan.name}"
        rule = require_mount_rule(self.plan)
        return pulumi.Output.concat(f"sudo mount -t {rule.type} -o {rule.options} ", self.source, f" {where}")


def require_mount_rule(storage: CloudStorage) -> MountRule:
    """How clients mount it; raises :class:`InputError` where the catalog does not say."""
    return require_setting(storage.mount_rule, storage, "way to be mounted in the catalog")


def create_storage_security_group(
    context: BuildContext, storage: CloudStorage, network: Network, security_groups: SecurityGroups
) -> ec2.SecurityGroup:
    """A group that lets machines of the cluster reach the product's ports.

    Servers of parallel file systems talk to each other and call clients back on the same ports.
    """
    key = f"storage-{storage.name}"
    group = create_security_group(context, network, key, f"File system {storage.name}")
    for port in storage.ports:
        protocol, _, ports = port.partition(":")
        allow_traffic(
            context,
            key,
            security_groups.cluster,
            group,
            ports,
            protocol,
            needs_egress=context.cloud.network.is_isolated,
        )
        if storage.kind == "parallel":
            allow_traffic(context, f"{key}-among", group, group, ports, protocol)
            allow_traffic(context, f"{key}-back", group, security_groups.cluster, ports, protocol)
    return group


def create_storage_log_group(context: BuildContext, name: str) -> cloudwatch.LogGroup:
    """Where FSx writes: it insists on how the name begins."""
    return create_log_group(
        context, f"storage-{name}-logs", prefix=f"/aws/fsx/{context.name_child(name, 'log-group')}-"
    )


def require_setting(value: _Q | None, storage: CloudStorage, setting: str) -> _Q:
    """A decision that the product cannot do without; raises :class:`InputError` where the plan has none."""
    if value is None:
        raise InputError(f"storage {storage.name}: {storage.product} needs a {setting}; set it in the spec")
    return value
