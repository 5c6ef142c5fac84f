"""Add-ons that EKS manages: network, DNS, identities, repair and storage drivers. Permissions are granted to their
pods.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_aws import eks, s3

from ....plan.model.cloud import Addon
from ..build_context import BuildContext
from .encryption import allow_key
from .iam import create_role
from .rights import allow_bucket_data

__all__ = ["create_early_addons", "create_late_addons"]


def create_early_addons(context: BuildContext, cluster: eks.Cluster) -> list[eks.Addon]:
    """Create the add-ons that nodes need to become ready."""
    return [_create_addon(context, cluster, item, {}) for item in context.cloud.addons if item.early]


def create_late_addons(
    context: BuildContext, cluster: eks.Cluster, buckets: Mapping[str, s3.Bucket], depends_on: Sequence[pulumi.Resource]
) -> None:
    """Create the add-ons that run on nodes: DNS, repair, and a driver for each kind of storage in the plan."""
    for item in context.cloud.addons:
        if not item.early:
            _create_addon(context, cluster, item, buckets, depends_on)


def _create_addon(
    context: BuildContext,
    cluster: eks.Cluster,
    addon: Addon,
    buckets: Mapping[str, s3.Bucket],
    depends_on: Sequence[pulumi.Resource] = (),
) -> eks.Addon:
    return eks.Addon(
        context.name_child(f"addon-{addon.name}"),
        cluster_name=cluster.name,
        addon_name=addon.name,
        configuration_values=json.dumps(addon.settings, sort_keys=True) if addon.settings else None,
        pod_identity_associations=_create_pod_identities(context, cluster, addon, buckets) or None,
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="PRESERVE",
        tags=context.build_tags(addon.name),
        opts=context.build_options(depends_on=list(depends_on)),
    )


def _create_pod_identities(
    context: BuildContext, cluster: eks.Cluster, addon: Addon, buckets: Mapping[str, s3.Bucket]
) -> list[eks.AddonPodIdentityAssociationArgs]:
    """Create a role for the pods of the add-on's service account; none if they need no permissions.

    EKS requests a session with tags that name the cluster and the service account, which the role requires: it is of no
    use to another cluster of the account (docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html).
    """
    if addon.account is None:
        return []
    data = [bucket for name, bucket in buckets.items() if name != context.cloud.state_bucket]
    caller = {"eks-cluster-arn": cluster.arn, "kubernetes-service-account": addon.account}
    role = create_role(
        context,
        addon.role or addon.name,
        "pods.eks.amazonaws.com",
        [allow_bucket_data(data), *allow_key(context)] if addon.data and data else [],
        addon.policies,
        assume_actions=("sts:AssumeRole", "sts:TagSession"),
        conditions={"StringEquals": {f"aws:RequestTag/{name}": value for name, value in caller.items()}},
    )
    return [eks.AddonPodIdentityAssociationArgs(role_arn=role.arn, service_account=addon.account)]
