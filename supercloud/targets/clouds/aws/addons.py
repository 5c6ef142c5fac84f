"""Add-ons that EKS itself keeps: network, names, identities, repair and storage drivers. Permissions are pods' own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_aws import eks, s3

from ....plan.model.cloud import Addon
from ..work import Work
from .iam import role_of
from .rights import bucket_data

__all__ = ["early_addons", "late_addons"]


def early_addons(work: Work, cluster: eks.Cluster) -> list[eks.Addon]:
    """What nodes need to become ready."""
    return [_addon(work, cluster, item, {}) for item in work.cloud.addons if item.early]


def late_addons(
    work: Work, cluster: eks.Cluster, buckets: Mapping[str, s3.Bucket], after: Sequence[pulumi.Resource]
) -> None:
    """What runs on nodes: names, repair, and a driver for each kind of storage the plan has."""
    for item in work.cloud.addons:
        if not item.early:
            _addon(work, cluster, item, buckets, after)


def _addon(
    work: Work,
    cluster: eks.Cluster,
    plan: Addon,
    buckets: Mapping[str, s3.Bucket],
    after: Sequence[pulumi.Resource] = (),
) -> eks.Addon:
    return eks.Addon(
        work.child(f"addon-{plan.name}"),
        cluster_name=cluster.name,
        addon_name=plan.name,
        configuration_values=json.dumps(plan.settings, sort_keys=True) if plan.settings else None,
        pod_identity_associations=_identities(work, plan, buckets) or None,
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="PRESERVE",
        tags=work.tags(plan.name),
        opts=work.options(depends_on=list(after)),
    )


def _identities(work: Work, plan: Addon, buckets: Mapping[str, s3.Bucket]) -> list[eks.AddonPodIdentityAssociationArgs]:
    """A role that the pods of the add-on's service account take; none where they need no rights of their own."""
    if plan.account is None:
        return []
    data = [bucket for name, bucket in buckets.items() if name != work.cloud.state_bucket]
    role = role_of(
        work,
        plan.role or plan.name,
        "pods.eks.amazonaws.com",
        [bucket_data(data)] if plan.data and data else [],
        plan.policies,
        assume=("sts:AssumeRole", "sts:TagSession"),
    )
    return [eks.AddonPodIdentityAssociationArgs(role_arn=role.arn, service_account=plan.account)]
