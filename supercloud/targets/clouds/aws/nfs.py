"""Home directories: FSx for OpenZFS, or EFS."""

from __future__ import annotations

import pulumi
from pulumi_aws import efs, fsx

from ....plan.model.cloud import CloudStorage
from ..build_context import BuildContext
from .encryption import find_key
from .files import FileSystem, create_storage_security_group, require_mount_rule, require_setting
from .shared import SharedResources

__all__ = ["create_nfs"]

_BACKUP_DAYS = 7
_CLIENT_OPTIONS = ("rw", "crossmnt")
# docs.aws.amazon.com/fsx/latest/APIReference/API_OpenZFSClientConfiguration.html: options of exports(5)
_Client = fsx.OpenZfsFileSystemRootVolumeConfigurationNfsExportsClientConfigurationArgs


def create_nfs(context: BuildContext, storage: CloudStorage, shared: SharedResources) -> FileSystem:
    """Create the file system with the product selected in the plan."""
    create = _create_efs if storage.product == "efs" else _create_openzfs
    return create(context, storage, shared)


def _create_openzfs(context: BuildContext, storage: CloudStorage, shared: SharedResources) -> FileSystem:
    network = shared.network
    subnets = network.select_subnet_ids(storage.subnets)
    deployment = str(storage.options["deployment"])
    several = deployment.startswith("MULTI_AZ")
    system = fsx.OpenZfsFileSystem(
        context.name_child(storage.name),
        deployment_type=deployment,
        storage_capacity=require_setting(storage.capacity, storage, "capacity").ceil("GiB"),
        throughput_capacity=require_setting(storage.throughput, storage, "throughput").ceil("MB/s"),
        subnet_ids=subnets,
        preferred_subnet_id=subnets[0] if several else None,
        route_table_ids=list(network.route_table_ids) if several and network.route_table_ids else None,
        security_group_ids=[create_storage_security_group(context, storage, network, shared.security_groups).id],
        root_volume_configuration=fsx.OpenZfsFileSystemRootVolumeConfigurationArgs(
            data_compression_type=str(storage.options.get("compression", "NONE")),
            copy_tags_to_snapshots=True,
            nfs_exports=fsx.OpenZfsFileSystemRootVolumeConfigurationNfsExportsArgs(
                client_configurations=_build_clients(context, shared)
            ),
        ),
        kms_key_id=find_key(context),
        automatic_backup_retention_days=_BACKUP_DAYS,
        copy_tags_to_backups=True,
        copy_tags_to_volumes=True,
        tags=context.build_tags(storage.name),
        opts=context.build_options(has_data=True),
    )
    return _build_nfs_file_system(context, storage, system.dns_name)


def _create_efs(context: BuildContext, storage: CloudStorage, shared: SharedResources) -> FileSystem:
    options, network = storage.options, shared.network
    security_group_id = create_storage_security_group(context, storage, network, shared.security_groups).id
    zone = (
        context.cloud.network.get_subnet(storage.subnets[0]).zone if options.get("deployment") == "ONE_ZONE" else None
    )
    system = efs.FileSystem(
        context.name_child(storage.name),
        availability_zone_name=zone,
        encrypted=True,
        kms_key_id=find_key(context),
        performance_mode=str(options["performance"]) if "performance" in options else None,
        throughput_mode=str(options["throughput"]) if "throughput" in options else None,
        provisioned_throughput_in_mibps=float(options["provisioned-mibps"]) if "provisioned-mibps" in options else None,
        tags=context.build_tags(storage.name),
        opts=context.build_options(has_data=True),
    )
    for key in storage.subnets:
        efs.MountTarget(
            context.name_child(f"{storage.name}-{key}"),
            file_system_id=system.id,
            subnet_id=network.subnets[key],
            security_groups=[security_group_id],
            opts=context.build_options(),
        )
    return _build_nfs_file_system(context, storage, system.dns_name)


def _build_nfs_file_system(context: BuildContext, storage: CloudStorage, server: pulumi.Output[str]) -> FileSystem:
    path = require_mount_rule(storage).path
    source = pulumi.Output.concat(server, f":{path}")
    before = path.rstrip("/") if context.plan.tenants else path  # the volume appends the tenant's directory
    return FileSystem(storage, source, {"server": server, "path": before})


def _build_clients(context: BuildContext, shared: SharedResources) -> list[_Client]:
    """Build the list of clients: security groups restrict who mounts it, this list who is root there.

    Under Slurm only controllers are, which make homes; of several matching entries exports(5) prefers a single address
    to ``*``. Pods run as root in directories that an administrator makes on any node; nodes have no fixed addresses.
    """
    if context.plan.scheduler.kind == "kubernetes":
        return [_Client(clients="*", options=[*_CLIENT_OPTIONS, "no_root_squash"])]
    return [
        *(
            _Client(clients=interface.private_ip, options=[*_CLIENT_OPTIONS, "no_root_squash"])
            for _, interface in sorted(shared.interfaces.items())
        ),
        _Client(clients="*", options=[*_CLIENT_OPTIONS, "root_squash"]),
    ]
