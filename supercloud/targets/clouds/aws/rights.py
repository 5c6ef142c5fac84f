"""What each kind of machine of a Slurm cluster may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import s3, secretsmanager

from ....plan.model.cloud import CloudStorage
from ..work import BuildContext
from .database import AccountingDatabase
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
    """Of the host of slurmdbd, where that is not the controller."""
    login: tuple[Statement, ...]
    node: tuple[Statement, ...]


def build_role_permissions(
    context: BuildContext,
    state: s3.Bucket,
    secrets: Mapping[str, secretsmanager.Secret],
    database: AccountingDatabase | None,
    monitoring: Monitoring,
) -> RolePermissions:
    """Everybody reads the published bundles, writes logs and can be given a shell; the controller starts nodes.

    Only the controller reads the daemons' key, with which anybody could speak for root of the cluster: it gives it to
    the other machines when they join (``templates/boot/keys.py.j2``). Only the host of slurmdbd reads the database's
    password. No role of a machine reads or writes data buckets: whoever becomes root of any machine would have it.
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
        # Describing knows no resources: the service does not scope it.
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
    """The database's: one that the provider runs has made it, else the host of slurmdbd does."""
    if database is not None:
        return (allow([_READ_SECRET], [database.secret]),)
    return (allow([_READ_SECRET, _WRITE_SECRET], [secrets["database"].arn]),) if "database" in secrets else ()


def build_storage_server_permissions(
    context: BuildContext, storage: CloudStorage, state: s3.Bucket, monitoring: Monitoring
) -> tuple[Statement, ...]:
    """What servers of a file system may do: find each other, and read what installs their software."""
    found = [
        *_build_common_permissions(context, state, monitoring),
        allow(["ec2:DescribeInstances", "autoscaling:DescribeAutoScalingGroups"]),
    ]
    start = f"arn:{context.cloud.partition}"
    if storage.install is not None and storage.install.source.startswith("s3://"):
        path = escape_wildcards(storage.install.source.removeprefix("s3://"))
        found.append(allow(["s3:GetObject"], [f"{start}:s3:::{path}"]))
    if storage.install is not None and storage.install.token is not None:
        token = escape_wildcards(storage.install.token)  # the service ends identifiers with six characters of its own
        own = (
            token
            if token.startswith("arn:")
            else f"{start}:secretsmanager:{context.cloud.region}:*:secret:{token}-??????"
        )
        found.append(allow([_READ_SECRET], [own]))
    return tuple(found)


def _build_common_permissions(context: BuildContext, state: s3.Bucket, monitoring: Monitoring) -> tuple[Statement, ...]:
    """What every machine may do: read the published bundles, write logs, be given a shell."""
    streams = [monitoring.logs.arn, pulumi.Output.concat(monitoring.logs.arn, ":*")] if monitoring.logs else []
    return (
        allow(["s3:GetObject"], [pulumi.Output.concat(state.arn, "/*")]),
        allow(["s3:ListBucket"], [state.arn]),  # without it, an object that is not there looks like one that is refused
        *(
            [allow(["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"], streams)]
            if streams
            else []
        ),
        allow_sessions(),
        *(allow_log_agent(context) if monitoring.logs else ()),
    )


def allow_bucket_data(buckets: list[s3.Bucket]) -> Statement:
    """Reading and writing what is in buckets, and listing them."""
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
    """Auto Scaling groups of the region; the condition leaves those with the cluster's tag."""
    start = f"arn:{context.cloud.partition}:autoscaling:{context.cloud.region}:*:autoScalingGroup:*"
    return f"{start}:autoScalingGroupName/*"
