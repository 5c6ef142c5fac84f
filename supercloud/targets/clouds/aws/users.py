"""The role of users under Slurm: access to their tenant's data and to container images, without the machine's
permissions.

Root on login hosts and nodes assumes it on behalf of a user (``templates/boot/credentials.sh.j2``), with a session tag
for the user's tenant. One role serves any number of tenants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pulumi
from pulumi_aws import s3

from ..build_context import BuildContext
from .encryption import allow_key
from .iam import IamRole, Statement, allow, create_role, grant

__all__ = ["create_user_role"]

_CONTAINER_POLICIES = ("AmazonEC2ContainerRegistryPullOnly",)
"""Actions to pull container images of jobs."""
_TENANT_TAG = "tenant"
"""The session tag that selects the data; ``cloud_credentials`` of the boot scripts sets it."""
_TENANT_VARIABLE = f"${{aws:PrincipalTag/{_TENANT_TAG}}}"
_OBJECT_ACTIONS = [
    "s3:GetObject",
    "s3:PutObject",
    "s3:DeleteObject",
    "s3:AbortMultipartUpload",
    "s3:ListMultipartUploadParts",
]
_LIST_ACTIONS = ["s3:ListBucket", "s3:ListBucketMultipartUploads"]


def create_user_role(
    context: BuildContext, buckets: Mapping[str, s3.Bucket], machines: Mapping[str, IamRole]
) -> IamRole:
    """Create the role, and allow the roles of ``machines`` (by key) to assume it for a user.

    With tenants, the session tag ``tenant`` is the prefix in every data bucket that can be read and written; an
    untagged session does not exist, nor one with further tags, to which other policies of the account might grant
    rights. Without tenants, all users have access to the complete data buckets, and sessions have no tags.
    """
    data = [bucket for name, bucket in buckets.items() if name != context.cloud.state_bucket]
    takers: list[pulumi.Input[str]] = [role.arn for role in machines.values()]
    has_tenants = bool(context.plan.tenants)
    assume = ("sts:AssumeRole", "sts:TagSession") if has_tenants else ("sts:AssumeRole",)
    own_tag = {
        "StringLike": {f"aws:RequestTag/{_TENANT_TAG}": "?*"},
        "ForAllValues:StringEquals": {"aws:TagKeys": [_TENANT_TAG]},
    }
    if context.existing.node_role is not None:
        takers.append(context.existing.node_role)
    role = create_role(
        context,
        "users",
        takers,
        [*_allow_tenant_data(data, has_tenants), *(allow_key(context) if data else ())],
        _CONTAINER_POLICIES,
        assume,
        own_tag if has_tenants else None,
    )
    granted = [
        grant(context, f"{key}-users", machine.name, [allow(assume, [role.arn])]) for key, machine in machines.items()
    ]
    return replace(role, policies=(*role.policies, *granted))


def _allow_tenant_data(buckets: Sequence[s3.Bucket], has_tenants: bool) -> list[Statement]:
    if not buckets:
        return []
    folder = f"/{_TENANT_VARIABLE}/*" if has_tenants else "/*"
    only = {"StringLike": {"s3:prefix": [f"{_TENANT_VARIABLE}/", f"{_TENANT_VARIABLE}/*"]}} if has_tenants else None
    arns = [bucket.arn for bucket in buckets]
    return [
        allow(_OBJECT_ACTIONS, [pulumi.Output.concat(arn, folder) for arn in arns]),
        allow(_LIST_ACTIONS, arns, only),
        allow(["s3:GetBucketLocation"], arns),
    ]
