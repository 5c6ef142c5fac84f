"""Networks, subnets and images that exist already: named whole, of the right kind, where they are needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import cast

from ....catalog import Catalog, Provider, StorageService
from ....errors import Finding
from ....spec.cluster import PASSED_IDENTIFIER
from ...model.cloud import CloudPlan, SubnetPlan
from ...model.plan import Plan
from .given import iter_cloud_facts
from .storage import iter_cloud_storage

__all__ = ["CHECKS"]


def cloud_network_given(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """An existing network that is described by half."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        declared = plan.spec.network
        if not declared.id and not declared.subnets:
            continue
        if declared.id and not declared.subnets:
            yield Finding(
                "cloud-network-given",
                "error",
                "network.id",
                f"{declared.id} is named without subnets: which of them may be used?",
                "name them under network.subnets, with zone and whether they are public",
            )
            continue
        if not declared.id:
            yield Finding(
                "cloud-network-given",
                "error",
                "network.subnets",
                "subnets without their network",
                "name it under network.id",
            )
        for field in ("cidr", "cidrs", *(f"blocks.{name}" for name in type(declared.blocks).model_fields)):
            owner, _, name = field.rpartition(".")
            if getattr(declared.blocks if owner else declared, name):
                yield Finding(
                    "cloud-network-given",
                    "error",
                    f"network.{field}",
                    "an existing network has its ranges already",
                    "leave it out",
                )
        seen: set[str | None] = set()
        for index, item in enumerate(cloud.network.subnets):
            if item.existing in seen:
                yield Finding(
                    "cloud-network-given",
                    "error",
                    f"network.subnets[{index}]",
                    f"{item.existing} is named twice",
                    "name each subnet once",
                )
            seen.add(item.existing)
        inner = [item for item in cloud.network.subnets if not item.is_public]
        if not inner:
            yield Finding(
                "cloud-network-given",
                "error",
                "network.subnets",
                "none of the subnets is private",
                "add the ones for nodes",
            )
        for pool in plan.pools:
            groups = cloud.list_groups(pool.name)
            if pool.fabrics and groups and len(groups[0].subnets) > 1 and any(item.zone is None for item in inner):
                yield Finding(
                    "cloud-network-given",
                    "warning",
                    "network.subnets",
                    f"nodes of {pool.name} may be put in {len(groups[0].subnets)} subnets whose zones are not said, "
                    "and their fabric never spans zones",
                    "write them as {id: …, zone: …}",
                )


def cloud_subnet_zones(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Existing subnets that are in too few zones, or in others than what has to be put there."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        inner = [item for item in cloud.network.subnets if not item.is_public]
        if cloud.network.existing is None or not inner:
            continue
        for zone in dict.fromkeys(zone for group in cloud.groups for zone in group.zones):
            if all(item.zone not in (zone, None) for item in inner):
                yield Finding(
                    "cloud-subnet-zones",
                    "error",
                    "network.subnets",
                    f"nodes shall be in {zone}, the private subnets are in "
                    f"{', '.join(sorted({str(item.zone) for item in inner}))}",
                    f"add one in {zone}, or name other zones under site.zones",
                )
        for what, wanted, keys in _iter_zone_requirements(cloud, provider, plan, catalog):
            found = [item for item in inner if item.key in keys]
            if _count_zones(found) < wanted:
                yield Finding(
                    "cloud-subnet-zones",
                    "error",
                    "network.subnets",
                    f"{what} wants private subnets in {wanted} zones, "
                    f"{'one is' if _count_zones(found) == 1 else f'{_count_zones(found)} are'} given",
                    "add another one, in another zone",
                )
        for item in cloud.storage:
            unknown = [key for key in item.subnets if cloud.network.get_subnet(key).zone is None]
            if len(unknown) > 1:
                yield Finding(
                    "cloud-subnet-zones",
                    "warning",
                    "network.subnets",
                    f"{item.name} ({item.product}) has one address a zone, and the zones of {len(unknown)} subnets are "
                    "not said: two in one zone are refused",
                    "write them as {id: …, zone: …}",
                )


def _iter_zone_requirements(
    cloud: CloudPlan, provider: Provider, plan: Plan, catalog: Catalog
) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """(what, zones it wants, keys of the subnets it may have)"""
    every = tuple(item.key for item in cloud.network.subnets if not item.is_public)
    if plan.scheduler.kind == "kubernetes":
        yield "the control plane", provider.network.control_zones, every
    if cloud.database and provider.database:
        yield f"the database ({cloud.database.product})", provider.database.zones, cloud.database.subnets
    for item in cloud.storage:
        service = cast(StorageService, catalog.get("storage-services", item.product))
        deployment = service.find_deployment(str(item.options.get("deployment", "")))
        if deployment is not None and deployment.zones > 1:
            yield f"{item.name} ({item.product} {deployment.name})", deployment.zones, item.subnets


def _count_zones(subnets: Sequence[SubnetPlan]) -> int:
    """Most zones they can be in: those that nobody said may all be different."""
    known = {item.zone for item in subnets if item.zone}
    return len(known) + sum(item.zone is None for item in subnets)


def cloud_storage_routes(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A file system for which something would have to be done in the user's network."""
    for path, item, _, service, deployment in iter_cloud_storage(plan, catalog):
        if plan.cloud and plan.cloud.network.existing and deployment is not None and deployment.given:
            yield Finding(
                "cloud-storage-routes",
                "warning",
                f"{path}.deployment",
                f"{service.name} {deployment.name} in an existing network: {deployment.given}",
                f"let subnets of nodes use that table, or add {item.name} to theirs by hand",
            )


def cloud_identifier(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """What cannot be the identifier of a network, a subnet or an image."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        named = [("network", "network.id", plan.spec.network.id)]
        named += [("subnet", f"network.subnets[{i}]", item.existing) for i, item in enumerate(cloud.network.subnets)]
        site = plan.spec.site
        if site.kind != "onprem":
            named += [("image", f"site.images.{key}", text) for key, text in site.images.items()]
        for kind, path, text in named:
            rule = provider.identifiers.get(kind)
            if text is None or rule is None or text.startswith(PASSED_IDENTIFIER) or re.fullmatch(rule, text):
                continue
            yield Finding(
                "cloud-identifier", "error", path, f"{text!r} is no {kind} of {provider.name}", f"it looks like {rule}"
            )


CHECKS = (cloud_network_given, cloud_subnet_zones, cloud_storage_routes, cloud_identifier)
