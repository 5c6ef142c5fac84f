"""Slurm: controllers whose state outlives them, logins, a database, and groups of nodes that join on their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import pulumi
from pulumi_aws import iam, route53, s3, secretsmanager

from ..boot import after
from ..work import Work
from .database import Database, database_of
from .files import FileSystem
from .groups import node_group
from .hosts import STATE_DEVICE, HostOf, host_of
from .iam import RoleOf, profile_of, role_of
from .log_agent import ship_logs
from .network import Network
from .rights import Rights, rights_of
from .secrets import secrets_of
from .security import Walls
from .users import user_role
from .watch import Watch

__all__ = ["SlurmSite", "basics", "slurm_of"]

_WORKED_ON = ("login", "node")
"""Kinds of machines on which users are, and root takes their role for them."""


@dataclass(frozen=True)
class SlurmSite:
    """What exists of Slurm."""

    hosts: tuple[HostOf, ...]
    database: Database | None


def slurm_of(
    work: Work,
    network: Network,
    walls: Walls,
    zone: route53.Zone,
    buckets: Mapping[str, s3.Bucket],
    published: list[pulumi.Resource],
    files: Mapping[str, FileSystem],
    watch: Watch,
) -> SlurmSite:
    """Everything of Slurm. Machines read what is published, so they come after it."""
    secrets = secrets_of(work)
    database = database_of(work, network, walls, zone, watch)
    state = buckets[work.cloud.state_bucket]
    roles = _roles(work, rights_of(work, state, secrets, database, watch))
    users = user_role(work, buckets, {key: roles[key] for key in _WORKED_ON if key in roles})
    values = _values(work, state, secrets, database, files) | {"role_users": users.arn}
    if watch.logs is not None:
        ship_logs(work, watch.logs)
    profiles = _profiles(work, roles)
    ready = [*published, *network.ready, *users.rights, *(right for role in roles.values() for right in role.rights)]

    hosts = []
    for plan in work.cloud.hosts:
        if plan.role in ("controller", "login", "database"):
            own = [walls.access.id] if walls.access and plan.public else []
            machines = host_of(
                work, plan, network, [walls.cluster.id, *own], profiles[plan.role].name, zone, watch,
                after(ready, values | {"host": plan.key}),
            )  # fmt: skip
            hosts += machines
    for group in work.cloud.groups:
        node_group(
            work, group, network, [walls.cluster.id], profiles["node"].arn,
            after(ready, values | {"group": group.key, "pool": group.pool}),
        )  # fmt: skip
    return SlurmSite(tuple(hosts), database)


def _roles(work: Work, rights: Rights) -> dict[str, RoleOf]:
    """A role for each kind of machine; nodes have the user's where there is one."""
    kinds = [kind.name for kind in fields(rights)]
    absent = {"node"} if work.given.node_role is not None else set()
    if not work.cloud.hosts_of("database"):
        absent.add("database")
    return {key: role_of(work, key, "ec2.amazonaws.com", getattr(rights, key)) for key in kinds if key not in absent}


def _profiles(work: Work, roles: Mapping[str, RoleOf]) -> dict[str, iam.InstanceProfile]:
    """What gives machines their role, by kind of machine."""
    names: dict[str, pulumi.Input[str]] = {key: role.name for key, role in roles.items()}
    if work.given.node_role is not None:
        names["node"] = pulumi.Output.from_input(work.given.node_role).apply(lambda arn: arn.rsplit("/", 1)[-1])
    return {key: profile_of(work, key, name) for key, name in names.items()}


def basics(work: Work, state: s3.Bucket) -> dict[str, pulumi.Input[str]]:
    """What every start script may ask for."""
    return {
        "bucket": state.bucket,
        "region": work.cloud.region,
        "cluster": work.identity,
        "domain": work.plan.network.domain,
    }


def _values(
    work: Work,
    state: s3.Bucket,
    secrets: Mapping[str, secretsmanager.Secret],
    database: Database | None,
    files: Mapping[str, FileSystem],
) -> dict[str, pulumi.Input[str]]:
    """What start scripts may ask for: names and addresses, never a secret's value."""
    values = basics(work, state) | {"state_device": STATE_DEVICE}
    values |= {f"secret_{name}": secret.arn for name, secret in secrets.items()}
    values |= {f"source_{name}": system.source for name, system in files.items()}
    if database is not None:
        values |= {"database_host": database.address, "secret_database": database.secret}
    return values
