"""EKS: the control plane, its access entries, and the node groups. The rendered bundle has everything inside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import eks, s3

from ....plan.build.kubernetes.names import format_group_name
from ..build_context import BuildContext
from ..naming import format_physical_name
from .addons import create_early_addons, create_late_addons
from .autoscaler import create_autoscaler_access
from .encryption import find_key
from .iam import create_role, list_extra_policies
from .kubernetes_groups import create_pool_node_group, create_system_node_group
from .network import ANY_ADDRESS, Network
from .security import SecurityGroups
from .sessions import allow_sessions
from .watch import create_log_group

__all__ = ["EksCluster", "create_eks_cluster"]

_NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
_LOG_TYPES = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
_ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"


@dataclass(frozen=True)
class EksCluster:
    """The created Kubernetes resources."""

    name: pulumi.Output[str]
    endpoint: pulumi.Output[str]


def create_eks_cluster(
    context: BuildContext, network: Network, security_groups: SecurityGroups, buckets: Mapping[str, s3.Bucket]
) -> EksCluster:
    """Create the cluster, then its network add-ons, then nodes, then the add-ons that need nodes."""
    cluster = _create_control_plane(context, network, security_groups)
    for who, principal in sorted(context.existing.admins.items()):
        _grant_admin_access(context, cluster, who, principal)
    _grant_tenant_access(context, cluster)
    role, rights = _create_node_role(context)
    first = [*create_early_addons(context, cluster), *network.dependencies, *rights]
    inside = [security_groups.cluster.id]
    system = [
        create_system_node_group(context, cluster, plan, network, inside, role, first)
        for plan in context.cloud.list_hosts("system")
    ]
    pools = {
        plan.key: create_pool_node_group(context, cluster, plan, network, inside, role, first)
        for plan in context.cloud.groups
    }
    create_autoscaler_access(context, cluster, pools)
    create_late_addons(context, cluster, buckets, system)
    return EksCluster(cluster.name, cluster.endpoint)


def _create_control_plane(context: BuildContext, network: Network, security_groups: SecurityGroups) -> eks.Cluster:
    """Create the control plane, whose interfaces are in the security group of the machines."""
    whose = f"{pulumi.get_project()}-{pulumi.get_stack()}"  # an account may contain stacks of several projects
    name = format_physical_name(context.name, whose, context.cloud.name_rules["kubernetes-cluster"])
    logs = create_log_group(context, "control-plane", name=f"/aws/eks/{name}/cluster")
    role = create_role(context, "control-plane", "eks.amazonaws.com", managed=["AmazonEKSClusterPolicy"])
    is_isolated = context.cloud.network.is_isolated
    return eks.Cluster(
        context.name_child("cluster", "kubernetes-cluster"),
        name=name,  # users and the log group refer to it by name
        version=context.plan.scheduler.version,
        role_arn=role.arn,
        vpc_config={
            "subnet_ids": network.select_subnet_ids(_select_control_plane_subnets(context)),
            "security_group_ids": [security_groups.cluster.id],
            "endpoint_private_access": True,
            "endpoint_public_access": not is_isolated,
            "public_access_cidrs": None if is_isolated else list(context.cloud.network.access or (ANY_ADDRESS,)),
        },
        access_config={"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": True},
        encryption_config=_build_encryption(context),
        bootstrap_self_managed_addons=False,
        enabled_cluster_log_types=_LOG_TYPES,
        deletion_protection=context.is_protected,
        tags=context.build_tags("cluster"),
        opts=context.build_options(is_critical=True, depends_on=[logs, *role.policies]),
    )


def _build_encryption(context: BuildContext) -> eks.ClusterEncryptionConfigArgs | None:
    """Encrypt secrets of Kubernetes with the user's key; None: with a key that AWS owns."""
    key = find_key(context)
    if key is None:
        return None
    provider = eks.ClusterEncryptionConfigProviderArgs(key_arn=key)
    return eks.ClusterEncryptionConfigArgs(provider=provider, resources=["secrets"])


def _select_control_plane_subnets(context: BuildContext) -> tuple[str, ...]:
    subnets = context.cloud.network.subnets
    own = tuple(item.key for item in subnets if item.purpose == "control")
    return own or tuple(item.key for item in subnets if not item.is_public and not item.is_local)


def _grant_admin_access(context: BuildContext, cluster: eks.Cluster, name: str, principal: pulumi.Input[str]) -> None:
    entry = eks.AccessEntry(
        context.name_child(f"admin-{name}"),
        cluster_name=cluster.name,
        principal_arn=principal,
        tags=context.build_tags(f"admin-{name}"),
        opts=context.build_options(),
    )
    eks.AccessPolicyAssociation(
        context.name_child(f"admin-{name}"),
        cluster_name=cluster.name,
        principal_arn=entry.principal_arn,
        policy_arn=f"arn:{context.cloud.partition}:eks::aws:cluster-access-policy/{_ADMIN_POLICY}",
        access_scope={"type": "cluster"},
        opts=context.build_options(),
    )


def _grant_tenant_access(context: BuildContext, cluster: eks.Cluster) -> None:
    """Make roles and users of the account members of their tenants' groups, which have all permissions of a tenant."""
    groups: dict[str, list[str]] = {}
    for tenant in context.plan.tenants:
        for principal in tenant.principals:
            groups.setdefault(principal, []).append(format_group_name(tenant.name))
    for principal, names in sorted(groups.items()):
        account, _, identity = principal.split(":", 4)[4].partition(":")
        key = re.sub(r"[^A-Za-z0-9-]+", "-", f"member-{account}-{identity}")
        eks.AccessEntry(
            context.name_child(key),
            cluster_name=cluster.name,
            principal_arn=principal,
            kubernetes_groups=names,
            tags=context.build_tags(key),
            opts=context.build_options(),
        )


def _create_node_role(context: BuildContext) -> tuple[pulumi.Input[str], tuple[pulumi.Resource, ...]]:
    """Return ARN and policies of the nodes' role: the user's, or one that may join, pull images and use SSM."""
    if context.existing.node_role is not None:
        return context.existing.node_role, ()
    role = create_role(
        context, "node", "ec2.amazonaws.com", [allow_sessions()], [*_NODE_POLICIES, *list_extra_policies(context)]
    )
    return role.arn, role.policies
