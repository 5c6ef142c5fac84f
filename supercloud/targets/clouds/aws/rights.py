"""What each kind of machine of a Slurm cluster may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import s3, secretsmanager

from ....plan.cloud.model import CloudStorage
from ..work import Work
from .database import Database
from .iam import Statement, allow, of_cluster
from .watch import Watch

__all__ = ["Rights", "backend_rights", "bucket_data", "rights_of"]


_READ = "secretsmanager:GetSecretValue"


@dataclass(frozen=True)
class Rights:
    """Statements by kind of machine."""

    controller: tuple[Statement, ...]
    login: tuple[Statement, ...]
    node: tuple[Statement, ...]


def rights_of(
    work: Work,
    buckets: Mapping[str, s3.Bucket],
    secrets: Mapping[str, secretsmanager.Secret],
    database: Database | None,
    watch: Watch,
) -> Rights:
    """Everybody reads the published bundles and writes logs and data; the controller fills secrets and starts nodes."""
    state = buckets[work.cloud.state_bucket]
    data = [bucket for name, bucket in buckets.items() if name != work.cloud.state_bucket]
    common = (*_common(state, watch), *([bucket_data(data)] if data else []))
    every = [secret.arn for secret in secrets.values()]
    own = [database.secret] if database else []
    keys = allow([_READ], [secrets["auth"].arn])
    controller = (
        *common,
        allow([_READ, "secretsmanager:PutSecretValue"], every),
        *([allow([_READ], own)] if own else []),
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
    return Rights(controller, (*common, keys), (*common, keys, allow(["ec2:DescribeInstanceTopology"])))


def backend_rights(work: Work, plan: CloudStorage, state: s3.Bucket, watch: Watch) -> tuple[Statement, ...]:
    """What servers of a file system may do: find each other, and read what installs their software."""
    found = [*_common(state, watch), allow(["ec2:DescribeInstances", "autoscaling:DescribeAutoScalingGroups"])]
    start = f"arn:{work.cloud.partition}"
    if plan.install is not None and plan.install.source.startswith("s3://"):
        found.append(allow(["s3:GetObject"], [f"{start}:s3:::{plan.install.source.removeprefix('s3://')}"]))
    if plan.install is not None and plan.install.token is not None:
        token = plan.install.token  # the service ends identifiers with six characters of its own
        own = (
            token if token.startswith("arn:") else f"{start}:secretsmanager:{work.cloud.region}:*:secret:{token}-??????"
        )
        found.append(allow([_READ], [own]))
    return tuple(found)


def _common(state: s3.Bucket, watch: Watch) -> tuple[Statement, ...]:
    """What every machine may do: read the published bundles and write logs."""
    streams = [watch.logs.arn, pulumi.Output.concat(watch.logs.arn, ":*")] if watch.logs else []
    return (
        allow(["s3:GetObject"], [pulumi.Output.concat(state.arn, "/*")]),
        allow(["s3:ListBucket"], [state.arn]),  # without it, an object that is not there looks like one that is refused
        *(
            [allow(["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"], streams)]
            if streams
            else []
        ),
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
