"""The load balancer of login machines: one address and one name, whichever of them respond."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_aws import ec2, lb

from ....plan.model.cloud import CloudHost
from ..build_context import BuildContext
from .dns import create_record
from .shared import SharedResources

__all__ = ["create_login_balancer"]

_SSH = 22
_NAME = "login"
"""Its private DNS name, without the domain."""


def create_login_balancer(
    context: BuildContext, host: CloudHost, instances: Sequence[ec2.Instance], shared: SharedResources
) -> pulumi.Output[str] | None:
    """Create the load balancer of login machines; returns its DNS name, None if the plan has no balancer.

    It is a member of the cluster's security group, from which the machines accept everything, and of the group that
    ``network.access`` reaches if it is public. Connections of one address stay on one machine, as their host keys
    differ.
    """
    if host.balancer is None:
        return None
    groups, is_public = shared.security_groups, host.balancer == "public"
    outer = [groups.access.id] if groups.access is not None and is_public else []
    balancer = lb.LoadBalancer(
        context.name_child(f"{host.key}-balancer", "load-balancer"),
        internal=not is_public,
        load_balancer_type="network",
        subnets=shared.network.select_subnet_ids(host.balancer_subnets),
        security_groups=[groups.cluster.id, *outer],
        tags=context.build_tags(f"{host.key}-balancer"),
        opts=context.build_options(),
    )
    targets = lb.TargetGroup(
        context.name_child(f"{host.key}-balancer", "target-group"),
        port=_SSH,
        protocol="TCP",
        vpc_id=shared.network.id,
        stickiness=lb.TargetGroupStickinessArgs(type="source_ip", enabled=True),
        tags=context.build_tags(f"{host.key}-balancer"),
        opts=context.build_options(),
    )
    lb.Listener(
        context.name_child(f"{host.key}-balancer"),
        load_balancer_arn=balancer.arn,
        port=_SSH,
        protocol="TCP",
        default_actions=[{"type": "forward", "target_group_arn": targets.arn}],
        tags=context.build_tags(f"{host.key}-balancer"),
        opts=context.build_options(),
    )
    for name, instance in zip(host.list_names(), instances, strict=True):
        lb.TargetGroupAttachment(
            context.name_child(f"{name}-balanced"),
            target_group_arn=targets.arn,
            target_id=instance.id,
            port=_SSH,
            opts=context.build_options(),
        )
    create_record(context, shared.zone, _NAME, balancer.dns_name, "CNAME")
    return balancer.dns_name
