"""Amazon Web Services: the order in which the plan's resources are created."""

from __future__ import annotations

from ..build_context import BuildContext, ClusterOutputs
from .buckets import create_buckets, publish_bundles
from .dns import create_zone
from .eks import create_eks_cluster
from .endpoints import create_endpoints
from .files import FileSystem, find_existing_file_system
from .fixed_interfaces import create_fixed_interfaces
from .image_builder import build_images
from .lookups import require_existing
from .lustre import create_lustre
from .network import create_network
from .nfs import create_nfs
from .outputs import build_outputs
from .provider import create_provider
from .security import create_security_groups
from .shared import SharedResources
from .slurm import create_slurm_cluster
from .watch import create_budget, create_flow_logs, create_monitoring
from .weka import create_weka

__all__ = ["build"]


def build(context: BuildContext) -> ClusterOutputs:
    """Register every resource of the plan and return the outputs for users."""
    context = context.with_provider(create_provider(context))
    require_existing(context)
    network = create_network(context)
    security_groups = create_security_groups(context, network)
    create_endpoints(context, network, security_groups)
    watch = create_monitoring(context)
    create_flow_logs(context, network)
    create_budget(context, watch)
    buckets = create_buckets(context)
    zone = create_zone(context, network)
    published = publish_bundles(context, buckets[context.cloud.state_bucket])
    if context.image_files is not None:
        state = buckets[context.cloud.state_bucket]
        context = context.with_built_images(build_images(context, context.image_files, state, network, security_groups))
    interfaces = create_fixed_interfaces(context, network, security_groups)
    shared = SharedResources(network, security_groups, zone, buckets, published, watch, interfaces)
    files = _create_file_systems(context, shared)
    if context.plan.scheduler.kind == "kubernetes":
        return build_outputs(
            context,
            network,
            security_groups.cluster.id,
            buckets,
            files,
            create_eks_cluster(context, network, security_groups, buckets),
        )
    site = create_slurm_cluster(context, shared, files)
    return build_outputs(context, network, security_groups.cluster.id, buckets, files, site)


def _create_file_systems(context: BuildContext, shared: SharedResources) -> dict[str, FileSystem]:
    """Create file systems by name: managed ones, or on instances of the cluster."""
    network, security_groups = shared.network, shared.security_groups
    found = {}
    for plan in context.cloud.storage:
        if plan.existing is not None:
            found[plan.name] = find_existing_file_system(plan, plan.existing)
        elif plan.kind == "parallel":
            found[plan.name] = create_lustre(context, plan, network, security_groups, shared.buckets, shared.monitoring)
        elif plan.kind == "nfs":
            found[plan.name] = create_nfs(context, plan, shared)
        elif plan.kind == "servers":
            host = next(item for item in context.cloud.list_hosts("storage") if item.storage == plan.name)
            found[plan.name] = create_weka(context, plan, host, shared)
    return found
