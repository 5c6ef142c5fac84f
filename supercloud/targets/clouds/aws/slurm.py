"""Slurm: controllers with persistent state, login hosts, a database, and groups of dynamic nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import pulumi
from pulumi_aws import iam, s3, secretsmanager

from ..boot import with_dependencies
from ..build_context import BuildContext
from .database import AccountingDatabase, create_database
from .files import FileSystem
from .groups import create_node_group
from .hosts import STATE_DEVICE, HostInstance, create_hosts
from .iam import IamRole, create_instance_profile, create_role, list_extra_policies
from .log_agent import ship_logs
from .logins import create_login_balancer
from .rights import RolePermissions, build_role_permissions
from .secrets import create_secrets
from .shared import SharedResources
from .users import create_user_role

__all__ = ["SlurmCluster", "build_common_values", "create_slurm_cluster"]

_USER_MACHINE_KINDS = ("login", "node")
"""Kinds of machines on which users work, and where root assumes the users' role for them."""


@dataclass(frozen=True)
class SlurmCluster:
    """The created Slurm resources."""

    hosts: tuple[HostInstance, ...]
    database: AccountingDatabase | None
    login_address: pulumi.Output[str] | None = None
    """DNS name of the load balancer of login machines; None without one."""
    has_public_balancer: bool = False


def create_slurm_cluster(
    context: BuildContext, shared: SharedResources, files: Mapping[str, FileSystem]
) -> SlurmCluster:
    """Create all resources of Slurm. Machines read the published bundles, so that they are created afterwards."""
    network, security_groups, monitoring = shared.network, shared.security_groups, shared.monitoring
    secrets = create_secrets(context)
    database = create_database(context, network, security_groups, shared.zone, monitoring)
    state = shared.buckets[context.cloud.state_bucket]
    roles = _create_roles(context, build_role_permissions(context, state, secrets, database, monitoring))
    users = create_user_role(context, shared.buckets, {key: roles[key] for key in _USER_MACHINE_KINDS if key in roles})
    values = _build_start_values(context, state, secrets, database, files) | {"role_users": users.arn}
    if monitoring.logs is not None:
        ship_logs(context, monitoring.logs)
    profiles = _create_instance_profiles(context, roles)
    ready = [
        *shared.published,
        *network.dependencies,
        *users.policies,
        *(right for role in roles.values() for right in role.policies),
    ]

    hosts, login_address = [], None
    for plan in context.cloud.hosts:
        if plan.role in ("controller", "login", "database"):
            own = [security_groups.access.id] if security_groups.access and plan.is_public else []
            machines = create_hosts(
                context,
                plan,
                shared,
                [security_groups.cluster.id, *own],
                profiles[plan.role].name,
                with_dependencies(ready, values | {"host": plan.key}),
            )
            hosts += machines
            if plan.role == "login":
                login_address = create_login_balancer(context, plan, [item.instance for item in machines], shared)
    for group in context.cloud.groups:
        create_node_group(
            context,
            group,
            network,
            [security_groups.cluster.id],
            profiles["node"].arn,
            with_dependencies(ready, values | {"group": group.key, "pool": group.pool}),
        )
    is_public = any(plan.balancer == "public" for plan in context.cloud.hosts)
    return SlurmCluster(tuple(hosts), database, login_address, is_public)


def _create_roles(context: BuildContext, permissions: RolePermissions) -> dict[str, IamRole]:
    """Create a role for each kind of machine; nodes use the user's role if there is one."""
    kinds = [kind.name for kind in fields(permissions)]
    absent = {"node"} if context.existing.node_role is not None else set()
    if not context.cloud.list_hosts("database"):
        absent.add("database")
    return {
        key: create_role(
            context,
            key,
            "ec2.amazonaws.com",
            getattr(permissions, key),
            list_extra_policies(context) if key in _USER_MACHINE_KINDS else (),
        )
        for key in kinds
        if key not in absent
    }


def _create_instance_profiles(context: BuildContext, roles: Mapping[str, IamRole]) -> dict[str, iam.InstanceProfile]:
    """Create the instance profiles by kind of machine."""
    names: dict[str, pulumi.Input[str]] = {key: role.name for key, role in roles.items()}
    if context.existing.node_role is not None:
        names["node"] = pulumi.Output.from_input(context.existing.node_role).apply(lambda arn: arn.rsplit("/", 1)[-1])
    return {key: create_instance_profile(context, key, name) for key, name in names.items()}


def build_common_values(context: BuildContext, state: s3.Bucket) -> dict[str, pulumi.Input[str]]:
    """Build the values that all start scripts may use."""
    return {
        "bucket": state.bucket,
        "region": context.cloud.region,
        "cluster": context.identity,
        "domain": context.plan.network.domain,
    }


def _build_start_values(
    context: BuildContext,
    state: s3.Bucket,
    secrets: Mapping[str, secretsmanager.Secret],
    database: AccountingDatabase | None,
    files: Mapping[str, FileSystem],
) -> dict[str, pulumi.Input[str]]:
    """Build the values that start scripts may use: names and addresses, never a secret's value."""
    values = build_common_values(context, state) | {"state_device": STATE_DEVICE}
    values |= {f"secret_{name}": secret.arn for name, secret in secrets.items()}
    values |= {f"source_{name}": system.source for name, system in files.items()}
    if database is not None:
        values |= {"database_host": database.address, "secret_database": database.secret}
    return values
