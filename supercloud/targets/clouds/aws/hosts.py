"""Controllers, logins and databases: few machines with names of their own, some with a disk that outlives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_aws import ebs, ec2, route53

from ....plan.model.cloud import CloudHost
from ..boot import user_data
from ..work import Work
from .dns import record
from .groups import GROUP_TAG
from .launch import DISK, image_id, metadata
from .network import Network
from .watch import Watch, alarm

__all__ = ["HostOf", "STATE_DEVICE", "host_of"]

STATE_DEVICE = "/dev/sdf"
"""What the disk with the state is attached as."""


@dataclass(frozen=True)
class HostOf:
    """A machine that exists."""

    name: str
    """Without the domain."""
    role: str
    public: bool
    address: pulumi.Output[str]
    """In the internet where it has one, else private."""
    instance: ec2.Instance


def host_of(
    work: Work,
    plan: CloudHost,
    network: Network,
    walls: Sequence[pulumi.Input[str]],
    profile: pulumi.Input[str],
    zone: route53.Zone,
    watch: Watch,
    values: Mapping[str, pulumi.Input[str]],
) -> list[HostOf]:
    """Every machine of a host of the plan, with its private name."""
    script = user_data(work, plan.key, values)
    ami, launch = _image(work, plan)
    made = []
    for index, name in enumerate(_names(plan)):
        subnet = plan.subnets[index % len(plan.subnets)]
        instance = _instance(work, plan, name, network.subnets[subnet], walls, profile, ami, launch, script)
        if plan.state is not None:
            _state(work, plan, name, work.cloud.network.subnet(subnet).zone, instance)
        record(work, zone, name, instance.private_ip)
        alarm(
            work, watch, f"{name}-status", "AWS/EC2:StatusCheckFailed", {"InstanceId": instance.id},
            above=0, statistic="Maximum", text=f"{plan.role} {name} does not answer",
        )  # fmt: skip
        address = _public(work, name, instance) if plan.public else instance.private_ip
        made.append(HostOf(name, plan.role, plan.public, address, instance))
    return made


def _names(plan: CloudHost) -> tuple[str, ...]:
    if len(plan.hosts) == plan.count:
        return plan.hosts
    return tuple(f"{plan.key}-{number}" for number in range(1, plan.count + 1)) if plan.count > 1 else (plan.key,)


def _image(work: Work, plan: CloudHost) -> tuple[str | None, ec2.InstanceLaunchTemplateArgs | None]:
    """The image itself, or a launch template with nothing but the parameter that names the newest one."""
    reference = work.cloud.images[plan.image]
    if not reference.startswith("/"):
        return reference, None
    launch = ec2.LaunchTemplate(
        work.child(f"{plan.key}-image", "launch-template"),
        image_id=image_id(reference),
        tags=work.tags(plan.key),
        opts=work.options(),
    )
    return None, ec2.InstanceLaunchTemplateArgs(id=launch.id, version="$Latest")


def _instance(
    work: Work,
    plan: CloudHost,
    name: str,
    subnet: pulumi.Input[str],
    walls: Sequence[pulumi.Input[str]],
    profile: pulumi.Input[str],
    ami: str | None,
    launch: ec2.InstanceLaunchTemplateArgs | None,
    script: pulumi.Output[str] | None,
) -> ec2.Instance:
    """A machine that a newer image or start script does not replace: that is done on purpose, and its state stays.

    The disk with the state can be at one machine only, so the old machine goes before the new one comes.
    """
    return ec2.Instance(
        work.child(name),
        ami=ami,
        launch_template=launch,
        instance_type=plan.machine.name,
        subnet_id=subnet,
        vpc_security_group_ids=list(walls),
        iam_instance_profile=profile,
        key_name=work.given.ssh_key,
        user_data_base64=script,
        metadata_options=ec2.InstanceMetadataOptionsArgs(**metadata(work)),
        root_block_device=ec2.InstanceRootBlockDeviceArgs(
            volume_size=plan.disk.ceil("GiB"), volume_type=DISK, encrypted=True, tags=work.tags(name)
        ),
        monitoring=True,
        maintenance_options=ec2.InstanceMaintenanceOptionsArgs(auto_recovery="default"),
        tags=work.tags(name) | {GROUP_TAG: plan.key},
        opts=work.options(ignore_changes=["launchTemplate", "userDataBase64"], delete_before_replace=True),
    )


def _state(work: Work, plan: CloudHost, name: str, zone: str | None, instance: ec2.Instance) -> None:
    assert plan.state is not None
    disk = ebs.Volume(
        work.child(f"{name}-state"),
        availability_zone=zone or instance.availability_zone,
        size=plan.state.ceil("GiB"),
        type=DISK,
        encrypted=True,
        final_snapshot=True,
        tags=work.tags(f"{name}-state"),
        opts=work.options(keeps=True, ignore_changes=None if zone else ["availabilityZone"]),
    )
    ec2.VolumeAttachment(
        work.child(f"{name}-state-attached"),
        device_name=STATE_DEVICE,
        instance_id=instance.id,
        volume_id=disk.id,
        stop_instance_before_detaching=True,
        opts=work.options(delete_before_replace=True),
    )


def _public(work: Work, name: str, instance: ec2.Instance) -> pulumi.Output[str]:
    """An address that stays when the machine is replaced."""
    return ec2.Eip(
        work.child(f"{name}-address"), domain="vpc", instance=instance.id, tags=work.tags(name), opts=work.options()
    ).public_ip
