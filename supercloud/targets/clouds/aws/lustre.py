"""FSx for Lustre, and its link to an object store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_aws import fsx, s3

from ....plan.model.cloud import CloudStorage
from ..work import Work
from .files import FileSystem, log_of, needed, walls_for
from .network import Network
from .security import Walls
from .watch import Watch, alarm

__all__ = ["lustre_of"]

_HDD = "_HDD"
"""Ends the name of deployments on hard disks, which are the same type on other storage."""
_EVENTS = ["NEW", "CHANGED", "DELETED"]
_LOW = 0.1
"""Free part of the capacity at which the alarm goes off."""


def lustre_of(
    work: Work, plan: CloudStorage, network: Network, walls: Walls, buckets: Mapping[str, s3.Bucket], watch: Watch
) -> FileSystem:
    """A Lustre file system and, where the plan links it, its data repository."""
    capacity = needed(plan.capacity, plan, "capacity")
    options = plan.options
    deployment = str(options["deployment"])
    efa = bool(options.get("efa"))
    logs = log_of(work, plan.name)
    persistent = deployment.startswith("PERSISTENT")
    system = fsx.LustreFileSystem(
        work.child(plan.name),
        deployment_type=deployment.removesuffix(_HDD),
        storage_capacity=capacity.ceil("GiB"),
        storage_type="HDD" if deployment.endswith(_HDD) else "SSD",
        drive_cache_type=_text(options, "drive-cache"),
        per_unit_storage_throughput=plan.per_tib.ceil("MB/s") if plan.per_tib and persistent else None,
        file_system_type_version=_text(options, "version"),
        data_compression_type=_text(options, "compression"),
        metadata_configuration=_metadata(options),
        efa_enabled=True if efa else None,
        subnet_ids=network.among(plan.subnets)[0],
        security_group_ids=[walls_for(work, plan, network, walls).id, *([walls.cluster.id] if efa else [])],
        log_configuration=fsx.LustreFileSystemLogConfigurationArgs(level="WARN_ERROR", destination=logs.arn),
        copy_tags_to_backups=True if persistent else None,
        tags=work.tags(plan.name),
        opts=work.options(keeps=True),
    )
    if plan.linked:
        _link(work, plan, system, buckets)
    alarm(
        work, watch, f"storage-{plan.name}-free", "AWS/FSx:FreeDataStorageCapacity", {"FileSystemId": system.id},
        below=float(capacity.base) * _LOW, statistic="Sum", text=f"{plan.name} is nearly full",
    )  # fmt: skip
    source = pulumi.Output.concat(system.dns_name, "@tcp:/", system.mount_name)
    handles = {"handle": system.id, "dnsname": system.dns_name, "mountname": system.mount_name}
    return FileSystem(plan, source, handles)


def _link(work: Work, plan: CloudStorage, system: fsx.LustreFileSystem, buckets: Mapping[str, s3.Bucket]) -> None:
    assert plan.linked is not None
    own = buckets.get(plan.linked)
    fsx.DataRepositoryAssociation(
        work.child(f"{plan.name}-link"),
        file_system_id=system.id,
        file_system_path="/",
        data_repository_path=pulumi.Output.concat("s3://", own.bucket) if own else plan.linked,
        batch_import_meta_data_on_create=True,
        s3=fsx.DataRepositoryAssociationS3Args(
            auto_import_policy=fsx.DataRepositoryAssociationS3AutoImportPolicyArgs(events=_EVENTS),
            auto_export_policy=fsx.DataRepositoryAssociationS3AutoExportPolicyArgs(events=_EVENTS),
        ),
        tags=work.tags(f"{plan.name}-link"),
        opts=work.options(),
    )


def _metadata(options: Mapping[str, Any]) -> fsx.LustreFileSystemMetadataConfigurationArgs | None:
    """The rate of metadata, where the plan says one: not every deployment and version has it."""
    if "metadata" not in options:
        return None
    return fsx.LustreFileSystemMetadataConfigurationArgs(
        mode=str(options["metadata"]), iops=options.get("metadata-iops")
    )


def _text(options: Mapping[str, Any], name: str) -> str | None:
    return str(options[name]) if name in options else None
