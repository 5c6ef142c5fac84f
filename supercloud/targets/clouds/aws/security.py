"""Security groups: the allowed traffic. Rules are separate resources, so that users can add others."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_aws import ec2, vpc

from ..build_context import BuildContext
from .network import ANY_ADDRESS, Network

__all__ = ["SecurityGroups", "create_security_group", "allow_traffic", "allow_prefix_list", "create_security_groups"]

_ALL_PROTOCOLS = "-1"
"""Every protocol on every port: what EFA's traffic needs within its group, in both directions."""
_SSH = 22
_HTTPS = 443


@dataclass(frozen=True)
class SecurityGroups:
    """The security groups of the cluster's resources."""

    cluster: ec2.SecurityGroup
    """Machines of the cluster: all traffic between them is allowed, including EFA."""
    access: ec2.SecurityGroup | None
    """Machines that users can reach from outside; None if there is no access."""
    endpoints: ec2.SecurityGroup | None
    """Private endpoints of services; None if there are no interface endpoints."""


def create_security_groups(context: BuildContext, network: Network) -> SecurityGroups:
    """Create the cluster's group with traffic among its members, and inbound and outbound rules of the plan."""
    cluster = create_security_group(context, network, "cluster", "Machines of the cluster")
    for rule, direction in ((vpc.SecurityGroupIngressRule, "in"), (vpc.SecurityGroupEgressRule, "out")):
        rule(
            context.name_child(f"cluster-internal-{direction}"),
            security_group_id=cluster.id,
            referenced_security_group_id=cluster.id,
            ip_protocol=_ALL_PROTOCOLS,
            description="Among machines of the cluster, EFA included",
            tags=context.build_tags(),
            opts=context.build_options(aliases=[context.build_alias(f"cluster-among-{direction}")]),
        )
    if not context.cloud.network.is_isolated:
        vpc.SecurityGroupEgressRule(
            context.name_child("cluster-internet-out"),
            security_group_id=cluster.id,
            cidr_ipv4=ANY_ADDRESS,
            ip_protocol=_ALL_PROTOCOLS,
            description="To the internet and to services",
            tags=context.build_tags(),
            opts=context.build_options(),
        )
    elif context.cloud.network.existing_endpoints:
        _allow_existing_endpoints(context, cluster)
    return SecurityGroups(
        cluster, _create_access_group(context, network), _create_endpoint_group(context, network, cluster)
    )


def _allow_existing_endpoints(context: BuildContext, cluster: ec2.SecurityGroup) -> None:
    """Allow connections to the user's endpoints, whose addresses are unknown: an isolated network has no other ways."""
    vpc.SecurityGroupEgressRule(
        context.name_child("cluster-endpoints-out"),
        security_group_id=cluster.id,
        cidr_ipv4=ANY_ADDRESS,
        ip_protocol="tcp",
        from_port=_HTTPS,
        to_port=_HTTPS,
        description="To existing endpoints of services",
        tags=context.build_tags(),
        opts=context.build_options(),
    )


def create_security_group(context: BuildContext, network: Network, key: str, description: str) -> ec2.SecurityGroup:
    """Create a security group without rules."""
    return ec2.SecurityGroup(
        context.name_child(f"{key}-sg", "security-group"),
        vpc_id=network.id,
        description=description,
        tags=context.build_tags(key),
        opts=context.build_options(aliases=[context.build_alias(f"{key}-walls", "security-group")]),
    )


def allow_traffic(
    context: BuildContext,
    key: str,
    source: ec2.SecurityGroup,
    target: ec2.SecurityGroup,
    ports: str,
    protocol: str = "tcp",
    needs_egress: bool = True,
) -> None:
    """Allow connections from members of ``source`` to members of ``target`` on ``ports`` (``988`` or ``1018-1023``).

    ``needs_egress`` is False if ``source`` already allows all outbound traffic.
    """
    first, _, last = ports.partition("-")
    name = f"{key}-{protocol}-{ports}"
    vpc.SecurityGroupIngressRule(
        context.name_child(f"{name}-in"),
        security_group_id=target.id,
        referenced_security_group_id=source.id,
        ip_protocol=protocol,
        from_port=int(first),
        to_port=int(last or first),
        description=key,
        tags=context.build_tags(),
        opts=context.build_options(),
    )
    if needs_egress:
        vpc.SecurityGroupEgressRule(
            context.name_child(f"{name}-out"),
            security_group_id=source.id,
            referenced_security_group_id=target.id,
            ip_protocol=protocol,
            from_port=int(first),
            to_port=int(last or first),
            description=key,
            tags=context.build_tags(),
            opts=context.build_options(),
        )


def _create_access_group(context: BuildContext, network: Network) -> ec2.SecurityGroup | None:
    if not context.cloud.network.access or context.plan.scheduler.kind != "slurm":
        return None
    group = create_security_group(context, network, "access", "Machines that users reach from outside")
    for cidr in context.cloud.network.access:
        vpc.SecurityGroupIngressRule(
            context.name_child(f"access-{cidr.replace('/', '-').replace(':', '.')}-in"),
            security_group_id=group.id,
            **({"cidr_ipv6": cidr} if ":" in cidr else {"cidr_ipv4": cidr}),
            ip_protocol="tcp",
            from_port=_SSH,
            to_port=_SSH,
            description="SSH",
            tags=context.build_tags(),
            opts=context.build_options(),
        )
    return group


def _create_endpoint_group(
    context: BuildContext, network: Network, cluster: ec2.SecurityGroup
) -> ec2.SecurityGroup | None:
    if "interface" not in context.cloud.network.endpoints.values():
        return None
    group = create_security_group(context, network, "endpoints", "Private endpoints of services")
    allow_traffic(context, "endpoints", cluster, group, str(_HTTPS), needs_egress=context.cloud.network.is_isolated)
    return group


def allow_prefix_list(
    context: BuildContext, key: str, group: ec2.SecurityGroup, prefix_list_id: pulumi.Input[str]
) -> None:
    """Allow members of an isolated group to reach a service behind a gateway endpoint."""
    vpc.SecurityGroupEgressRule(
        context.name_child(f"{key}-out"),
        security_group_id=group.id,
        prefix_list_id=prefix_list_id,
        ip_protocol="tcp",
        from_port=_HTTPS,
        to_port=_HTTPS,
        description=f"To {key}",
        tags=context.build_tags(),
        opts=context.build_options(),
    )
