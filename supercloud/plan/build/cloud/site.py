"""A cloud site: zones, groups of instances, hosts, subnets, storage and what it all costs, on one screen."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ....catalog import Catalog
from ....catalog.metadata_service import MetadataService
from ....catalog.provider import Addon, Image
from ....spec import ClusterSpec
from ....spec.site import AwsSite
from ...model.cloud import CloudHost, CloudNetwork, CloudPlan, CloudStorage, NodeGroup
from ...model.plan import PoolPlan, StoragePlan
from ..problems import Problems
from .cost import cost_of
from .given import Given, given_of
from .groups import groups_of
from .hosts import database_of, hosts_of
from .network import network_of
from .storage import deployment_of, service_of, storage_products
from .zones import zones_of, zones_wanted

__all__ = ["SERVICES", "cloud_of"]

SERVICES = 64
"""Addresses of a zone kept for logins, file systems, endpoints and other things besides nodes."""


def cloud_of(
    spec: ClusterSpec,
    pools: tuple[PoolPlan, ...],
    storage: tuple[StoragePlan, ...],
    catalog: Catalog,
    problems: Problems,
) -> CloudPlan | None:
    """Everything about a cloud site; None on-prem and where provider, region or zones are not known."""
    given = given_of(spec, pools, catalog, problems)
    if given is None:
        return None
    zones = zones_of(given, zones_wanted(given, _deployment_zones(given)))
    if not zones:
        return None
    drafts = groups_of(given, zones)
    network = network_of(given, zones, _needs(given, drafts, zones))
    groups = tuple(replace(group, subnets=_subnets(network, group.zones)) for group in drafts)
    private, public = _one_a_zone(network, zones), tuple(item.key for item in network.subnets if item.public)
    fabric = any(len(group.interfaces) > 1 or group.interfaces[0].kind != "interface" for group in groups)
    products = storage_products(given, storage, private, fabric)
    hosts = hosts_of(given, private, public, products)
    database = database_of(given, private)
    partition = given.provider.partition(given.region.name)
    return CloudPlan(
        provider=given.provider.name,
        region=given.region.name,
        zones=zones,
        network=network,
        groups=groups,
        hosts=hosts,
        storage=products,
        cost=cost_of(given, groups, hosts, products, network, database),
        tags=dict(sorted(spec.tags.items())),
        images=_images(given, groups, hosts),
        monthly_budget=spec.budget,
        database=database,
        impacts=given.provider.impacts,
        options={"metadata_hops": spec.site.metadata_hops} if isinstance(spec.site, AwsSite) else {},
        names=given.provider.names,
        limits={name: limit.value for name, limit in given.provider.limits.items()},
        partition=partition.name if partition else "",
        principals=partition.principals if partition else {},
        roots=_roots(given, groups, hosts),
        addons=_addons(given, products),
        metadata=cast(MetadataService, catalog.get("metadata-services", given.provider.name)).addresses,
    )


def _deployment_zones(given: Given) -> int:
    """Zones that the file system in most zones stands in."""
    found = [1]
    for index, item in enumerate(given.spec.storage):
        service = service_of(given, item, f"storage[{index}]", quiet=True)
        deployment = deployment_of(service, item) if service else None
        found.append(deployment.zones if deployment else 1)
    return max(found)


def _needs(given: Given, groups: tuple[NodeGroup, ...], zones: tuple[str, ...]) -> dict[str, int]:
    """Addresses each zone must have. Ways of one pool stand in for each other: the largest in a zone counts."""
    needs = dict.fromkeys(zones, SERVICES)
    for pool in given.pools:
        own = [group for group in groups if group.pool == pool.name]
        for zone in zones:
            taken = [group.nodes * group.addresses for group in own if zone in group.zones]
            needs[zone] += max(taken, default=0)
    return needs


def _subnets(network: CloudNetwork, zones: tuple[str, ...]) -> tuple[str, ...]:
    """Keys of the subnets for nodes in these zones; subnets whose zone is not known may be in any."""
    return tuple(item.key for item in network.subnets if item.purpose == "nodes" and item.zone in (*zones, None))


def _one_a_zone(network: CloudNetwork, zones: tuple[str, ...]) -> tuple[str, ...]:
    """The first private subnet of each zone, in the order of the zones; where no zone is known, all of them."""
    inner = [item for item in network.subnets if item.purpose == "nodes"]
    found = [next((item.key for item in inner if item.zone == zone), None) for zone in zones]
    return (*filter(None, found), *(item.key for item in inner if item.zone is None))


def _used(groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...]) -> list[str]:
    """Keys of the images in use."""
    return sorted({group.image for group in groups} | {host.image for host in hosts})


def _roots(given: Given, groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...]) -> dict[str, str]:
    """Root devices of the images in use; where none is published, as in the scheduler's other images."""
    usual = next((image.root for image in given.provider.images if image.scheduler == given.spec.scheduler.kind), None)
    known = {image.key: image.root for image in given.provider.images}
    found = {key: known.get(key, usual) for key in _used(groups, hosts)}
    return {key: root for key, root in found.items() if root}


def _addons(given: Given, products: tuple[CloudStorage, ...]) -> tuple[Addon, ...]:
    """Add-ons of a managed Kubernetes cluster: those that each has, and drivers of its storage."""
    if not given.kubernetes:
        return ()
    sold = {item.product for item in products}
    wanted = (item for item in given.provider.addons if not item.storage or sold & {*item.storage})
    return tuple(sorted(wanted, key=lambda item: not item.early))


def _images(given: Given, groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...]) -> dict[str, str]:
    """References of the images in use: the user's, else what the provider publishes; none is left out."""
    known: dict[str, Image] = {image.key: image for image in given.provider.images}
    site = given.spec.site
    own = site.images if site.kind != "onprem" else {}
    version = given.spec.scheduler.version
    found = {}
    for key in _used(groups, hosts):
        if key in own:
            found[key] = own[key]
        elif key in known:
            found[key] = known[key].reference.replace("{version}", version)
    return found
