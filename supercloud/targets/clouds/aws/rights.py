"""What each kind of machine of a Slurm cluster may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import s3, secretsmanager

from ....plan.model.cloud import CloudStorage
from ..work import Work
from .database import Database
from .iam import Statement, allow, escape_wildcards, of_cluster
from .sessions import log_agent_rights, session_rights
from .watch import Watch

__all__ = ["Rights", "backend_rights", "bucket_data", "rights_of"]


_READ = "secretsmanager:GetSecretValue"
_WRITE = "secretsmanager:PutSecretValue"


@dataclass(frozen=True)
class Rights:
    """Statements by kind of machine."""

    controller: tuple[Statement, ...]
    database: tuple[Statement, ...]
    """Of the host of slurmdbd, where that is not the controller."""
    login: tuple[Statement, ...]
    node: tuple[Statement, ...]


def rights_of(
    work: Work,
    state: s3.Bucket,
    secrets: Mapping[str, secretsmanager.Secret],
    database: Database | None,
    watch: Watch,
) -> Rights:
    """Everybody reads the published bundles, writes logs and can be given a shell; the controller starts nodes.

    Only the controller reads the daemons' key, with which anybody could speak for root of the cluster: it gives it to
    the other machines when they join (``templates/boot/keys.py.j2``). Only the host of slurmdbd reads the database's
    password. No role of a machine reads or writes data buckets: whoever becomes root of any machine would have it.
    """
    common = _common(work, state, watch)
    password = _password(secrets, database)
    apart = bool(work.cloud.hosts_of("database"))
    controller = (
        *common,
        allow([_READ, _WRITE], [secrets["auth"].arn]),
        *(() if apart else password),
        allow(
            ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
            [_groups(work)],
            of_cluster(work),
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
    return Rights(
        controller=controller,
        database=(*common, *password),
        login=common,
        node=(*common, allow(["ec2:DescribeInstanceTopology"])),
    )


def _password(secrets: Mapping[str, secretsmanager.Secret], database: Database | None) -> tuple[Statement, ...]:
    """The database's: one that the provider runs has made it, else the host of slurmdbd does."""
    if database is not None:
        return (allow([_READ], [database.secret]),)
    return (allow([_READ, _WRITE], [secrets["database"].arn]),) if "database" in secrets else ()


def backend_rights(work: Work, plan: CloudStorage, state: s3.Bucket, watch: Watch) -> tuple[Statement, ...]:
    """What servers of a file system may do: find each other, and read what installs their software."""
    found = [*_common(work, state, watch), allow(["ec2:DescribeInstances", "autoscaling:DescribeAutoScalingGroups"])]
    start = f"arn:{work.cloud.partition}"
    if plan.install is not None and plan.install.source.startswith("s3://"):
        path = escape_wildcards(plan.install.source.removeprefix("s3://"))
        found.append(allow(["s3:GetObject"], [f"{start}:s3:::{path}"]))
    if plan.install is not None and plan.install.token is not None:
        token = escape_wildcards(plan.install.token)  # the service ends identifiers with six characters of its own
        own = (
            token if token.startswith("arn:") else f"{start}:secretsmanager:{work.cloud.region}:*:secret:{token}-??????"
        )
        found.append(allow([_READ], [own]))
    return tuple(found)


def _common(work: Work, state: s3.Bucket, watch: Watch) -> tuple[Statement, ...]:
    """What every machine may do: read the published bundles, write logs, be given a shell."""
    streams = [watch.logs.arn, pulumi.Output.concat(watch.logs.arn, ":*")] if watch.logs else []
    return (
        allow(["s3:GetObject"], [pulumi.Output.concat(state.arn, "/*")]),
        allow(["s3:ListBucket"], [state.arn]),  # without it, an object that is not there looks like one that is refused
        *(
            [allow(["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"], streams)]
            if streams
            else []
        ),
        session_rights(),
        *(log_agent_rights(work) if watch.logs else ()),
    )


def bucket_data(buckets: list[s3.Bucket]) -> Statement:
    """Reading and writing what is in buckets, and listing them."""
    return allow(
        ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListBucket",
         "s3:ListBucketMultipartUploads", "s3:ListMultipartUploadParts", "s3:GetBucketLocation"],
        [arn for bucket in buckets for arn in (bucket.arn, pulumi.Output.concat(bucket.arn, "/*"))],
    )  # fmt: skip


def _groups(work: Work) -> str:
    """Auto Scaling groups of the region; the condition leaves those with the cluster's tag."""
    start = f"arn:{work.cloud.partition}:autoscaling:{work.cloud.region}:*:autoScalingGroup:*"
    return f"{start}:autoScalingGroupName/*"
