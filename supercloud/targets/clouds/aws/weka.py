"""WEKA on instances with local NVMe: a group of backends of fixed size behind one private name."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_aws import autoscaling, lb, route53, s3

from ....plan.model.cloud import CloudHost, CloudStorage
from ..boot import after, user_data
from ..work import Work
from .dns import record
from .files import FileSystem, mount_rule, needed
from .groups import group_of_instances
from .iam import profile_of, role_of
from .launch import template
from .network import Network
from .placement import placement_of
from .rights import backend_rights
from .security import Walls
from .slurm import basics
from .watch import Watch

__all__ = ["STORAGE_TAG", "weka_of"]

STORAGE_TAG = "supercloud:storage"
"""By it backends find each other."""


def weka_of(
    work: Work,
    plan: CloudStorage,
    host: CloudHost,
    network: Network,
    walls: Walls,
    zone: route53.Zone,
    state: s3.Bucket,
    published: Sequence[pulumi.Resource],
    watch: Watch,
) -> FileSystem:
    """The backends. Data is on their own disks, so Auto Scaling must never replace one by itself."""
    rights = backend_rights(work, plan, state, watch)
    role = role_of(work, host.key, "ec2.amazonaws.com", rights)
    values = after([*published, *network.ready, *role.rights], basics(work, state))
    tags = {STORAGE_TAG: plan.name}
    launch = template(
        work,
        host.key,
        machine=host.machine.name,
        disk=host.disk,
        walls=[walls.cluster.id],
        interfaces=host.interfaces,
        image=host.image,
        profile=profile_of(work, host.key, role.name).arn,
        placement=placement_of(work, host.key, _near(host)),
        user_data=user_data(work, host.key, values),
        tags=tags,
    )
    rule = mount_rule(plan)
    entry, target = _entry(work, host, needed(rule.port, plan, "port"), network, walls)
    backends: autoscaling.Group = group_of_instances(
        work, host.key, launch, network.among(host.subnets),
        sizes=(host.count, host.count, host.count), tags=tags, targets=[target.arn], keeps=True,
    )  # fmt: skip
    name = host.hosts[0] if host.hosts else host.key
    record(work, zone, name, entry.dns_name, "CNAME")
    source = backends.name.apply(lambda _: f"{name}.{work.plan.network.domain}/{rule.path}")
    return FileSystem(plan, source, {})


def _entry(
    work: Work, host: CloudHost, port: int, network: Network, walls: Walls
) -> tuple[lb.LoadBalancer, lb.TargetGroup]:
    """A private balancer: clients mount through it, whichever backend is there."""
    entry = lb.LoadBalancer(
        work.child(host.key, "load-balancer"),
        internal=True,
        load_balancer_type="network",
        subnets=network.among(host.subnets),
        security_groups=[walls.cluster.id],
        tags=work.tags(host.key),
        opts=work.options(),
    )
    target = lb.TargetGroup(
        work.child(host.key, "target-group"),
        port=port,
        protocol="TCP",
        vpc_id=network.id,
        tags=work.tags(host.key),
        opts=work.options(),
    )
    lb.Listener(
        work.child(host.key),
        load_balancer_arn=entry.arn,
        port=port,
        protocol="TCP",
        default_actions=[{"type": "forward", "target_group_arn": target.arn}],
        tags=work.tags(host.key),
        opts=work.options(),
    )
    return entry, target


def _near(host: CloudHost) -> bool:
    """Whether a placement group takes them: one zone, and a machine of the kind."""
    return len(host.subnets) == 1 and host.machine.instance is not None and "cluster" in host.machine.instance.placement
