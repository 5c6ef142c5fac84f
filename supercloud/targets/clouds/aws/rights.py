"""Permissions of each kind of machine of a Slurm cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import s3, secretsmanager

from ....plan.model.cloud import CloudStorage
from ..build_context import BuildContext
from .database import AccountingDatabase
from .encryption import allow_key
from .iam import Statement, allow, build_cluster_condition, escape_wildcards
from .sessions import allow_log_agent, allow_sessions
from .watch import Monitoring

__all__ = ["RolePermissions", "build_storage_server_permissions", "allow_bucket_data", "build_role_permissions"]


_READ_SECRET = "secretsmanager:GetSecretValue"
_WRITE_SECRET = "secretsmanager:PutSecretValue"


@dataclass(frozen=True)
class RolePermissions:
    """Statements by kind of machine."""

    controller: tuple[Statement, ...]
    database: tuple[Statement, ...]
    """Of the slurmdbd host, if it is not the controller."""
    login: tuple[Statement, ...]
    node: tuple[Statement, ...]


def build_role_permissions(
    context: BuildContext,
    state: s3.Bucket,
    secrets: Mapping[str, secretsmanager.Secret],
    database: AccountingDatabase | None,
    monitoring: Monitoring,
) -> RolePermissions:
    """All machines read the published bundles, write logs and accept sessions; the controller starts nodes.

    Only the controller reads the daemons' key, which allows acting as root of the cluster: it sends the key to the
    other machines when they join (``templates/boot/keys.py.j2``). Only the slurmdbd host reads the database password.
    Roles of machines have no access to data buckets, as root of any machine would have it too.
    """
    common = _build_common_permissions(context, state, monitoring)
    password = _allow_password_access(secrets, database)
    apart = bool(context.cloud.list_hosts("database"))
    controller = (
        *common,
        allow([_READ_SECRET, _WRITE_SECRET], [secrets["auth"].arn]),
        *(() if apart else password),
        allow(
            ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
            [_format_group_arn(context)],
            build_cluster_condition(context),
        ),
        # Describe actions do not support resource-level permissions.
        allow(
            [
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeScalingActivities",
                "ec2:DescribeInstances",
                "ec2:DescribeInstanceTopology",
            ]
        ),
    )
    return RolePermissions(
        controller=controller,
        database=(*common, *password),
        login=common,
        node=(*common, allow(["ec2:DescribeInstanceTopology"])),
    )


def _allow_password_access(
    secrets: Mapping[str, secretsmanager.Secret], database: AccountingDatabase | None
) -> tuple[Statement, ...]:
    """Allow access to the database password: a managed database generates it, else the slurmdbd host does."""
    if database is not None:
        return (allow([_READ_SECRET], [database.secret]),)
    return (allow([_READ_SECRET, _WRITE_SECRET], [secrets["database"].arn]),) if "database" in secrets else ()


def build_storage_server_permissions(
    context: BuildContext, storage: CloudStorage, state: s3.Bucket, monitoring: Monitoring
) -> tuple[Statement, ...]:
    """Permissions of file system servers: discover each other, and read the installer of their software."""
    found = [
        *_build_common_permissions(context, state, monitoring),
        allow(["ec2:DescribeInstances", "autoscaling:DescribeAutoScalingGroups"]),
    ]
    start = f"arn:{context.cloud.partition}"
    if storage.install is not None and storage.install.source.startswith("s3://"):
        path = escape_wildcards(storage.install.source.removeprefix("s3://"))
        found.append(allow(["s3:GetObject"], [f"{start}:s3:::{path}"]))
    if storage.install is not None and storage.install.token is not None:
        token = escape_wildcards(storage.install.token)  # the service appends six characters to identifiers
        own = (
            token
            if token.startswith("arn:")
            else f"{start}:secretsmanager:{context.cloud.region}:*:secret:{token}-??????"
        )
        found.append(allow([_READ_SECRET], [own]))
    return tuple(found)


def _build_common_permissions(context: BuildContext, state: s3.Bucket, monitoring: Monitoring) -> tuple[Statement, ...]:
    """Permissions of all machines: read the published bundles, write logs, accept sessions."""
    streams = [monitoring.logs.arn, pulumi.Output.concat(monitoring.logs.arn, ":*")] if monitoring.logs else []
    return (
        allow(["s3:GetObject"], [pulumi.Output.concat(state.arn, "/*")]),
        *allow_key(context),
        *_allow_scripts(context),
        allow(["s3:ListBucket"], [state.arn]),  # without it, access to a missing object is denied instead of not found
        *(
            [allow(["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"], streams)]
            if streams
            else []
        ),
        allow_sessions(),
        *(allow_log_agent(context) if monitoring.logs else ()),
    )


def _allow_scripts(context: BuildContext) -> tuple[Statement, ...]:
    """Allow reading the user's programs that machines run when they start, if they are in buckets."""
    start = f"{context.cloud.object_scheme}://"
    found = [item.source.removeprefix(start) for item in context.cloud.boot_scripts if item.source.startswith(start)]
    arns = [f"arn:{context.cloud.partition}:s3:::{escape_wildcards(path)}" for path in dict.fromkeys(found)]
    return (allow(["s3:GetObject"], arns),) if arns else ()


def allow_bucket_data(buckets: list[s3.Bucket]) -> Statement:
    """Allow reading, writing and listing objects of buckets."""
    return allow(
        [
            "s3:GetObject",
            "s3:PutObject",
            "s3:DeleteObject",
            "s3:AbortMultipartUpload",
            "s3:ListBucket",
            "s3:ListBucketMultipartUploads",
            "s3:ListMultipartUploadParts",
            "s3:GetBucketLocation",
        ],
        [arn for bucket in buckets for arn in (bucket.arn, pulumi.Output.concat(bucket.arn, "/*"))],
    )


def _format_group_arn(context: BuildContext) -> str:
    """Return the ARN of all Auto Scaling groups of the region; a condition restricts it to the cluster's tag."""
    start = f"arn:{context.cloud.partition}:autoscaling:{context.cloud.region}:*:autoScalingGroup:*"
    return f"{start}:autoScalingGroupName/*"
