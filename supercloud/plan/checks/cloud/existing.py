"""Checks of existing networks, subnets and images: complete, of the right kind, in the required zones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ....catalog import Catalog, Provider, StorageService
from ....errors import Finding
from ....spec.cluster import PASSED_IDENTIFIER, Network
from ...model.cloud import CloudPlan, SubnetPlan
from ...model.plan import Plan
from .facts import iter_cloud_facts
from .storage import iter_cloud_storage

__all__ = ["CHECKS"]


def cloud_network_existing(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """An existing network that is described incompletely."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        declared = plan.spec.network
        if not declared.id and not declared.subnets:
            continue
        if declared.id and not declared.subnets:
            yield Finding(
                "cloud-network-existing",
                "error",
                "network.id",
                f"{declared.id} is set without the subnets to use",
                "list them in network.subnets, with their zone and whether they are public",
            )
            continue
        if not declared.id:
            yield Finding(
                "cloud-network-existing",
                "error",
                "network.subnets",
                "subnets are set without their network",
                "set network.id",
            )
        yield from _check_existing_ranges(declared)
        yield from _check_existing_subnets(plan, cloud)


def _check_existing_ranges(declared: Network) -> Iterator[Finding]:
    """Ranges that are set for an existing network."""
    for field in ("cidr", "cidrs", *(f"blocks.{name}" for name in type(declared.blocks).model_fields)):
        owner, _, name = field.rpartition(".")
        if getattr(declared.blocks if owner else declared, name):
            yield Finding(
                "cloud-network-existing",
                "error",
                f"network.{field}",
                "an existing network already has its ranges",
                "omit it",
            )


def _check_existing_subnets(plan: Plan, cloud: CloudPlan) -> Iterator[Finding]:
    """Duplicate subnets, none for nodes, and unspecified zones of those for nodes of a fabric."""
    seen: set[str | None] = set()
    for index, item in enumerate(cloud.network.subnets):
        if item.existing in seen:
            yield Finding(
                "cloud-network-existing",
                "error",
                f"network.subnets[{index}]",
                f"duplicate subnet {item.existing}",
                "list each subnet once",
            )
        seen.add(item.existing)
    inner = _list_private_subnets(cloud)
    if not inner:
        yield Finding(
            "cloud-network-existing",
            "error",
            "network.subnets",
            "none of the subnets is private",
            "add subnets for nodes",
        )
    if all(item.zone is not None for item in inner):
        return
    for pool in plan.pools:
        groups = cloud.list_groups(pool.name)
        if pool.fabrics and groups and len(groups[0].subnets) > 1:
            yield Finding(
                "cloud-network-existing",
                "warning",
                "network.subnets",
                f"nodes of {pool.name} may be placed in {len(groups[0].subnets)} subnets with unspecified zones, "
                "but their fabric never spans zones",
                "write them as {id: …, zone: …}",
            )


def _list_private_subnets(cloud: CloudPlan) -> list[SubnetPlan]:
    return [item for item in cloud.network.subnets if not item.is_public]


def cloud_subnet_zones(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Existing subnets in too few zones, or in zones other than required."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        inner = _list_private_subnets(cloud)
        if cloud.network.existing is None or not inner:
            continue
        yield from _check_node_zones(cloud, inner)
        for what, wanted, keys in _iter_zone_requirements(cloud, provider, plan, catalog):
            count = _count_zones([item for item in inner if item.key in keys])
            if count < wanted:
                yield Finding(
                    "cloud-subnet-zones",
                    "error",
                    "network.subnets",
                    f"{what} requires private subnets in {wanted} zones, "
                    f"{'one is' if count == 1 else f'{count} are'} declared",
                    "add another subnet, in another zone",
                )
        yield from _check_storage_zones(cloud)


def _check_node_zones(cloud: CloudPlan, inner: Sequence[SubnetPlan]) -> Iterator[Finding]:
    """Zones of nodes without a private subnet."""
    for zone in dict.fromkeys(zone for group in cloud.groups for zone in group.zones):
        if all(item.zone not in (zone, None) for item in inner):
            yield Finding(
                "cloud-subnet-zones",
                "error",
                "network.subnets",
                f"nodes are declared in {zone}, but the private subnets are in "
                f"{', '.join(sorted({str(item.zone) for item in inner}))}",
                f"add one in {zone}, or set other zones in site.zones",
            )


def _check_storage_zones(cloud: CloudPlan) -> Iterator[Finding]:
    """Storage with one address per zone in subnets with unspecified zones."""
    for item in cloud.storage:
        unknown = [key for key in item.subnets if cloud.network.get_subnet(key).zone is None]
        if len(unknown) > 1:
            yield Finding(
                "cloud-subnet-zones",
                "warning",
                "network.subnets",
                f"{item.name} ({item.product}) has one address per zone, and the zones of {len(unknown)} subnets "
                "are not specified: two in one zone are rejected",
                "write them as {id: …, zone: …}",
            )


def _iter_zone_requirements(
    cloud: CloudPlan, provider: Provider, plan: Plan, catalog: Catalog
) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Resource, number of zones that it requires, and keys of the subnets that it may use."""
    every = tuple(item.key for item in cloud.network.subnets if not item.is_public)
    if plan.scheduler.kind == "kubernetes":
        yield "the control plane", provider.network.control_zones, every
    if cloud.database and provider.database:
        yield f"the database ({cloud.database.product})", provider.database.zones, cloud.database.subnets
    for item in cloud.storage:
        service = catalog.get(StorageService, item.product)
        deployment = service.find_deployment(str(item.options.get("deployment", "")))
        if deployment is not None and deployment.zones > 1:
            yield f"{item.name} ({item.product} {deployment.name})", deployment.zones, item.subnets


def _count_zones(subnets: Sequence[SubnetPlan]) -> int:
    """Maximum number of zones they can be in: unspecified zones may all be different."""
    known = {item.zone for item in subnets if item.zone}
    return len(known) + sum(item.zone is None for item in subnets)


def cloud_storage_routes(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A file system that requires a change in the user's network."""
    for path, item, _, service, deployment in iter_cloud_storage(plan, catalog):
        if plan.cloud and plan.cloud.network.existing and deployment is not None and deployment.existing:
            yield Finding(
                "cloud-storage-routes",
                "warning",
                f"{path}.deployment",
                f"{service.name} {deployment.name} in an existing network: {deployment.existing}",
                f"use that table for the subnets of nodes, or add {item.name} to theirs by hand",
            )


def cloud_identifier(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Invalid identifiers of networks, subnets and images."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        named = [("network", "network.id", plan.spec.network.id)]
        named += [("subnet", f"network.subnets[{i}]", item.existing) for i, item in enumerate(cloud.network.subnets)]
        site = plan.spec.site
        named.append(("zone", "network.zone", plan.spec.network.zone))
        for name, value in cloud.options.items():
            named += [(name, f"site.{name}", text) for text in str(value).split(" ")] if name != "key_pair" else []
        if site.kind != "onprem":
            named += [("image", f"site.images.{key}", image.id) for key, image in site.own_images.items()]
        for kind, path, text in named:
            rule = provider.identifiers.get(kind)
            if text is None or rule is None or text.startswith(PASSED_IDENTIFIER) or re.fullmatch(rule, text):
                continue
            yield Finding(
                "cloud-identifier",
                "error",
                path,
                f"{text!r} is not a valid {kind} of {provider.name}",
                f"an example is {rule}",
            )


CHECKS = (cloud_network_existing, cloud_subnet_zones, cloud_storage_routes, cloud_identifier)
