"""Amazon Web Services: the order in which the plan's resources are created."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi_aws import route53, s3

from ..work import BuildContext, ClusterOutputs
from .buckets import create_buckets, publish_bundles
from .dns import create_zone
from .eks import create_eks_cluster
from .endpoints import create_endpoints
from .files import FileSystem
from .lustre import create_lustre
from .network import Network, create_network
from .nfs import create_nfs
from .outputs import build_outputs
from .provider import create_provider
from .security import SecurityGroups, create_security_groups
from .slurm import create_slurm_cluster
from .watch import Monitoring, create_budget, create_flow_logs, create_monitoring
from .weka import create_weka

__all__ = ["build"]


def build(context: BuildContext) -> ClusterOutputs:
    """Register every resource of the plan and return the outputs for users."""
    context = context.with_provider(create_provider(context))
    network = create_network(context)
    security_groups = create_security_groups(context, network)
    create_endpoints(context, network, security_groups)
    watch = create_monitoring(context)
    create_flow_logs(context, network)
    create_budget(context, watch)
    buckets = create_buckets(context)
    zone = create_zone(context, network)
    published = publish_bundles(context, buckets[context.cloud.state_bucket])
    files = _create_file_systems(context, network, security_groups, zone, buckets, published, watch)
    if context.plan.scheduler.kind == "kubernetes":
        return build_outputs(
            context, network, buckets, files, create_eks_cluster(context, network, security_groups, buckets)
        )
    site = create_slurm_cluster(context, network, security_groups, zone, buckets, published, files, watch)
    return build_outputs(context, network, buckets, files, site)


def _create_file_systems(
    context: BuildContext,
    network: Network,
    security_groups: SecurityGroups,
    zone: route53.Zone,
    buckets: Mapping[str, s3.Bucket],
    published: list[pulumi.Resource],
    monitoring: Monitoring,
) -> dict[str, FileSystem]:
    """Create file systems by name: managed ones, or on instances of the cluster."""
    found = {}
    for plan in context.cloud.storage:
        if plan.kind == "parallel":
            found[plan.name] = create_lustre(context, plan, network, security_groups, buckets, monitoring)
        elif plan.kind == "nfs":
            found[plan.name] = create_nfs(context, plan, network, security_groups)
        elif plan.kind == "servers":
            host = next(item for item in context.cloud.list_hosts("storage") if item.storage == plan.name)
            state = buckets[context.cloud.state_bucket]
            found[plan.name] = create_weka(
                context, plan, host, network, security_groups, zone, state, published, monitoring
            )
    return found
