"""Roles: who may do what, scoped to the cluster's own things."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_aws import iam

from ..work import CLUSTER_TAG, Work

__all__ = ["RoleOf", "Statement", "allow", "escape_wildcards", "grant", "of_cluster", "profile_of", "role_of"]

Statement = Mapping[str, Any]
"""A statement of a policy; values may be Outputs."""
_VERSION = "2012-10-17"


@dataclass(frozen=True)
class RoleOf:
    """A role that exists."""

    name: pulumi.Output[str]
    arn: pulumi.Output[str]
    rights: tuple[pulumi.Resource, ...]
    """What has to be there before the role can do anything."""


def allow(actions: Sequence[str], resources: Any = "*", when: Mapping[str, Any] | None = None) -> Statement:
    """A statement that allows ``actions`` on ``resources``."""
    condition = {"Condition": when} if when else {}
    return {"Effect": "Allow", "Action": list(actions), "Resource": resources, **condition}


def escape_wildcards(text: str) -> str:
    """A text of a user as part of an ARN in a statement, where ``*``, ``?`` and ``$`` stand for themselves.

    IAM User Guide, "IAM policy elements: Variables and tags", special characters.
    """
    return re.sub(r"[*?$]", lambda found: f"${{{found[0]}}}", text)


def of_cluster(work: Work) -> Mapping[str, Any]:
    """The condition that a thing carries the cluster's tag."""
    return {"StringEquals": {f"aws:ResourceTag/{CLUSTER_TAG}": work.identity}}


def role_of(
    work: Work,
    key: str,
    service: str | Sequence[pulumi.Input[str]],
    statements: Sequence[Statement] = (),
    managed: Sequence[str] = (),
    assume: Sequence[str] = ("sts:AssumeRole",),
    when: Mapping[str, Any] | None = None,
) -> RoleOf:
    """A role that ``service`` takes, or other roles by their ARN, with our statements and the provider's policies."""
    condition = {"Condition": when} if when else {}
    if isinstance(service, str):
        who: dict[str, Any] = {"Service": work.cloud.principals.get(service, service)}
    else:
        who = {"AWS": list(service)}
    trust = {"Effect": "Allow", "Action": list(assume), "Principal": who, **condition}
    role = iam.Role(
        work.child(f"{key}-role", "role"),
        assume_role_policy=pulumi.Output.json_dumps({"Version": _VERSION, "Statement": [trust]}),
        tags=work.tags(key),
        opts=work.options(),
    )
    rights: list[pulumi.Resource] = [
        iam.RolePolicyAttachment(
            work.child(f"{key}-{policy.rsplit('/', 1)[-1]}"),
            role=role.name,
            policy_arn=f"arn:{work.cloud.partition}:iam::aws:policy/{policy}",
            opts=work.options(),
        )
        for policy in managed
    ]
    if statements:
        rights.append(grant(work, key, role.name, statements))
    return RoleOf(role.name, role.arn, tuple(rights))


def grant(work: Work, key: str, role: pulumi.Input[str], statements: Sequence[Statement]) -> iam.RolePolicy:
    """Statements for a role, by the role's name."""
    return iam.RolePolicy(
        work.child(f"{key}-policy", "policy"),
        role=role,
        policy=pulumi.Output.json_dumps({"Version": _VERSION, "Statement": list(statements)}),
        opts=work.options(),
    )


def profile_of(work: Work, key: str, role: pulumi.Input[str]) -> iam.InstanceProfile:
    """What gives instances a role, by the role's name."""
    return iam.InstanceProfile(
        work.child(f"{key}-profile", "role"), role=role, tags=work.tags(key), opts=work.options()
    )
