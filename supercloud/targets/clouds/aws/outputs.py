"""Outputs of a cluster on AWS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pulumi
from pulumi_aws import s3

from ..build_context import BuildContext, ClusterOutputs
from .eks import EksCluster
from .files import FileSystem
from .hosts import HostInstance
from .network import Network
from .slurm import SlurmCluster

__all__ = ["build_outputs"]


def build_outputs(
    context: BuildContext,
    network: Network,
    security_group_id: pulumi.Input[str],
    buckets: Mapping[str, s3.Bucket],
    files: Mapping[str, FileSystem],
    cluster: SlurmCluster | EksCluster,
) -> ClusterOutputs:
    """Build addresses, buckets, mounts, commands, and the connection for jobs."""
    common = ClusterOutputs(
        buckets={name: bucket.bucket for name, bucket in buckets.items()},
        mounts={name: system.mount_command for name, system in files.items()},
        handles=_build_handles(context, buckets, files),
        network={"id": network.id, "security-group": security_group_id, **network.subnets},
    )
    if isinstance(cluster, EksCluster):
        return replace(
            common,
            hosts={"kubernetes": cluster.endpoint},
            commands={"kubeconfig": _format_kubeconfig_command(context, cluster)},
            connection={"engine": "kubernetes", "context": context.plan.name},
        )
    addresses: dict[str, pulumi.Input[str]] = {host.name: host.address for host in cluster.hosts}
    if cluster.database is not None:
        addresses[cluster.database.host] = cluster.database.address
    entry = _find_entry_host(cluster)
    if entry is None:
        return replace(common, hosts=addresses, connection={"engine": "slurm"})
    return replace(
        common,
        hosts=addresses,
        commands={"login": _format_login_command(context, entry)},
        connection={"engine": "slurm", "via": pulumi.Output.concat("ssh:", entry.address)},
    )


def _build_handles(
    context: BuildContext, buckets: Mapping[str, s3.Bucket], files: Mapping[str, FileSystem]
) -> dict[str, pulumi.Input[str]]:
    found: dict[str, pulumi.Input[str]] = {
        f"{name}.bucketName": bucket.bucket for name, bucket in buckets.items() if name != context.cloud.state_bucket
    }
    for name, system in files.items():
        found |= {f"{name}.{key}": value for key, value in system.handles.items()}
    return found


def _find_entry_host(cluster: SlurmCluster) -> HostInstance | None:
    """Return the host where users log in: a login host, else a controller; with the address of a load balancer."""
    found = next((host for role in ("login", "controller") for host in cluster.hosts if host.role == role), None)
    if found is None or cluster.login_address is None:
        return found
    return replace(found, address=cluster.login_address, is_public=cluster.has_public_balancer)


def _format_login_command(context: BuildContext, entry: HostInstance) -> pulumi.Output[str]:
    """Return an SSH command if the machine has a reachable public address and someone has a key, else a Systems Manager
    session, which needs neither.
    """
    is_reachable = entry.is_public and bool(context.cloud.network.access)
    people = [user.name for user in context.plan.users if user.keys]
    if is_reachable and people:
        return pulumi.Output.concat(f"ssh {people[0] if len(people) == 1 else 'USER'}@", entry.address)
    if is_reachable and context.key_pair is not None:
        return pulumi.Output.concat("ssh ", f"{entry.user}@" if entry.user else "", entry.address)
    return pulumi.Output.concat(f"aws ssm start-session --region {context.cloud.region} --target ", entry.instance.id)


def _format_kubeconfig_command(context: BuildContext, cluster: EksCluster) -> pulumi.Output[str]:
    command = f"aws eks update-kubeconfig --region {context.cloud.region} --alias {context.plan.name} --name "
    return pulumi.Output.concat(command, cluster.name)
