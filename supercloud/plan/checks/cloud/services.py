"""What clouds and their managed services do not do although a spec asks for it: said, never dropped in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....catalog import Catalog
from ....errors import Finding
from ...build.kubernetes.labels import build_taints
from ...model.plan import Plan
from .given import iter_cloud_facts, iter_pools
from .storage import iter_cloud_storage

__all__ = ["CHECKS"]

_SOURCE_PATTERN = re.compile(r"https://[^\s/]+/\S+|s3://[a-z0-9][a-z0-9.-]*[a-z0-9]/[^\s*?$]+")
_SECRET_PATTERN = re.compile(r"(arn:[a-z0-9-]+:secretsmanager:[a-z0-9-]+:[0-9]+:secret:)?[A-Za-z0-9/_+=.@-]+")
"""Names of AWS Secrets Manager (CreateSecret). Policies name keys and secrets: a wildcard there would widen them."""


def cloud_provider(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A cloud for which nothing is created yet: what runs in it is rendered all the same."""
    kind = plan.site.kind
    known = [name for name in catalog.list_names("providers")]
    if kind != "onprem" and kind not in known:
        yield Finding(
            "cloud-provider",
            "warning",
            "site.kind",
            f"resources of {kind} are not built yet: no network, machines or storage are planned, priced or created "
            f"(built: {', '.join(known)})",
            "the scheduler's configuration is rendered: supercloud render; bring the machines yourself",
        )


def cloud_closed(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A closed network in a region whose private endpoints are not known by name."""
    for cloud, provider, region in iter_cloud_facts(plan, catalog):
        partition = provider.find_partition(region.name)
        if cloud.network.is_isolated and partition is not None and partition.closed is not None:
            yield Finding(
                "cloud-closed",
                "error",
                "network.closed",
                f"no closed network can be made in {region.name}: {partition.closed}",
                "leave 'closed' out, or give an existing network that has its endpoints",
            )


def cloud_local_disks(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Disks inside nodes of a managed Kubernetes, wanted where the provider does not mount them."""
    for _, provider, _ in iter_cloud_facts(plan, catalog):
        place = provider.kubernetes_local
        if plan.scheduler.kind != "kubernetes" or place is None:
            continue
        for path, declared, _ in iter_pools(plan):
            if declared.local is not None and declared.local.rstrip("/") != place:
                reason = provider.cannot.get("kubernetes:local", f"{provider.name} mounts them at {place}")
                yield Finding(
                    "cloud-local-disks",
                    "error",
                    f"{path}.local",
                    f"disks inside cannot be mounted at {declared.local}: {reason}",
                    f"write {place}, or leave it out",
                )


def cloud_spot_limit(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A limit of the spot price that the managed Kubernetes would ignore."""
    for _, provider, _ in iter_cloud_facts(plan, catalog):
        reason = provider.cannot.get("kubernetes:max_price")
        if plan.scheduler.kind != "kubernetes" or reason is None:
            continue
        for path, declared, _ in iter_pools(plan):
            for index, way in enumerate(declared.capacity):
                limit = getattr(way, "max_price", None)
                if limit is not None:
                    yield Finding(
                        "cloud-spot-limit",
                        "error",
                        f"{path}.capacity[{index}].max_price",
                        f"{limit} would not be kept: {reason}",
                        "leave it out, and bound what is spent with 'budget'",
                    )


def cloud_ways_unused(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Further ways to get machines, where nothing in a managed Kubernetes turns to them by itself."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        reason = provider.cannot.get("kubernetes:grow")
        if plan.scheduler.kind != "kubernetes" or reason is None:
            continue
        for path, declared, pool in iter_pools(plan):
            first, *others = (group.key for group in cloud.list_groups(pool.name))
            if others and len(declared.capacity) > 1:
                yield Finding(
                    "cloud-ways-unused",
                    "note",
                    f"{path}.capacity",
                    f"nodes are started in {first}; {', '.join(others)} stay{'s' * (len(others) == 1)} empty "
                    f"until somebody asks for nodes there: {reason}",
                    "change the size of the group there, or run an autoscaler in the cluster",
                )


def cloud_managed_nodes(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Nodes of a managed Kubernetes with an image it does not take, and no node for what the cluster itself runs."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        reason, site = provider.cannot.get("kubernetes:image-parameter"), plan.spec.site
        if plan.scheduler.kind != "kubernetes":
            continue
        for key, text in site.images.items() if site.kind != "onprem" and reason else ():
            if text.startswith("/") and key in cloud.images:
                yield Finding(
                    "cloud-managed-nodes",
                    "error",
                    f"site.images.{key}",
                    f"{text} cannot be used: {reason}",
                    "name the image itself",
                )
        if not cloud.list_hosts("system") and all(build_taints(plan, pool) for pool in plan.pools):
            yield Finding(
                "cloud-managed-nodes",
                "error",
                "scheduler.system.count",
                "no node takes what the cluster itself runs: every pool is kept for accelerators",
                "have one at least, or a pool without accelerators",
            )


def cloud_storage_install(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Servers of our own whose software nobody says where to get, or that nothing would set up."""
    for path, item, _, service, _ in iter_cloud_storage(plan, catalog):
        if service.lowers_to == "servers" and plan.scheduler.kind == "kubernetes":
            yield Finding(
                "cloud-storage-install",
                "error",
                path,
                f"servers of {service.name} are set up by the start script of Slurm's machines, and a "
                "Kubernetes cluster has none",
                "take a file system that the provider runs",
            )
            continue
        rule = service.install
        if rule is None:
            continue
        source, place = item.options.get(rule.source), f"{path}.options.{rule.source}"
        if source is None:
            yield Finding(
                "cloud-storage-install",
                "error",
                place,
                f"nothing installs the software on the servers of {item.name}",
                f"{rule.what}; where it is, say here, and under {rule.token} the name of a secret that it is "
                "given; accept this finding where your image has the software",
            )
        elif not _SOURCE_PATTERN.fullmatch(str(source)):
            yield Finding(
                "cloud-storage-install",
                "error",
                place,
                f"{str(source)!r} is no place of a program",
                "write https://host/path or s3://bucket/key, in a key without *, ? and $",
            )
        elif plan.cloud is not None and plan.cloud.network.is_isolated and str(source).startswith("https://"):
            yield Finding(
                "cloud-storage-install",
                "error",
                place,
                f"{source} is not reached from a closed network",
                "put it into a bucket: s3://bucket/key",
            )
        token = item.options.get(rule.token)
        if token is not None and not _SECRET_PATTERN.fullmatch(str(token)):
            yield Finding(
                "cloud-storage-install",
                "error",
                f"{path}.options.{rule.token}",
                f"{str(token)!r} is not the name or the ARN of one secret",
                "write its name (letters, digits and /_+=.@-) or its ARN, without wildcards",
            )


CHECKS = (
    cloud_provider,
    cloud_closed,
    cloud_local_disks,
    cloud_spot_limit,
    cloud_ways_unused,
    cloud_managed_nodes,
    cloud_storage_install,
)
