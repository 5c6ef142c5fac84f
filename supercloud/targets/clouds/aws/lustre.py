"""FSx for Lustre, and its link to an object store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_aws import fsx, s3

from ....plan.model.cloud import CloudStorage
from ..build_context import BuildContext
from .encryption import find_key
from .files import FileSystem, create_storage_log_group, create_storage_security_group, require_setting
from .network import Network
from .security import SecurityGroups
from .watch import AlarmRule, Monitoring, create_alarm

__all__ = ["create_lustre"]

_HDD_SUFFIX = "_HDD"
"""Suffix of the names of deployments on hard disks, which have the same type with a different storage type."""
_SYNC_EVENTS = ["NEW", "CHANGED", "DELETED"]
_LOW_SPACE_FRACTION = 0.1
"""Fraction of free capacity below which the alarm is triggered."""


def create_lustre(
    context: BuildContext,
    storage: CloudStorage,
    network: Network,
    security_groups: SecurityGroups,
    buckets: Mapping[str, s3.Bucket],
    monitoring: Monitoring,
) -> FileSystem:
    """Create a Lustre file system and, if linked in the plan, its data repository."""
    capacity = require_setting(storage.capacity, storage, "capacity")
    options = storage.options
    deployment = str(options["deployment"])
    efa = bool(options.get("efa"))
    logs = create_storage_log_group(context, storage.name)
    persistent = deployment.startswith("PERSISTENT")
    system = fsx.LustreFileSystem(
        context.name_child(storage.name),
        deployment_type=deployment.removesuffix(_HDD_SUFFIX),
        storage_capacity=capacity.ceil("GiB"),
        storage_type="HDD" if deployment.endswith(_HDD_SUFFIX) else "SSD",
        drive_cache_type=_get_text_option(options, "drive-cache"),
        per_unit_storage_throughput=storage.per_tib.ceil("MB/s") if storage.per_tib and persistent else None,
        file_system_type_version=_get_text_option(options, "version"),
        data_compression_type=_get_text_option(options, "compression"),
        metadata_configuration=_build_metadata_configuration(options),
        efa_enabled=True if efa else None,
        subnet_ids=network.select_subnet_ids(storage.subnets)[0],
        security_group_ids=[
            create_storage_security_group(context, storage, network, security_groups).id,
            *([security_groups.cluster.id] if efa else []),
        ],
        log_configuration=fsx.LustreFileSystemLogConfigurationArgs(level="WARN_ERROR", destination=logs.arn),
        kms_key_id=find_key(context) if persistent else None,
        copy_tags_to_backups=True if persistent else None,
        tags=context.build_tags(storage.name),
        opts=context.build_options(has_data=True),
    )
    if storage.linked_store:
        _create_data_repository_link(context, storage, system, buckets)
    create_alarm(
        context,
        monitoring,
        f"storage-{storage.name}-free",
        {"FileSystemId": system.id},
        AlarmRule(
            "AWS/FSx:FreeDataStorageCapacity",
            f"{storage.name} is nearly full",
            below=float(capacity.base) * _LOW_SPACE_FRACTION,
            statistic="Sum",
        ),
    )
    source = pulumi.Output.concat(system.dns_name, "@tcp:/", system.mount_name)
    handles = {"handle": system.id, "dnsname": system.dns_name, "mountname": system.mount_name}
    return FileSystem(storage, source, handles)


def _create_data_repository_link(
    context: BuildContext, storage: CloudStorage, system: fsx.LustreFileSystem, buckets: Mapping[str, s3.Bucket]
) -> None:
    assert storage.linked_store is not None
    own = buckets.get(storage.linked_store)
    fsx.DataRepositoryAssociation(
        context.name_child(f"{storage.name}-link"),
        file_system_id=system.id,
        file_system_path="/",
        data_repository_path=pulumi.Output.concat("s3://", own.bucket) if own else storage.linked_store,
        batch_import_meta_data_on_create=True,
        s3=fsx.DataRepositoryAssociationS3Args(
            auto_import_policy=fsx.DataRepositoryAssociationS3AutoImportPolicyArgs(events=_SYNC_EVENTS),
            auto_export_policy=fsx.DataRepositoryAssociationS3AutoExportPolicyArgs(events=_SYNC_EVENTS),
        ),
        tags=context.build_tags(f"{storage.name}-link"),
        opts=context.build_options(),
    )


def _build_metadata_configuration(options: Mapping[str, Any]) -> fsx.LustreFileSystemMetadataConfigurationArgs | None:
    """Build the metadata rate, if specified in the plan: not every deployment type and version supports it."""
    if "metadata" not in options:
        return None
    return fsx.LustreFileSystemMetadataConfigurationArgs(
        mode=str(options["metadata"]), iops=options.get("metadata-iops")
    )


def _get_text_option(options: Mapping[str, Any], name: str) -> str | None:
    return str(options[name]) if name in options else None
