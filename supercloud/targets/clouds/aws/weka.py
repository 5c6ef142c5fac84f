"""WEKA on instances with local NVMe: a fixed-size group of backends behind one private name."""

from __future__ import annotations

from pulumi_aws import autoscaling, lb

from ....plan.model.cloud import CloudHost, CloudStorage
from ..boot import render_user_data, with_dependencies
from ..build_context import BuildContext
from .dns import create_record
from .files import FileSystem, require_mount_rule, require_setting
from .groups import GroupSettings, create_instance_group
from .iam import create_instance_profile, create_role
from .launch import LaunchSettings, create_launch_template
from .network import Network
from .placement import create_placement_group
from .rights import build_storage_server_permissions
from .security import SecurityGroups
from .shared import SharedResources
from .slurm import build_common_values

__all__ = ["STORAGE_TAG", "create_weka"]

STORAGE_TAG = "supercloud:storage"
"""Tag by which backends find each other."""


def create_weka(
    context: BuildContext,
    storage: CloudStorage,
    host: CloudHost,
    shared: SharedResources,
) -> FileSystem:
    """Create the backends. Data is on their local disks, so that Auto Scaling must never replace one."""
    network, security_groups, state = shared.network, shared.security_groups, shared.buckets[context.cloud.state_bucket]
    rights = build_storage_server_permissions(context, storage, state, shared.monitoring)
    role = create_role(context, host.key, "ec2.amazonaws.com", rights)
    values = with_dependencies(
        [*shared.published, *network.dependencies, *role.policies], build_common_values(context, state)
    )
    tags = {STORAGE_TAG: storage.name}
    settings = LaunchSettings(
        machine=host.machine.name,
        disk=host.disk,
        security_group_ids=[security_groups.cluster.id],
        interfaces=host.interfaces,
        image=host.image,
        profile=create_instance_profile(context, host.key, role.name).arn,
        placement=create_placement_group(context, host.key) if _can_use_placement_group(host) else None,
        user_data=render_user_data(context, host.key, values),
        tags=tags,
    )
    launch = create_launch_template(context, host.key, settings)
    rule = require_mount_rule(storage)
    entry, target = _create_load_balancer(
        context, host, require_setting(rule.port, storage, "port"), network, security_groups
    )
    backends: autoscaling.Group = create_instance_group(
        context,
        host.key,
        launch,
        GroupSettings(
            network.select_subnet_ids(host.subnets),
            sizes=(host.count, host.count, host.count),
            tags=tags,
            targets=[target.arn],
            has_data=True,
        ),
    )
    name = host.hosts[0] if host.hosts else host.key
    create_record(context, shared.zone, name, entry.dns_name, "CNAME")
    source = backends.name.apply(lambda _: f"{name}.{context.plan.network.domain}/{rule.path}")
    return FileSystem(storage, source, {})


def _create_load_balancer(
    context: BuildContext, host: CloudHost, port: int, network: Network, security_groups: SecurityGroups
) -> tuple[lb.LoadBalancer, lb.TargetGroup]:
    """Create a private load balancer, through which clients mount, independent of single backends."""
    entry = lb.LoadBalancer(
        context.name_child(host.key, "load-balancer"),
        internal=True,
        load_balancer_type="network",
        subnets=network.select_subnet_ids(host.subnets),
        security_groups=[security_groups.cluster.id],
        tags=context.build_tags(host.key),
        opts=context.build_options(),
    )
    target = lb.TargetGroup(
        context.name_child(host.key, "target-group"),
        port=port,
        protocol="TCP",
        vpc_id=network.id,
        tags=context.build_tags(host.key),
        opts=context.build_options(),
    )
    lb.Listener(
        context.name_child(host.key),
        load_balancer_arn=entry.arn,
        port=port,
        protocol="TCP",
        default_actions=[{"type": "forward", "target_group_arn": target.arn}],
        tags=context.build_tags(host.key),
        opts=context.build_options(),
    )
    return entry, target


def _can_use_placement_group(host: CloudHost) -> bool:
    """Whether a placement group is possible: one zone, and a machine type that supports it."""
    return len(host.subnets) == 1 and host.machine.instance is not None and "cluster" in host.machine.instance.placement
