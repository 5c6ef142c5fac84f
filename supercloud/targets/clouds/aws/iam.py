"""IAM roles and policies, scoped to the cluster's resources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_aws import iam

from ..build_context import CLUSTER_TAG, BuildContext

__all__ = [
    "IamRole",
    "Statement",
    "allow",
    "escape_wildcards",
    "grant",
    "list_extra_policies",
    "build_cluster_condition",
    "create_instance_profile",
    "create_role",
]

Statement = Mapping[str, Any]
"""A statement of a policy; values may be Outputs."""
_POLICY_VERSION = "2012-10-17"


@dataclass(frozen=True)
class IamRole:
    """A created role."""

    name: pulumi.Output[str]
    arn: pulumi.Output[str]
    policies: tuple[pulumi.Resource, ...]
    """Resources that must exist before the role can be used."""


def allow(actions: Sequence[str], resources: Any = "*", conditions: Mapping[str, Any] | None = None) -> Statement:
    """Return a statement that allows ``actions`` on ``resources``."""
    condition = {"Condition": conditions} if conditions else {}
    return {"Effect": "Allow", "Action": list(actions), "Resource": resources, **condition}


def escape_wildcards(text: str) -> str:
    """Escape text for the ARN of a statement, so that ``*``, ``?`` and ``$`` are literal.

    IAM User Guide, "IAM policy elements: Variables and tags", special characters.
    """
    return re.sub(r"[*?$]", lambda found: f"${{{found[0]}}}", text)


def build_cluster_condition(context: BuildContext) -> Mapping[str, Any]:
    """Build the condition that a resource has the cluster's tag."""
    return {"StringEquals": {f"aws:ResourceTag/{CLUSTER_TAG}": context.identity}}


def create_role(
    context: BuildContext,
    key: str,
    service: str | Sequence[pulumi.Input[str]],
    statements: Sequence[Statement] = (),
    managed: Sequence[str] = (),
    assume_actions: Sequence[str] = ("sts:AssumeRole",),
    conditions: Mapping[str, Any] | None = None,
) -> IamRole:
    """Create a role that ``service``, or roles given by ARN, can assume, with statements and managed policies.

    ``managed`` has names of policies of AWS, and ARNs of the user's.
    """
    condition = {"Condition": conditions} if conditions else {}
    if isinstance(service, str):
        who: dict[str, Any] = {"Service": context.cloud.principals.get(service, service)}
    else:
        who = {"AWS": list(service)}
    trust = {"Effect": "Allow", "Action": list(assume_actions), "Principal": who, **condition}
    role = iam.Role(
        context.name_child(f"{key}-role", "role"),
        assume_role_policy=pulumi.Output.json_dumps({"Version": _POLICY_VERSION, "Statement": [trust]}),
        permissions_boundary=_find_boundary(context),
        tags=context.build_tags(key),
        opts=context.build_options(),
    )
    rights: list[pulumi.Resource] = [
        iam.RolePolicyAttachment(
            context.name_child(f"{key}-{policy.rsplit('/', 1)[-1]}"),
            role=role.name,
            policy_arn=policy
            if policy.startswith("arn:")
            else f"arn:{context.cloud.partition}:iam::aws:policy/{policy}",
            opts=context.build_options(),
        )
        for policy in managed
    ]
    if statements:
        rights.append(grant(context, key, role.name, statements))
    return IamRole(role.name, role.arn, tuple(rights))


def _find_boundary(context: BuildContext) -> str | None:
    """Return the ARN of the user's policy that limits every role; None without one."""
    boundary = context.cloud.options.get("permissions_boundary")
    return str(boundary) if boundary else None


def list_extra_policies(context: BuildContext) -> list[str]:
    """Return the ARNs of the user's policies for machines on which users work."""
    return str(context.cloud.options.get("policies", "")).split()


def grant(context: BuildContext, key: str, role: pulumi.Input[str], statements: Sequence[Statement]) -> iam.RolePolicy:
    """Attach statements to a role, given by its name."""
    return iam.RolePolicy(
        context.name_child(f"{key}-policy", "policy"),
        role=role,
        policy=pulumi.Output.json_dumps({"Version": _POLICY_VERSION, "Statement": list(statements)}),
        opts=context.build_options(),
    )


def create_instance_profile(context: BuildContext, key: str, role: pulumi.Input[str]) -> iam.InstanceProfile:
    """Create the instance profile of a role, given by its name."""
    return iam.InstanceProfile(
        context.name_child(f"{key}-profile", "role"),
        role=role,
        tags=context.build_tags(key),
        opts=context.build_options(),
    )
