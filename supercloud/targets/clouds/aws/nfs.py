"""Home directories: FSx for OpenZFS, or EFS."""

from __future__ import annotations

import pulumi
from pulumi_aws import efs, fsx

from ....plan.model.cloud import CloudStorage
from ..work import Work
from .files import FileSystem, mount_rule, needed, walls_for
from .network import Network
from .security import Walls

__all__ = ["nfs_of"]

_BACKUP_DAYS = 7


def nfs_of(work: Work, plan: CloudStorage, network: Network, walls: Walls) -> FileSystem:
    """The file system of the product that the plan chose."""
    return _elastic(work, plan, network, walls) if plan.product == "efs" else _openzfs(work, plan, network, walls)


def _openzfs(work: Work, plan: CloudStorage, network: Network, walls: Walls) -> FileSystem:
    subnets = network.among(plan.subnets)
    deployment = str(plan.options["deployment"])
    several = deployment.startswith("MULTI_AZ")
    system = fsx.OpenZfsFileSystem(
        work.child(plan.name),
        deployment_type=deployment,
        storage_capacity=needed(plan.capacity, plan, "capacity").ceil("GiB"),
        throughput_capacity=needed(plan.throughput, plan, "throughput").ceil("MB/s"),
        subnet_ids=subnets,
        preferred_subnet_id=subnets[0] if several else None,
        route_table_ids=list(network.routes) if several and network.routes else None,
        security_group_ids=[walls_for(work, plan, network, walls).id],
        root_volume_configuration=fsx.OpenZfsFileSystemRootVolumeConfigurationArgs(
            data_compression_type=str(plan.options.get("compression", "NONE")),
            copy_tags_to_snapshots=True,
            nfs_exports=fsx.OpenZfsFileSystemRootVolumeConfigurationNfsExportsArgs(
                client_configurations=[_everybody()]
            ),
        ),
        automatic_backup_retention_days=_BACKUP_DAYS,
        copy_tags_to_backups=True,
        copy_tags_to_volumes=True,
        tags=work.tags(plan.name),
        opts=work.options(keeps=True),
    )
    return _exported(work, plan, system.dns_name)


def _elastic(work: Work, plan: CloudStorage, network: Network, walls: Walls) -> FileSystem:
    options = plan.options
    wall = walls_for(work, plan, network, walls).id
    zone = work.cloud.network.subnet(plan.subnets[0]).zone if options.get("deployment") == "ONE_ZONE" else None
    system = efs.FileSystem(
        work.child(plan.name),
        availability_zone_name=zone,
        encrypted=True,
        performance_mode=str(options["performance"]) if "performance" in options else None,
        throughput_mode=str(options["throughput"]) if "throughput" in options else None,
        provisioned_throughput_in_mibps=float(options["provisioned-mibps"]) if "provisioned-mibps" in options else None,
        tags=work.tags(plan.name),
        opts=work.options(keeps=True),
    )
    for key in plan.subnets:
        efs.MountTarget(
            work.child(f"{plan.name}-{key}"),
            file_system_id=system.id,
            subnet_id=network.subnets[key],
            security_groups=[wall],
            opts=work.options(),
        )
    return _exported(work, plan, system.dns_name)


def _exported(work: Work, plan: CloudStorage, server: pulumi.Output[str]) -> FileSystem:
    path = mount_rule(plan).path
    source = pulumi.Output.concat(server, f":{path}")
    before = path.rstrip("/") if work.plan.tenants else path  # a volume appends the tenant's folder
    return FileSystem(plan, source, {"server": server, "path": before})


def _everybody() -> fsx.OpenZfsFileSystemRootVolumeConfigurationNfsExportsClientConfigurationArgs:
    """Who may mount it: security groups say who gets near."""
    return fsx.OpenZfsFileSystemRootVolumeConfigurationNfsExportsClientConfigurationArgs(
        clients="*", options=["rw", "crossmnt", "no_root_squash"]
    )
