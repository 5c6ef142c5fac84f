"""What a user needs of a cluster on AWS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pulumi
from pulumi_aws import s3

from ..work import Access, Work
from .eks import KubernetesSite
from .files import FileSystem
from .hosts import HostOf
from .network import Network
from .slurm import SlurmSite

__all__ = ["access_of"]


def access_of(
    work: Work,
    network: Network,
    buckets: Mapping[str, s3.Bucket],
    files: Mapping[str, FileSystem],
    site: SlurmSite | KubernetesSite,
) -> Access:
    """Addresses, buckets, mounts, commands, and the connection for jobs."""
    common = Access(
        buckets={name: bucket.bucket for name, bucket in buckets.items()},
        mounts={name: system.command for name, system in files.items()},
        handles=_handles(work, buckets, files),
        network={"id": network.id, **network.subnets},
    )
    if isinstance(site, KubernetesSite):
        return replace(
            common,
            hosts={"kubernetes": site.endpoint},
            commands={"kubeconfig": _kubeconfig(work, site)},
            connection={"engine": "kubernetes", "context": work.plan.name},
        )
    addresses: dict[str, pulumi.Input[str]] = {host.name: host.address for host in site.hosts}
    if site.database is not None:
        addresses[site.database.host] = site.database.address
    entry = _entry(site)
    if entry is None:
        return replace(common, hosts=addresses, connection={"engine": "slurm"})
    return replace(
        common,
        hosts=addresses,
        commands={"login": _login(work, entry)},
        connection={"engine": "slurm", "via": pulumi.Output.concat("ssh:", entry.address)},
    )


def _handles(
    work: Work, buckets: Mapping[str, s3.Bucket], files: Mapping[str, FileSystem]
) -> dict[str, pulumi.Input[str]]:
    found: dict[str, pulumi.Input[str]] = {
        f"{name}.bucketName": bucket.bucket for name, bucket in buckets.items() if name != work.cloud.state_bucket
    }
    for name, system in files.items():
        found |= {f"{name}.{key}": value for key, value in system.handles.items()}
    return found


def _entry(site: SlurmSite) -> HostOf | None:
    """Where users come in: a login, else a controller."""
    return next((host for role in ("login", "controller") for host in site.hosts if host.role == role), None)


def _login(work: Work, entry: HostOf) -> pulumi.Output[str]:
    """SSH where the machine has an address in the internet, else a shell through Systems Manager."""
    if entry.public:
        return pulumi.Output.concat("ssh ", entry.address)
    return pulumi.Output.concat(f"aws ssm start-session --region {work.cloud.region} --target ", entry.instance.id)


def _kubeconfig(work: Work, site: KubernetesSite) -> pulumi.Output[str]:
    command = f"aws eks update-kubeconfig --region {work.cloud.region} --alias {work.plan.name} --name "
    return pulumi.Output.concat(command, site.name)
