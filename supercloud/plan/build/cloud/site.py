"""A cloud site: zones, groups of instances, hosts, subnets, storage and cost, in the order of the decisions."""

from __future__ import annotations

from dataclasses import replace

from ....catalog import Catalog
from ....catalog.image_tool import ImageTool
from ....catalog.local_disks import LocalDisks
from ....catalog.metadata_service import MetadataService
from ....catalog.mount_client import MountClient
from ....catalog.provider import Addon, MachineImage
from ....spec import ClusterSpec
from ....spec.site import CloudSite
from ...model.cloud import CloudHost, CloudNetwork, CloudPlan, CloudStorage, NodeGroup
from ...model.plan import PoolPlan, StoragePlan
from ...model.problems import Problems
from .cost import compute_cost
from .groups import build_node_groups
from .hosts import build_database, build_hosts
from .image_builds import build_image_builds
from .inputs import CloudInputs, build_cloud_inputs
from .network import build_network
from .references import build_references
from .storage import build_storage_products, find_storage_service, select_deployment
from .zones import count_required_zones, select_zones

__all__ = ["SERVICE_ADDRESSES", "build_cloud_plan"]

SERVICE_ADDRESSES = 64
"""Addresses per zone reserved for login hosts, file systems, endpoints and other devices than nodes."""


def build_cloud_plan(
    spec: ClusterSpec,
    pools: tuple[PoolPlan, ...],
    storage: tuple[StoragePlan, ...],
    catalog: Catalog,
    problems: Problems,
) -> CloudPlan | None:
    """Decide about a cloud site; None on-prem, and if provider, region or zones are unknown."""
    inputs = build_cloud_inputs(spec, pools, catalog, problems)
    if inputs is None:
        return None
    zones = select_zones(inputs, count_required_zones(inputs, _count_deployment_zones(inputs)))
    if not zones:
        return None
    drafts = build_node_groups(inputs, zones)
    network = build_network(inputs, zones, _compute_address_needs(inputs, drafts, zones))
    groups = tuple(replace(group, subnets=_select_subnets(network, group.zones)) for group in drafts)
    private, public = (
        _select_one_per_zone(network, zones),
        tuple(item.key for item in network.subnets if item.is_public),
    )
    fabric = any(len(group.interfaces) > 1 or group.interfaces[0].kind != "interface" for group in groups)
    products = build_storage_products(inputs, storage, private, fabric)
    hosts = build_hosts(inputs, private, public, products)
    database = build_database(inputs, private)
    partition = inputs.provider.find_partition(inputs.region.name)
    roots = _select_root_devices(inputs, groups, hosts)
    return CloudPlan(
        provider=inputs.provider.name,
        region=inputs.region.name,
        zones=zones,
        network=network,
        groups=groups,
        hosts=hosts,
        storage=products,
        cost=compute_cost(inputs, groups, hosts, _list_created(products), network, database),
        tags=dict(sorted(spec.tags.items())),
        images=_select_images(inputs, groups, hosts),
        monthly_budget=spec.budget,
        database=database,
        impacts=inputs.provider.impacts,
        options=spec.site.own_options if isinstance(spec.site, CloudSite) else {},
        name_rules=inputs.provider.names,
        limits={name: limit.value for name, limit in inputs.provider.limits.items()},
        partition=partition.name if partition else "",
        service_suffix=partition.suffix if partition else "",
        principals=partition.principals if partition else {},
        root_devices=roots,
        image_builds=build_image_builds(inputs, groups, hosts),
        image_tools=_select_image_tools(inputs, groups),
        references=build_references(inputs, groups, hosts, roots),
        image_slurm_releases=_find_slurm_releases(inputs, groups, hosts),
        image_users=_select_image_users(inputs),
        published_images=_select_published_images(inputs, groups, hosts),
        addons=_select_addons(inputs, products),
        object_scheme=inputs.provider.object_scheme,
        metadata_addresses=catalog.get(MetadataService, inputs.provider.name).addresses,
        mount_clients=_select_mount_clients(catalog, products),
        boot_scripts=spec.site.scripts if isinstance(spec.site, CloudSite) else (),
        local_disks=_find_local_disks(catalog, inputs.provider.name),
    )


def _list_created(products: tuple[CloudStorage, ...]) -> tuple[CloudStorage, ...]:
    """Storage that is created, not the user's."""
    return tuple(item for item in products if item.existing is None)


def _count_deployment_zones(inputs: CloudInputs) -> int:
    """Number of zones of the file system that is in the most zones."""
    found = [1]
    for index, item in enumerate(inputs.spec.storage):
        service = find_storage_service(inputs, item, f"storage[{index}]", is_quiet=True)
        deployment = select_deployment(service, item) if service else None
        found.append(deployment.zones if deployment else 1)
    return max(found)


def _compute_address_needs(
    inputs: CloudInputs, groups: tuple[NodeGroup, ...], zones: tuple[str, ...]
) -> dict[str, int]:
    """Required addresses per zone. Capacity sources of one pool are alternatives: the largest in a zone counts."""
    needs = dict.fromkeys(zones, SERVICE_ADDRESSES)
    own: dict[str, list[NodeGroup]] = {}
    for group in groups:
        own.setdefault(group.pool, []).append(group)
    for pool in inputs.pools:
        largest: dict[str, int] = {}
        for group in own.get(pool.name, ()):
            for zone in group.zones:
                largest[zone] = max(largest.get(zone, 0), group.max_nodes * group.addresses_per_node)
        for zone, count in largest.items():
            if zone in needs:
                needs[zone] += count
    return needs


def _select_subnets(network: CloudNetwork, zones: tuple[str, ...]) -> tuple[str, ...]:
    """Keys of the subnets for nodes in these zones; subnets of an unknown zone may be in any."""
    return tuple(item.key for item in network.subnets if item.purpose == "nodes" and item.zone in (*zones, None))


def _select_one_per_zone(network: CloudNetwork, zones: tuple[str, ...]) -> tuple[str, ...]:
    """The first private subnet of each zone but local ones, in the order of the zones; all of them if no zone is
    known.
    """
    inner = [item for item in network.subnets if item.purpose == "nodes" and not item.is_local]
    found = [next((item.key for item in inner if item.zone == zone), None) for zone in zones]
    return (*filter(None, found), *(item.key for item in inner if item.zone is None))


def _list_used_images(groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...]) -> list[str]:
    """Keys of the images in use."""
    return sorted({group.image for group in groups} | {host.image for host in hosts})


def _select_root_devices(
    inputs: CloudInputs, groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...]
) -> dict[str, str]:
    """Root devices of the images in use: the declared one, else that of the published image of this key, else that of
    the scheduler's other images.
    """
    usual = next(
        (image.root for image in inputs.provider.images if image.scheduler == inputs.spec.scheduler.kind), None
    )
    known = {image.key: image.root for image in inputs.provider.images}
    if isinstance(inputs.spec.site, CloudSite):
        known |= {key: image.root for key, image in inputs.spec.site.own_images.items() if image.root}
    found = {key: known.get(key, usual) for key in _list_used_images(groups, hosts)}
    return {key: root for key, root in found.items() if root}


def _find_slurm_releases(
    inputs: CloudInputs, groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...]
) -> dict[str, str]:
    """Slurm releases that the package archives of the published images in use contain."""
    site, used = inputs.spec.site, _list_used_images(groups, hosts)
    own = site.own_images if site.kind != "onprem" else {}
    known = {image.key: image.slurm for image in inputs.provider.images if image.slurm}
    return {key: known[key] for key in used if key in known and key not in own}


def _select_published_images(
    inputs: CloudInputs, groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...]
) -> tuple[MachineImage, ...]:
    """Published images of the keys in use, also of those for which the spec has a custom image."""
    used = _list_used_images(groups, hosts)
    return tuple(image for image in inputs.provider.images if image.key in used)


def _select_image_tools(inputs: CloudInputs, groups: tuple[NodeGroup, ...]) -> tuple[ImageTool, ...]:
    """Tools for the accelerators that images of groups have drivers for."""
    known = {image.key: image.accelerator for image in inputs.provider.images}
    vendors = {known.get(group.image) for group in groups}
    tools = inputs.catalog.iter_entries(ImageTool)
    return tuple(tool for tool in tools if tool.accelerator in vendors and tool.sha256 is not None)


def _select_image_users(inputs: CloudInputs) -> dict[str, str]:
    """Declared administrators of custom images."""
    own = inputs.spec.site.own_images if isinstance(inputs.spec.site, CloudSite) else {}
    return {key: image.user for key, image in own.items() if image.user}


def _select_mount_clients(catalog: Catalog, products: tuple[CloudStorage, ...]) -> tuple[MountClient, ...]:
    """Clients of the types of file systems that machines mount."""
    types = {item.mount_rule.type for item in products if item.mount and item.mount_rule}
    return tuple(client for client in catalog.iter_entries(MountClient) if types & {*client.types})


def _find_local_disks(catalog: Catalog, provider: str) -> LocalDisks | None:
    return catalog.get(LocalDisks, provider) if provider in catalog.list_names("local-disks") else None


def _select_addons(inputs: CloudInputs, products: tuple[CloudStorage, ...]) -> tuple[Addon, ...]:
    """Add-ons of a managed Kubernetes cluster: the default ones, and the drivers of its storage."""
    if not inputs.has_managed_kubernetes:
        return ()
    sold = {item.product for item in products}
    wanted = (item for item in inputs.provider.addons if not item.storage or sold & {*item.storage})
    return tuple(sorted(wanted, key=lambda item: not item.early))


def _select_images(inputs: CloudInputs, groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...]) -> dict[str, str]:
    """References of the images in use: the user's, else the provider's published ones; every image has one."""
    known: dict[str, MachineImage] = {image.key: image for image in inputs.provider.images}
    site = inputs.spec.site
    own = site.own_images if site.kind != "onprem" else {}
    version = inputs.spec.scheduler.version
    found = {}
    for key in _list_used_images(groups, hosts):
        if key in own:
            found[key] = own[key].id
        elif key in known:
            found[key] = known[key].reference.replace("{version}", version)
    return found
