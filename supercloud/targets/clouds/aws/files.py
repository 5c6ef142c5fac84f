"""Common parts of file systems: a security group with their ports, logs, and mount commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import pulumi
from pulumi_aws import cloudwatch, ec2

from ....errors import InputError
from ....plan.model.cloud import CloudStorage, ExistingFileSystem, MountRule
from ..build_context import BuildContext
from .network import Network
from .security import SecurityGroups, allow_traffic, create_security_group
from .watch import create_log_group

__all__ = [
    "FileSystem",
    "create_storage_log_group",
    "find_existing_file_system",
    "require_mount_rule",
    "require_setting",
    "create_storage_security_group",
]

_Q = TypeVar("_Q")


@dataclass(frozen=True)
class FileSystem:
    """A created file system."""

    plan: CloudStorage
    source: pulumi.Output[str]
    """The device argument of ``mount``."""
    handles: Mapping[str, pulumi.Input[str]]
    """Identifiers for a Kubernetes volume: the fields of the volume driver's catalog file."""

    @property
    def mount_command(self) -> pulumi.Output[str]:
        """Return the mount command."""
        where = self.plan.mount or f"/{self.plan.name}"
        rule = require_mount_rule(self.plan)
        return pulumi.Output.concat(f"sudo mount -t {rule.type} -o {rule.options} ", self.source, f" {where}")


def find_existing_file_system(plan: CloudStorage, existing: ExistingFileSystem) -> FileSystem:
    """Return the user's file system: its names follow from its identifier, so that nothing is looked up."""
    if plan.kind == "parallel":
        handles = {"handle": existing.id, "dnsname": existing.server, "mountname": existing.export}
        return FileSystem(plan, pulumi.Output.from_input(f"{existing.server}@tcp:/{existing.export}"), handles)
    source = pulumi.Output.from_input(f"{existing.server}:{existing.export}")
    return FileSystem(plan, source, {"server": existing.server, "path": existing.export})


def require_mount_rule(storage: CloudStorage) -> MountRule:
    """Return how clients mount it; raises :class:`InputError` if the catalog does not specify it."""
    return require_setting(storage.mount_rule, storage, "mount rule in the catalog")


def create_storage_security_group(
    context: BuildContext, storage: CloudStorage, network: Network, security_groups: SecurityGroups
) -> ec2.SecurityGroup:
    """Create a security group that allows machines of the cluster to reach the product's ports.

    Servers of parallel file systems connect to each other, and back to clients, on the same ports.
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
    """Create the log group of FSx, which requires a name prefix."""
    return create_log_group(
        context, f"storage-{name}-logs", prefix=f"/aws/fsx/{context.name_child(name, 'log-group')}-"
    )


def require_setting(value: _Q | None, storage: CloudStorage, setting: str) -> _Q:
    """Return a setting that the product requires; raises :class:`InputError` if the plan has none."""
    if value is None:
        raise InputError(f"storage {storage.name}: {storage.product} needs a {setting}; set it in the spec")
    return value
