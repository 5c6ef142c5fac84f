"""Interfaces of machines whose address other resources need before the machine exists."""

from __future__ import annotations

from pulumi_aws import ec2

from ..build_context import BuildContext
from .network import Network
from .security import SecurityGroups

__all__ = ["FIXED_ROLE", "create_fixed_interfaces"]

FIXED_ROLE = "controller"
"""Role of the machines that write as root to file systems that squash root: they make homes."""


def create_fixed_interfaces(
    context: BuildContext, network: Network, security_groups: SecurityGroups
) -> dict[str, ec2.NetworkInterface]:
    """Create the interfaces of controllers by host name, if a file system lists their addresses; else none.

    File systems are created before controllers, whose start script names them: an address that is assigned with the
    controller would be known too late. The address stays when the controller is replaced.
    """
    if context.plan.scheduler.kind != "slurm" or not any(
        item.product == "fsx-openzfs" for item in context.cloud.storage
    ):
        return {}
    found = {}
    for host in context.cloud.list_hosts(FIXED_ROLE):
        for index, name in enumerate(host.list_names()):
            groups = [security_groups.cluster.id]
            if host.is_public and security_groups.access:
                groups.append(security_groups.access.id)
            found[name] = ec2.NetworkInterface(
                context.name_child(f"{name}-interface"),
                subnet_id=network.subnets[host.subnets[index % len(host.subnets)]],
                security_groups=groups,
                description=f"Address of {name}, with root access to file systems",
                tags=context.build_tags(name),
                opts=context.build_options(),
            )
    return found
