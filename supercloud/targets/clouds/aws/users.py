"""The role of users under Slurm: data of their tenant and images of containers, not what their machine may do.

Root of logins and nodes takes it for a user who asks (``templates/boot/credentials.sh.j2``), and says with a tag of the
session which tenant the user is a member of. One role serves any number of tenants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pulumi
from pulumi_aws import s3

from ..work import Work
from .iam import RoleOf, Statement, allow, grant, role_of

__all__ = ["user_role"]

_IMAGES = ("AmazonEC2ContainerRegistryPullOnly",)
"""Containers of jobs."""
_TENANT = "${aws:PrincipalTag/tenant}"
_OBJECTS = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
_LISTS = ["s3:ListBucket", "s3:ListBucketMultipartUploads"]


def user_role(work: Work, buckets: Mapping[str, s3.Bucket], machines: Mapping[str, RoleOf]) -> RoleOf:
    """The role, and the right of the roles of ``machines`` (by key) to take it for a user.

    With tenants, the session's tag ``tenant`` is the folder of every data bucket that it reads and writes; an untagged
    session has none. Without, all of the data buckets is everybody's.
    """
    data = [bucket for name, bucket in buckets.items() if name != work.cloud.state_bucket]
    takers: list[pulumi.Input[str]] = [role.arn for role in machines.values()]
    assume = ("sts:AssumeRole", "sts:TagSession")
    if work.given.node_role is not None:
        takers.append(work.given.node_role)
    role = role_of(work, "users", takers, _data(data, bool(work.plan.tenants)), _IMAGES, assume)
    granted = [
        grant(work, f"{key}-users", machine.name, [allow(assume, [role.arn])]) for key, machine in machines.items()
    ]
    return replace(role, rights=(*role.rights, *granted))


def _data(buckets: Sequence[s3.Bucket], tenants: bool) -> list[Statement]:
    if not buckets:
        return []
    folder = f"/{_TENANT}/*" if tenants else "/*"
    only = {"StringLike": {"s3:prefix": [f"{_TENANT}/", f"{_TENANT}/*"]}} if tenants else None
    arns = [bucket.arn for bucket in buckets]
    return [
        allow(_OBJECTS, [pulumi.Output.concat(arn, folder) for arn in arns]),
        allow(_LISTS, arns, only),
        allow(["s3:GetBucketLocation"], arns),
    ]
