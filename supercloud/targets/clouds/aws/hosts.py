"""Controllers, login hosts and databases: few machines with fixed names, some with a disk that outlives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_aws import ebs, ec2

from ....plan.model.cloud import CloudHost
from ..boot import render_user_data
from ..build_context import BuildContext
from .dns import create_record
from .encryption import find_key
from .groups import GROUP_TAG
from .launch import VOLUME_TYPE, build_metadata_options, format_image_id
from .shared import SharedResources
from .watch import AlarmRule, create_alarm

__all__ = ["HostInstance", "STATE_DEVICE", "create_hosts"]

STATE_DEVICE = "/dev/sdf"
"""Device name of the state disk."""


@dataclass(frozen=True)
class HostInstance:
    """A created machine."""

    name: str
    """Without the domain."""
    role: str
    is_public: bool
    address: pulumi.Output[str]
    """Public if it has one, else private."""
    instance: ec2.Instance
    user: str = ""
    """Administrator that its image creates, if declared."""


def create_hosts(
    context: BuildContext,
    host: CloudHost,
    shared: SharedResources,
    security_group_ids: Sequence[pulumi.Input[str]],
    profile: pulumi.Input[str],
    values: Mapping[str, pulumi.Input[str]],
) -> list[HostInstance]:
    """Create all machines of a host of the plan, with their private names."""
    script = render_user_data(context, host.key, values)
    template = _InstanceTemplate(host, security_group_ids, profile, *_resolve_image(context, host), script)
    made = []
    for index, name in enumerate(host.list_names()):
        subnet = host.subnets[index % len(host.subnets)]
        place = _build_network_place(template, shared.network.subnets[subnet], shared.interfaces.get(name))
        instance = _create_instance(context, template, name, place)
        if host.state_disk is not None:
            _create_state_volume(context, host, name, context.cloud.network.get_subnet(subnet).zone, instance)
        create_record(context, shared.zone, name, instance.private_ip)
        failed = AlarmRule(
            "AWS/EC2:StatusCheckFailed", f"{host.role} {name} does not answer", above=0, statistic="Maximum"
        )
        create_alarm(context, shared.monitoring, f"{name}-status", {"InstanceId": instance.id}, failed)
        address = _create_public_address(context, name, instance) if host.is_public else instance.private_ip
        user = context.cloud.image_users.get(host.image, "")
        made.append(HostInstance(name, host.role, host.is_public, address, instance, user))
    return made


def _resolve_image(
    context: BuildContext, host: CloudHost
) -> tuple[pulumi.Input[str] | None, ec2.InstanceLaunchTemplateArgs | None]:
    """Return the image, or a launch template that has only the parameter with the newest image."""
    if host.image in context.built_images:
        return context.built_images[host.image], None
    reference = context.cloud.images[host.image]
    if not reference.startswith("/"):
        return reference, None
    launch = ec2.LaunchTemplate(
        context.name_child(f"{host.key}-image", "launch-template"),
        image_id=format_image_id(reference),
        tags=context.build_tags(host.key),
        opts=context.build_options(),
    )
    return None, ec2.InstanceLaunchTemplateArgs(id=launch.id, version="$Latest")


@dataclass(frozen=True)
class _InstanceTemplate:
    """The machines of a host of the plan."""

    host: CloudHost
    security_group_ids: Sequence[pulumi.Input[str]]
    profile: pulumi.Input[str]
    ami: pulumi.Input[str] | None
    launch: ec2.InstanceLaunchTemplateArgs | None
    script: pulumi.Output[str] | None


def _build_network_place(
    template: _InstanceTemplate, subnet: pulumi.Input[str], interface: ec2.NetworkInterface | None
) -> dict[str, Any]:
    """Build the arguments with the network of a machine: its own interface, which has subnet and groups, or these."""
    if interface is None:
        return {"subnet_id": subnet, "vpc_security_group_ids": list(template.security_group_ids)}
    return {"primary_network_interface": ec2.InstancePrimaryNetworkInterfaceArgs(network_interface_id=interface.id)}


def _create_instance(
    context: BuildContext, template: _InstanceTemplate, name: str, place: Mapping[str, Any]
) -> ec2.Instance:
    """Create a machine that a newer image or start script does not replace: replace it explicitly; its state is kept.

    The state disk can be attached to one machine only, so that the old machine is deleted before the new one is
    created.
    """
    host = template.host
    return ec2.Instance(
        context.name_child(name),
        ami=template.ami,
        launch_template=template.launch,
        instance_type=host.machine.name,
        **place,
        iam_instance_profile=template.profile,
        key_name=context.key_pair,
        user_data_base64=template.script,
        metadata_options=ec2.InstanceMetadataOptionsArgs(**build_metadata_options(context)),
        root_block_device=ec2.InstanceRootBlockDeviceArgs(
            volume_size=host.disk.ceil("GiB"),
            volume_type=VOLUME_TYPE,
            encrypted=True,
            kms_key_id=find_key(context),
            tags=context.build_tags(name),
        ),
        monitoring=True,
        maintenance_options=ec2.InstanceMaintenanceOptionsArgs(auto_recovery="default"),
        tags=context.build_tags(name) | {GROUP_TAG: host.key},
        opts=context.build_options(ignore_changes=["launchTemplate", "userDataBase64"], delete_before_replace=True),
    )


def _create_state_volume(
    context: BuildContext, host: CloudHost, name: str, zone: str | None, instance: ec2.Instance
) -> None:
    assert host.state_disk is not None
    disk = ebs.Volume(
        context.name_child(f"{name}-state"),
        availability_zone=zone or instance.availability_zone,
        size=host.state_disk.ceil("GiB"),
        type=VOLUME_TYPE,
        encrypted=True,
        kms_key_id=find_key(context),
        final_snapshot=True,
        tags=context.build_tags(f"{name}-state"),
        opts=context.build_options(has_data=True, ignore_changes=None if zone else ["availabilityZone"]),
    )
    ec2.VolumeAttachment(
        context.name_child(f"{name}-state-attachment"),
        device_name=STATE_DEVICE,
        instance_id=instance.id,
        volume_id=disk.id,
        stop_instance_before_detaching=True,
        opts=context.build_options(delete_before_replace=True, aliases=[context.build_alias(f"{name}-state-attached")]),
    )


def _create_public_address(context: BuildContext, name: str, instance: ec2.Instance) -> pulumi.Output[str]:
    """Create an address that is kept when the machine is replaced."""
    return ec2.Eip(
        context.name_child(f"{name}-address"),
        domain="vpc",
        instance=instance.id,
        tags=context.build_tags(name),
        opts=context.build_options(),
    ).public_ip
