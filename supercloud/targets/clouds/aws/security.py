"""Security groups: who may talk to whom. Rules are resources of their own, so that others can add theirs."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_aws import ec2, vpc

from ..work import Work
from .network import EVERYWHERE, Network

__all__ = ["Walls", "group_of", "reach", "to_prefixes", "walls_of"]

_ALL = "-1"
"""Every protocol on every port: what EFA's traffic needs within its group, in both directions."""
_SSH = 22
_HTTPS = 443


@dataclass(frozen=True)
class Walls:
    """The groups that everything else is put into."""

    cluster: ec2.SecurityGroup
    """Machines of the cluster: they may talk to each other, over EFA too."""
    access: ec2.SecurityGroup | None
    """Machines that users reach from outside; None where nobody may."""
    endpoints: ec2.SecurityGroup | None
    """Private endpoints of services; None where there are none with an interface."""


def walls_of(work: Work, network: Network) -> Walls:
    """The cluster's group with traffic among its members, and ways in and out as the plan says."""
    cluster = group_of(work, network, "cluster", "Machines of the cluster")
    for rule, direction in ((vpc.SecurityGroupIngressRule, "in"), (vpc.SecurityGroupEgressRule, "out")):
        rule(
            work.child(f"cluster-among-{direction}"),
            security_group_id=cluster.id,
            referenced_security_group_id=cluster.id,
            ip_protocol=_ALL,
            description="Among machines of the cluster, EFA included",
            tags=work.tags(),
            opts=work.options(),
        )
    if not work.cloud.network.closed:
        vpc.SecurityGroupEgressRule(
            work.child("cluster-internet-out"),
            security_group_id=cluster.id,
            cidr_ipv4=EVERYWHERE,
            ip_protocol=_ALL,
            description="To the internet and to services",
            tags=work.tags(),
            opts=work.options(),
        )
    return Walls(cluster, _access(work, network), _endpoints(work, network, cluster))


def group_of(work: Work, network: Network, key: str, description: str) -> ec2.SecurityGroup:
    """A group without any rule."""
    return ec2.SecurityGroup(
        work.child(f"{key}-walls", "security-group"),
        vpc_id=network.id,
        description=description,
        tags=work.tags(key),
        opts=work.options(),
    )


def reach(
    work: Work,
    key: str,
    source: ec2.SecurityGroup,
    target: ec2.SecurityGroup,
    ports: str,
    protocol: str = "tcp",
    outward: bool = True,
) -> None:
    """Let members of ``source`` open connections to members of ``target`` on ``ports`` (``988`` or ``1018-1023``).

    ``outward`` is False where ``source`` may talk to anything anyway.
    """
    first, _, last = ports.partition("-")
    name = f"{key}-{protocol}-{ports}"
    vpc.SecurityGroupIngressRule(
        work.child(f"{name}-in"),
        security_group_id=target.id,
        referenced_security_group_id=source.id,
        ip_protocol=protocol,
        from_port=int(first),
        to_port=int(last or first),
        description=key,
        tags=work.tags(),
        opts=work.options(),
    )
    if outward:
        vpc.SecurityGroupEgressRule(
            work.child(f"{name}-out"),
            security_group_id=source.id,
            referenced_security_group_id=target.id,
            ip_protocol=protocol,
            from_port=int(first),
            to_port=int(last or first),
            description=key,
            tags=work.tags(),
            opts=work.options(),
        )


def _access(work: Work, network: Network) -> ec2.SecurityGroup | None:
    if not work.cloud.network.access or work.plan.scheduler.kind != "slurm":
        return None
    group = group_of(work, network, "access", "Machines that users reach from outside")
    for cidr in work.cloud.network.access:
        vpc.SecurityGroupIngressRule(
            work.child(f"access-{cidr.replace('/', '-').replace(':', '.')}-in"),
            security_group_id=group.id,
            **({"cidr_ipv6": cidr} if ":" in cidr else {"cidr_ipv4": cidr}),
            ip_protocol="tcp",
            from_port=_SSH,
            to_port=_SSH,
            description="SSH",
            tags=work.tags(),
            opts=work.options(),
        )
    return group


def _endpoints(work: Work, network: Network, cluster: ec2.SecurityGroup) -> ec2.SecurityGroup | None:
    if "interface" not in work.cloud.network.endpoints.values():
        return None
    group = group_of(work, network, "endpoints", "Private endpoints of services")
    reach(work, "endpoints", cluster, group, str(_HTTPS), outward=work.cloud.network.closed)
    return group


def to_prefixes(work: Work, key: str, group: ec2.SecurityGroup, prefixes: pulumi.Input[str]) -> None:
    """Let members of a closed group reach a service behind a gateway endpoint."""
    vpc.SecurityGroupEgressRule(
        work.child(f"{key}-out"),
        security_group_id=group.id,
        prefix_list_id=prefixes,
        ip_protocol="tcp",
        from_port=_HTTPS,
        to_port=_HTTPS,
        description=f"To {key}",
        tags=work.tags(),
        opts=work.options(),
    )
