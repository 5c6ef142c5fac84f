"""Checks of features that clouds and their managed services lack: reported, never ignored silently."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....catalog import Catalog, Provider
from ....errors import Finding
from ...build.kubernetes.labels import build_taints
from ...model.plan import Plan
from .facts import iter_cloud_facts, iter_pools
from .storage import iter_cloud_storage

__all__ = ["CHECKS"]

_ADDRESS_PATTERN = r"https://[^\s/]+/\S+"


def cloud_provider(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A cloud for which no resources are created yet: the scheduler's configuration is still rendered."""
    kind = plan.site.kind
    known = list(catalog.list_names("providers"))
    if kind != "onprem" and kind not in known:
        yield Finding(
            "cloud-provider",
            "warning",
            "site.kind",
            f"resources of {kind} are not supported yet: no network, machines or storage are planned, priced or "
            f"created (supported: {', '.join(known)})",
            "the scheduler's configuration is rendered: supercloud render; create the machines yourself",
        )


def cloud_isolation(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """An isolated network in a region without known private endpoints."""
    for cloud, provider, region in iter_cloud_facts(plan, catalog):
        partition = provider.find_partition(region.name)
        if cloud.network.is_isolated and partition is not None and partition.isolated is not None:
            yield Finding(
                "cloud-isolation",
                "error",
                "network.isolated",
                f"isolated networks are not available in {region.name}: {partition.isolated}",
                "omit 'isolated', or use an existing network that has its endpoints",
            )


def cloud_local_disks(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Disks inside nodes of a managed Kubernetes with a mount point that the provider does not support."""
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
                    f"internal disks cannot be mounted at {declared.local}: {reason}",
                    f"set {place}, or omit it",
                )


def cloud_spot_limit(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A spot price limit that the managed Kubernetes would ignore."""
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
                        f"the limit of {limit} would not be enforced: {reason}",
                        "omit it, and limit the cost with 'budget'",
                    )


def cloud_capacity_unused(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Additional capacity that a managed Kubernetes does not use automatically."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        reason = provider.cannot.get("kubernetes:grow")
        if plan.scheduler.kind != "kubernetes" or reason is None:
            continue
        for path, declared, pool in iter_pools(plan):
            first, *others = (group.key for group in cloud.list_groups(pool.name))
            if others and not pool.can_grow and len(declared.capacity) > 1:
                yield Finding(
                    "cloud-capacity-unused",
                    "note",
                    f"{path}.capacity",
                    f"nodes are started in {first}; {', '.join(others)} stay{'s' * (len(others) == 1)} empty "
                    f"until nodes are requested there: {reason}",
                    "set 'initial' or 'min' below 'nodes': an autoscaler then starts them, in this order",
                )


def cloud_managed_nodes(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Nodes of a managed Kubernetes with an unsupported image, and clusters without a node for system pods."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        reason, site = provider.cannot.get("kubernetes:image-parameter"), plan.spec.site
        if plan.scheduler.kind != "kubernetes":
            continue
        for key, image in site.own_images.items() if site.kind != "onprem" and reason else ():
            if _is_identifier(provider, "image-parameter", image.id) and key in cloud.images:
                yield Finding(
                    "cloud-managed-nodes",
                    "error",
                    f"site.images.{key}",
                    f"{image.id} cannot be used: {reason}",
                    "set the image ID",
                )
        if not cloud.list_hosts("system") and all(build_taints(plan, pool) for pool in plan.pools):
            yield Finding(
                "cloud-managed-nodes",
                "error",
                "scheduler.system.count",
                "no node accepts the system pods of the cluster: every pool is reserved for accelerators",
                "set at least one, or add a pool without accelerators",
            )


def cloud_storage_install(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Self-managed servers without a source of their software, or that nothing would set up."""
    for path, item, _, service, _ in iter_cloud_storage(plan, catalog):
        provider = catalog.get(Provider, service.provider)
        if service.lowers_to == "servers" and plan.scheduler.kind == "kubernetes":
            yield Finding(
                "cloud-storage-install",
                "error",
                path,
                f"servers of {service.name} are set up by the start script of Slurm's machines, and a "
                "Kubernetes cluster has none",
                "use a file system managed by the provider",
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
                f"{rule.what}; set its location here, and in {rule.token} the name of a secret that it is "
                "passed; suppress this finding if your image has the software",
            )
        elif not (re.fullmatch(_ADDRESS_PATTERN, str(source)) or _is_identifier(provider, "object", str(source))):
            yield Finding(
                "cloud-storage-install",
                "error",
                place,
                f"{str(source)!r} is not a valid location of a program",
                f"use https://host/path or {provider.identifier_forms.get('object', 'an object of a bucket')}",
            )
        elif plan.cloud is not None and plan.cloud.network.is_isolated and str(source).startswith("https://"):
            yield Finding(
                "cloud-storage-install",
                "error",
                place,
                f"{source} is not reachable from an isolated network",
                f"put it into a bucket: {provider.identifier_forms.get('object', 'its location')}",
            )
        token = item.options.get(rule.token)
        if token is not None and not _is_identifier(provider, "secret", str(token)):
            yield Finding(
                "cloud-storage-install",
                "error",
                f"{path}.options.{rule.token}",
                f"{str(token)!r} is not a valid secret of {provider.name}",
                f"set {provider.identifier_forms.get('secret', 'its identifier')}",
            )


def cloud_storage_digest(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Programs that run as root on file servers without a digest that they must have, or with an invalid one."""
    for path, item, _, service, _ in iter_cloud_storage(plan, catalog):
        rule = service.install
        if rule is None or rule.source not in item.options:
            continue
        source, digest = str(item.options[rule.source]), item.options.get(rule.digest)
        place = f"{path}.options.{rule.digest}"
        if digest is None and source.startswith("https://"):
            yield Finding(
                "cloud-storage-digest",
                "error",
                place,
                f"servers run {source} as root, whatever it is when they start: no digest of it is set",
                f"set {rule.digest} to the output of sha256sum for the program that you have checked",
            )
        elif digest is not None and not re.fullmatch("[0-9A-Fa-f]{64}", str(digest)):
            yield Finding(
                "cloud-storage-digest",
                "error",
                place,
                f"{str(digest)!r} is not a SHA-256 digest, which has 64 hexadecimal digits",
                "set the output of sha256sum, as text in quotes",
            )


def _is_identifier(provider: Provider, kind: str, text: str) -> bool:
    """Whether a text is an identifier of a kind of resource of a provider that has such resources."""
    return kind in provider.identifiers and re.fullmatch(provider.identifiers[kind], text) is not None


CHECKS = (
    cloud_provider,
    cloud_isolation,
    cloud_local_disks,
    cloud_spot_limit,
    cloud_capacity_unused,
    cloud_managed_nodes,
    cloud_storage_digest,
    cloud_storage_install,
)
