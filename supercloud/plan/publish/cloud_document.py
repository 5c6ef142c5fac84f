"""The cloud site of the published plan. Field names include the unit."""

from __future__ import annotations

from ...primitives.quantity import Money, Size
from ..build.cloud.cost import HOURS_PER_MONTH
from ..build.cloud.region import compute_accelerator_carbon
from ..model.cloud import CloudHost, CloudNetwork, CloudPlan, CloudStorage, NodeGroup
from ..model.cloud_cost import CloudCost
from ..model.plan import Plan
from .document_part import DocumentPart, round_quantity

__all__ = ["CloudDocument", "build_cloud_document"]


class CloudSubnetDocument(DocumentPart):
    """A subnet in one zone."""

    name: str
    """Key of the subnet: ``public-<zone>``, ``private-<zone>``, ``control-<zone>``, or ``given-<number>`` for an
    existing one."""
    zone: str | None
    """Availability zone; null for an existing subnet whose zone is known to the provider only."""
    purpose: str
    """Use of the subnet: ``nodes``, ``public`` (hosts with a public address) or ``control`` (interfaces of a managed
    control plane)."""
    cidr: str | None
    """Address range; null for an existing subnet."""
    existing: str | None
    """Identifier of an existing subnet; null for a new one."""


class CloudNetworkDocument(DocumentPart):
    """The network of a cloud site."""

    existing: str | None
    """Identifier of an existing network of the user's; null for a new one."""
    cidr: str | None
    """First range of a new network; null for an existing one."""
    additional_cidrs: list[str]
    """Further ranges of a new network, in addition to the first; empty if it has one."""
    isolated: bool
    """Whether the network has no route to the internet: services are reached through private endpoints only."""
    subnets: list[CloudSubnetDocument]
    """Subnets of the cluster."""
    existing_zone: str | None
    """Identifier of an existing private DNS zone of the user's; null for a new one."""
    endpoints: dict[str, str]
    """Private endpoint -> gateway or interface."""
    access: list[str]
    """Address ranges that can reach public hosts by SSH, and the API of a managed control plane; empty means none by
    SSH and any for the API."""


class CloudGroupDocument(DocumentPart):
    """Equal instances of one pool from one source of capacity: the unit that a cloud scales."""

    name: str
    """Key of the group: the pool's name, with a suffix where the pool has several sources of capacity or zones."""
    pool: str
    """Pool of its nodes."""
    order: int
    """Order of attempts; 0 is tried first."""
    capacity: str
    """Kind of capacity: ``on-demand``, ``spot``, ``flex-start``, ``reservation``, ``reservation-group`` or
    ``capacity-block``."""
    capacity_id: str | None
    """Identifier of the reservation, its group or the capacity block; null for other kinds."""
    nodes: int
    """Maximum number of instances."""
    minimum: int
    """Number of instances that are always running."""
    initial: int
    """Number of instances at creation; a scheduler that resizes groups changes it afterwards."""
    zones: list[str]
    """Availability zones of its instances."""
    subnets: list[str]
    """Keys of the subnets of its instances."""
    interfaces: dict[str, int]
    """Kind of network interface -> number per instance."""
    addresses_per_node: int
    """Subnet addresses per instance, including those of its pods where pods use subnet addresses."""
    placement_group: bool
    """Whether a placement group keeps its instances close to each other."""
    existing_placement_group: str | None
    """Name of an existing placement group of the user's; null without one."""
    cores: int | None
    """Cores of an instance that shows one hardware thread of each; null if all threads are used."""
    domain_nodes: int
    """Instances of one scale-up domain, which are started together; 1 without one."""
    disk_bytes: int
    """Size of the root disk in bytes."""
    local_disk_mount: str | None
    """Mount point of the local disks, joined as one volume without redundancy; null if they are not used."""
    image: str
    """Key of the image in ``images``."""


class CloudHostDocument(DocumentPart):
    """Equal instances outside of the pools."""

    name: str
    """Key of the hosts."""
    role: str
    """Role: ``controller``, ``login``, ``database``, ``storage`` or ``system`` (nodes for the services of a Kubernetes
    cluster)."""
    machine: str
    """Instance type."""
    count: int
    """Number of instances."""
    hosts: list[str]
    """Private DNS names, without the domain."""
    subnets: list[str]
    """Keys of their subnets."""
    public: bool
    """Whether they have a public address."""
    balancer: str | None
    """Load balancer in front of them: ``private`` or ``public``; null without one."""
    disk_bytes: int
    """Size of the root disk in bytes."""
    state_bytes: int | None
    """Size of the separate disk for state that survives the instance, in bytes; null without one."""
    image: str
    """Key of the image in ``images``."""


class CloudStorageDocument(DocumentPart):
    """A storage service of the provider, or an object store."""

    name: str
    """Name of the storage in the spec."""
    kind: str
    """``parallel``, ``nfs``, ``bucket`` (object store) or ``servers`` (a file system on instances of the cluster)."""
    product: str
    """Product in the catalog."""
    subnets: list[str]
    """Keys of the subnets that it has interfaces in; empty for an object store."""
    capacity_bytes: int | None
    """Purchased capacity in bytes: a step of the product, at least the requested capacity; null if it grows with its
    content."""
    throughput_mb_s: float | None
    """Total throughput in MB/s; null if it is not sold as such."""
    throughput_per_tib_mb_s: float | None
    """Throughput per TiB of capacity in MB/s; null if it is not sold in that unit."""
    options: dict[str, str | int | bool]
    """Other settings in the provider's terms, such as deployment type and compression."""
    linked_store: str | None
    """URL of the object store that it imports from, or the name of one in this plan; null without one."""
    existing: str | None
    """Identifier of an existing file system of the user's; null for a new one."""


class CloudDatabaseDocument(DocumentPart):
    """The accounting database that the provider runs."""

    product: str
    """Product of the provider."""
    engine: str
    """Database engine."""
    version: str
    """Version of the engine."""
    machine: str
    """The provider's name of the instance size."""
    disk_bytes: int
    """Size of its disk in bytes."""
    host: str
    """Private DNS name, without the domain."""


class CloudCostLineDocument(DocumentPart):
    """Cost of equal items."""

    item: str
    """What is paid for, for example a group of nodes."""
    count: int
    """Number of units."""
    unit_price_usd_h: float | None
    """Price of one unit in USD per hour; null if no price has a source."""
    source: str
    """Origin and date of the price; empty without a price."""


class CloudCostDocument(DocumentPart):
    """Cost of the cluster with everything running."""

    known_usd_h: float
    """Sum of the known prices in USD per hour; a lower bound if ``unpriced_items`` is not empty."""
    known_usd_month: float
    """Sum of the known prices in USD for a month of 730 hours."""
    unpriced_items: list[str]
    """Items without a price that has a source; empty if all have one."""
    lines: list[CloudCostLineDocument]
    """Cost by item."""


class CloudDocument(DocumentPart):
    """Decisions about a cloud site."""

    provider: str
    """Cloud: ``aws``, ``gcp`` or ``azure``."""
    region: str
    """Region of the cloud."""
    zones: list[str]
    """Availability zones of the cluster."""
    network: CloudNetworkDocument
    """The network of the cluster."""
    groups: list[CloudGroupDocument]
    """Groups of instances, in the order of the pools; within a pool in the order in which capacity is requested."""
    hosts: list[CloudHostDocument]
    """Controllers, login hosts, databases and storage servers."""
    storage: list[CloudStorageDocument]
    """Storage services and object stores."""
    database: CloudDatabaseDocument | None
    """The accounting database that the provider runs; null if a host of the cluster runs it, or if there is none."""
    images: dict[str, str]
    """Key of an image -> the provider's reference: a public parameter, a family or an identifier."""
    options: dict[str, str | int | bool]
    """Other settings of all instances in the provider's terms."""
    tags: dict[str, str]
    """Tags of all resources, besides those of the project."""
    monthly_budget_usd: float | None
    """Monthly budget in USD; null without one."""
    cost: CloudCostDocument
    """Cost with everything running."""
    accelerator_carbon_kg_h: float | None
    """Hourly kgCO2e of the accelerators at their TDP; null if TDP or the grid's carbon intensity is unknown."""


def build_cloud_document(plan: Plan) -> CloudDocument | None:
    """Build the publishable form of a cloud site; None on-prem."""
    cloud = plan.cloud
    if cloud is None:
        return None
    carbon = compute_accelerator_carbon(plan)
    return CloudDocument(
        provider=cloud.provider,
        region=cloud.region,
        zones=list(cloud.zones),
        network=_build_network(cloud.network),
        groups=[_build_group(group) for group in cloud.groups],
        hosts=[_build_host(host) for host in cloud.hosts],
        storage=[_build_storage(item) for item in cloud.storage],
        database=_build_database(cloud),
        images=dict(cloud.images),
        options=dict(cloud.options),
        tags=dict(cloud.tags),
        monthly_budget_usd=_to_usd(cloud.monthly_budget) if cloud.monthly_budget else None,
        cost=_build_cost(cloud.cost),
        accelerator_carbon_kg_h=round_quantity(carbon, "kgCO2e", 3),
    )


def _build_network(network: CloudNetwork) -> CloudNetworkDocument:
    return CloudNetworkDocument(
        existing=network.existing,
        cidr=network.cidrs[0] if network.cidrs else None,
        additional_cidrs=list(network.cidrs[1:]),
        isolated=network.is_isolated,
        subnets=[
            CloudSubnetDocument(
                name=item.key, zone=item.zone, purpose=item.purpose, cidr=item.cidr, existing=item.existing
            )
            for item in network.subnets
        ],
        existing_zone=network.existing_zone,
        endpoints=dict(network.endpoints),
        access=list(network.access),
    )


def _build_group(group: NodeGroup) -> CloudGroupDocument:
    kinds = [interface.kind for interface in group.interfaces]
    return CloudGroupDocument(
        name=group.key,
        pool=group.pool,
        order=group.rank,
        capacity=group.capacity.kind,
        capacity_id=getattr(group.capacity, "id", None),
        nodes=group.max_nodes,
        minimum=group.min_nodes,
        initial=group.initial_nodes,
        zones=list(group.zones),
        subnets=list(group.subnets),
        interfaces={kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        addresses_per_node=group.addresses_per_node,
        placement_group=group.has_placement_group,
        existing_placement_group=group.placement_group,
        cores=group.cores,
        domain_nodes=group.domain_nodes,
        disk_bytes=group.disk.ceil("B"),
        local_disk_mount=group.local_disk_mount,
        image=group.image,
    )


def _build_host(host: CloudHost) -> CloudHostDocument:
    return CloudHostDocument(
        name=host.key,
        role=host.role,
        machine=host.machine.name,
        count=host.count,
        hosts=list(host.hosts),
        subnets=list(host.subnets),
        public=host.is_public,
        balancer=host.balancer,
        disk_bytes=host.disk.ceil("B"),
        state_bytes=_to_bytes(host.state_disk),
        image=host.image,
    )


def _build_storage(storage: CloudStorage) -> CloudStorageDocument:
    return CloudStorageDocument(
        name=storage.name,
        kind=storage.kind,
        product=storage.product,
        subnets=list(storage.subnets),
        capacity_bytes=_to_bytes(storage.capacity),
        throughput_mb_s=round_quantity(storage.throughput, "MB/s", 3),
        throughput_per_tib_mb_s=round_quantity(storage.per_tib, "MB/s", 3),
        options=dict(storage.options),
        linked_store=storage.linked_store,
        existing=storage.existing.id if storage.existing else None,
    )


def _build_database(cloud: CloudPlan) -> CloudDatabaseDocument | None:
    known = cloud.database
    if known is None:
        return None
    return CloudDatabaseDocument(
        product=known.product,
        engine=known.engine,
        version=known.version,
        machine=known.machine,
        disk_bytes=known.disk.ceil("B"),
        host=known.host,
    )


def _build_cost(cost: CloudCost) -> CloudCostDocument:
    return CloudCostDocument(
        known_usd_h=_to_usd(cost.known_total),
        known_usd_month=_to_usd(cost.known_total * HOURS_PER_MONTH),
        unpriced_items=list(cost.unpriced_items),
        lines=[
            CloudCostLineDocument(
                item=line.item,
                count=line.count,
                unit_price_usd_h=round_quantity(line.unit_price, "USD", 6),
                source=line.source,
            )
            for line in cost.lines
        ],
    )


def _to_usd(money: Money) -> float:
    return round(money.to("USD"), 2)


def _to_bytes(size: Size | None) -> int | None:
    return size.ceil("B") if size else None
