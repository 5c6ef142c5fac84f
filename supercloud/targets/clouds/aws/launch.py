"""Launch templates: the instances of a group, with every network card of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_aws import ec2

from ....plan.model.cloud import Interface
from ....primitives.quantity import Size
from ....spec.pool import Capacity, CapacityBlock, Reservation, ReservationGroup, Spot
from ..build_context import BuildContext
from .encryption import find_key

__all__ = [
    "LaunchSettings",
    "VOLUME_TYPE",
    "find_image",
    "format_image_id",
    "build_metadata_options",
    "create_launch_template",
    "get_latest_version",
]

VOLUME_TYPE = "gp3"
"""Volume type of all disks."""


@dataclass(frozen=True, kw_only=True)
class LaunchSettings:
    """The instances of a launch template."""

    machine: str
    """Instance type."""
    disk: Size
    """Root disk."""
    security_group_ids: Sequence[pulumi.Input[str]]
    interfaces: Sequence[Interface] = ()
    image: str
    """A key of the plan's images."""
    managed: bool = False
    """Whether a managed service sets the image."""
    profile: pulumi.Input[str] | None = None
    """Instance profile."""
    capacity: Capacity | None = None
    placement: pulumi.Input[str] | None = None
    """Placement group."""
    cores: int | None = None
    """Cores of an instance that shows one hardware thread of each; None: all threads are used."""
    user_data: pulumi.Input[str] | None = None
    tags: Mapping[str, str] | None = None


def create_launch_template(context: BuildContext, key: str, settings: LaunchSettings) -> ec2.LaunchTemplate:
    """Create a launch template."""
    interfaces, image, capacity = settings.interfaces, settings.image, settings.capacity
    profile, placement = settings.profile, settings.placement
    security_group_ids = settings.security_group_ids
    labels = {**context.build_tags(key), **(settings.tags or {})}
    several = _needs_interface_list(interfaces)
    return ec2.LaunchTemplate(
        context.name_child(f"{key}-launch", "launch-template"),
        instance_type=settings.machine,
        image_id=None if settings.managed else find_image(context, image),
        iam_instance_profile=ec2.LaunchTemplateIamInstanceProfileArgs(arn=profile) if profile is not None else None,
        key_name=context.key_pair,
        user_data=settings.user_data,
        block_device_mappings=[_build_root_volume(context, image, settings.disk)],
        metadata_options=ec2.LaunchTemplateMetadataOptionsArgs(**build_metadata_options(context)),
        network_interfaces=[_build_interface(item, security_group_ids) for item in interfaces] if several else None,
        vpc_security_group_ids=None if several else list(security_group_ids),
        instance_market_options=_build_market_options(capacity),
        capacity_reservation_specification=_build_reservation_target(capacity),
        placement=ec2.LaunchTemplatePlacementArgs(group_name=placement) if placement is not None else None,
        cpu_options=ec2.LaunchTemplateCpuOptionsArgs(core_count=settings.cores, threads_per_core=1)
        if settings.cores
        else None,
        monitoring=ec2.LaunchTemplateMonitoringArgs(enabled=True),
        tag_specifications=[
            ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=labels)
            for kind in ("instance", "volume", "network-interface")
        ],
        tags=labels,
        update_default_version=True,
        opts=context.build_options(),
    )


def get_latest_version(launch: ec2.LaunchTemplate) -> pulumi.Output[str]:
    """Return the latest version, so that groups detect a change."""
    return launch.latest_version.apply(lambda number: str(int(number)))


def find_image(context: BuildContext, key: str) -> pulumi.Input[str]:
    """Return the identifier of the built image, else the plan's reference as EC2 resolves it."""
    if key in context.built_images:
        return context.built_images[key]
    return format_image_id(context.cloud.images[key])


def format_image_id(reference: str) -> str:
    """Format an image identifier, or the public parameter with the newest image (resolved when machines start)."""
    return f"resolve:ssm:{reference}" if reference.startswith("/") else reference


def build_metadata_options(context: BuildContext) -> dict[str, Any]:
    """Build the metadata options: session tokens only (IMDSv2)."""
    return {
        "http_endpoint": "enabled",
        "http_tokens": "required",
        "http_put_response_hop_limit": int(context.cloud.options["metadata_hops"]),
        "instance_metadata_tags": "enabled" if _can_expose_tags(context) else "disabled",
    }


def _can_expose_tags(context: BuildContext) -> bool:
    """Whether instances may read their tags: they would not start with keys that are not valid paths, or those of
    EKS.
    """
    rule = context.cloud.name_rules["metadata-tag-key"]
    return context.plan.scheduler.kind == "slurm" and not any(rule.find_problem(key) for key in context.cloud.tags)


def _build_root_volume(context: BuildContext, image: str, size: Size) -> ec2.LaunchTemplateBlockDeviceMappingArgs:
    """Build an encrypted gp3 root volume."""
    disk = ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
        volume_size=size.ceil("GiB"),
        volume_type=VOLUME_TYPE,
        encrypted="true",
        kms_key_id=find_key(context),
        delete_on_termination="true",
    )
    return ec2.LaunchTemplateBlockDeviceMappingArgs(device_name=context.cloud.root_devices[image], ebs=disk)


def _needs_interface_list(interfaces: Sequence[Interface]) -> bool:
    """Whether interfaces must be listed: an instance has one plain interface by default."""
    return any(item.card or item.device or item.kind != "interface" for item in interfaces)


def _build_interface(
    interface: Interface, security_group_ids: Sequence[pulumi.Input[str]]
) -> ec2.LaunchTemplateNetworkInterfaceArgs:
    return ec2.LaunchTemplateNetworkInterfaceArgs(
        network_card_index=interface.card,
        device_index=interface.device,
        interface_type=interface.kind,
        security_groups=list(security_group_ids),
        delete_on_termination="true",
        associate_public_ip_address="false" if interface.has_address else None,
    )


def _build_market_options(capacity: Capacity | None) -> ec2.LaunchTemplateInstanceMarketOptionsArgs | None:
    """Build the market options of the instances; None for on-demand."""
    if isinstance(capacity, CapacityBlock):
        return ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")
    if isinstance(capacity, Spot):
        most = f"{capacity.max_price.to('USD/h'):.4f}" if capacity.max_price else None
        limits = ec2.LaunchTemplateInstanceMarketOptionsSpotOptionsArgs(max_price=most) if most else None
        return ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="spot", spot_options=limits)
    return None


def _build_reservation_target(
    capacity: Capacity | None,
) -> ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    """Build the capacity reservation of the instances."""
    target = ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs
    if isinstance(capacity, (Reservation, CapacityBlock)):
        found = target(capacity_reservation_id=capacity.id)
    elif isinstance(capacity, ReservationGroup):
        found = target(capacity_reservation_resource_group_arn=capacity.id)
    else:
        return None
    return ec2.LaunchTemplateCapacityReservationSpecificationArgs(capacity_reservation_target=found)
