"""EKS: the control plane, who may enter, and the node groups. What runs inside comes with the rendered bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import eks, s3

from ..naming import physical
from ..work import Work
from .addons import early_addons, late_addons
from .iam import role_of
from .kubernetes_groups import pool_group, system_group
from .network import EVERYWHERE, Network
from .security import Walls
from .sessions import session_rights
from .watch import log_group

__all__ = ["KubernetesSite", "kubernetes_of"]

_NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
_LOGGED = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
_ADMIN = "AmazonEKSClusterAdminPolicy"


@dataclass(frozen=True)
class KubernetesSite:
    """What exists of Kubernetes."""

    name: pulumi.Output[str]
    endpoint: pulumi.Output[str]


def kubernetes_of(work: Work, network: Network, walls: Walls, buckets: Mapping[str, s3.Bucket]) -> KubernetesSite:
    """The cluster, then its network add-ons, then nodes, then the add-ons that need nodes."""
    cluster = _control_plane(work, network, walls)
    for who, principal in sorted(work.given.admins.items()):
        _admit(work, cluster, who, principal)
    role, rights = _node_role(work)
    first = [*early_addons(work, cluster), *network.ready, *rights]
    inside = [walls.cluster.id]
    system = [system_group(work, cluster, plan, network, inside, role, first) for plan in work.cloud.hosts_of("system")]
    for plan in work.cloud.groups:
        pool_group(work, cluster, plan, network, inside, role, first)
    late_addons(work, cluster, buckets, system)
    return KubernetesSite(cluster.name, cluster.endpoint)


def _control_plane(work: Work, network: Network, walls: Walls) -> eks.Cluster:
    """The control plane, whose interfaces are among the machines of the cluster."""
    whose = f"{pulumi.get_project()}-{pulumi.get_stack()}"  # an account may have the stack of many a project
    name = physical(work.name, whose, work.cloud.names["kubernetes-cluster"])
    logs = log_group(work, "control-plane", name=f"/aws/eks/{name}/cluster")
    role = role_of(work, "control-plane", "eks.amazonaws.com", managed=["AmazonEKSClusterPolicy"])
    closed = work.cloud.network.closed
    return eks.Cluster(
        work.child("cluster", "kubernetes-cluster"),
        name=name,  # users and the log group know it by name
        version=work.plan.scheduler.version,
        role_arn=role.arn,
        vpc_config={
            "subnet_ids": network.among(_control_subnets(work)),
            "security_group_ids": [walls.cluster.id],
            "endpoint_private_access": True,
            "endpoint_public_access": not closed,
            "public_access_cidrs": None if closed else list(work.cloud.network.access or (EVERYWHERE,)),
        },
        access_config={"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": True},
        bootstrap_self_managed_addons=False,
        enabled_cluster_log_types=_LOGGED,
        deletion_protection=work.keep,
        tags=work.tags("cluster"),
        opts=work.options(guards=True, depends_on=[logs, *role.rights]),
    )


def _control_subnets(work: Work) -> tuple[str, ...]:
    subnets = work.cloud.network.subnets
    own = tuple(item.key for item in subnets if item.purpose == "control")
    return own or tuple(item.key for item in subnets if not item.public)


def _admit(work: Work, cluster: eks.Cluster, who: str, principal: pulumi.Input[str]) -> None:
    entry = eks.AccessEntry(
        work.child(f"admin-{who}"),
        cluster_name=cluster.name,
        principal_arn=principal,
        tags=work.tags(f"admin-{who}"),
        opts=work.options(),
    )
    eks.AccessPolicyAssociation(
        work.child(f"admin-{who}"),
        cluster_name=cluster.name,
        principal_arn=entry.principal_arn,
        policy_arn=f"arn:{work.cloud.partition}:eks::aws:cluster-access-policy/{_ADMIN}",
        access_scope={"type": "cluster"},
        opts=work.options(),
    )


def _node_role(work: Work) -> tuple[pulumi.Input[str], tuple[pulumi.Resource, ...]]:
    """ARN and rights of the role of nodes: the user's, or one that may join, pull images and be reached through SSM."""
    if work.given.node_role is not None:
        return work.given.node_role, ()
    role = role_of(work, "node", "ec2.amazonaws.com", [session_rights()], _NODE_POLICIES)
    return role.arn, role.rights
