"""Amazon Web Services: from the plan to resources, on one screen."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi_aws import route53, s3

from ..work import Access, Work
from .buckets import buckets_of, publish
from .dns import zone_of
from .eks import kubernetes_of
from .endpoints import endpoints_of
from .files import FileSystem
from .lustre import lustre_of
from .network import Network, network_of
from .nfs import nfs_of
from .outputs import access_of
from .provider import provider_of
from .security import Walls, walls_of
from .slurm import slurm_of
from .watch import Watch, budget_of, flows_of, watch_of
from .weka import weka_of

__all__ = ["build"]


def build(work: Work) -> Access:
    """Register every resource of the plan and say what a user needs of them."""
    work = work.using(provider_of(work))
    network = network_of(work)
    walls = walls_of(work, network)
    endpoints_of(work, network, walls)
    watch = watch_of(work)
    flows_of(work, network)
    budget_of(work, watch)
    buckets = buckets_of(work)
    zone = zone_of(work, network)
    published = publish(work, buckets[work.cloud.state_bucket])
    files = _files(work, network, walls, zone, buckets, published, watch)
    if work.plan.scheduler.kind == "kubernetes":
        return access_of(work, network, buckets, files, kubernetes_of(work, network, walls, buckets))
    site = slurm_of(work, network, walls, zone, buckets, published, files, watch)
    return access_of(work, network, buckets, files, site)


def _files(
    work: Work,
    network: Network,
    walls: Walls,
    zone: route53.Zone,
    buckets: Mapping[str, s3.Bucket],
    published: list[pulumi.Resource],
    watch: Watch,
) -> dict[str, FileSystem]:
    """File systems by name, of the provider's or on instances of our own."""
    found = {}
    for plan in work.cloud.storage:
        if plan.kind == "parallel":
            found[plan.name] = lustre_of(work, plan, network, walls, buckets, watch)
        elif plan.kind == "nfs":
            found[plan.name] = nfs_of(work, plan, network, walls)
        elif plan.kind == "servers":
            host = next(item for item in work.cloud.hosts_of("storage") if item.storage == plan.name)
            state = buckets[work.cloud.state_bucket]
            found[plan.name] = weka_of(work, plan, host, network, walls, zone, state, published, watch)
    return found
