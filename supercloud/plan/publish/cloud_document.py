"""The cloud site of the published plan. Field names include the unit."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from ...primitives.quantity import Money, Rate, Size
from ..build.cloud.cost import HOURS_PER_MONTH
from ..build.cloud.place import compute_accelerator_carbon
from ..model.cloud import CloudCost, CloudHost, CloudNetwork, CloudPlan, CloudStorage, NodeGroup
from ..model.plan import Plan

__all__ = ["CloudDocument", "build_cloud_document"]


class _DocumentPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class CloudSubnetDocument(_DocumentPart):
    name: str
    zone: str | None
    purpose: str
    """nodes, public, control."""
    cidr: str | None
    existing: str | None


class CloudNetworkDocument(_DocumentPart):
    existing: str | None
    """Identifier of an existing network of the user's; null for a new one."""
    cidr: str | None
    """First range of a new network."""
    additional_cidrs: list[str]
    isolated: bool
    subnets: list[CloudSubnetDocument]
    endpoints: dict[str, str]
    """Private endpoint -> gateway or interface."""
    access: list[str]


class CloudGroupDocument(_DocumentPart):
    name: str
    pool: str
    order: int
    """Order of attempts; 0 is tried first."""
    capacity: str
    """reservation, capacity-block, spot …"""
    capacity_id: str | None
    nodes: int
    minimum: int
    initial: int
    zones: list[str]
    subnets: list[str]
    interfaces: dict[str, int]
    """Kind -> number per instance."""
    addresses_per_node: int
    placement_group: bool
    domain_nodes: int
    disk_bytes: int
    local_disk_mount: str | None
    """Mount point of the local disks."""
    image: str


class CloudHostDocument(_DocumentPart):
    name: str
    role: str
    machine: str
    count: int
    hosts: list[str]
    """Private DNS names, without the domain."""
    subnets: list[str]
    public: bool
    disk_bytes: int
    state_bytes: int | None
    image: str


class CloudStorageDocument(_DocumentPart):
    name: str
    kind: str
    product: str
    subnets: list[str]
    capacity_bytes: int | None
    """Purchased capacity."""
    throughput_mb_s: float | None
    """Total throughput in MB/s."""
    throughput_per_tib_mb_s: float | None
    options: dict[str, str | int | bool]
    linked_store: str | None


class CloudDatabaseDocument(_DocumentPart):
    product: str
    engine: str
    version: str
    machine: str
    disk_bytes: int
    host: str


class CloudCostLineDocument(_DocumentPart):
    item: str
    count: int
    unit_price_usd_h: float | None
    """Null if no price has a source."""
    source: str
    """Origin and date of the price."""


class CloudCostDocument(_DocumentPart):
    known_usd_h: float
    """With everything running; a lower bound if ``unpriced_items`` is not empty."""
    known_usd_month: float
    """Cost of 730 hours."""
    unpriced_items: list[str]
    lines: list[CloudCostLineDocument]


class CloudDocument(_DocumentPart):
    """Decisions about a cloud site."""

    provider: str
    region: str
    zones: list[str]
    network: CloudNetworkDocument
    groups: list[CloudGroupDocument]
    hosts: list[CloudHostDocument]
    storage: list[CloudStorageDocument]
    database: CloudDatabaseDocument | None
    images: dict[str, str]
    options: dict[str, str | int | bool]
    tags: dict[str, str]
    monthly_budget_usd: float | None
    cost: CloudCostDocument
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
        accelerator_carbon_kg_h=round(carbon.to("kgCO2e"), 3) if carbon else None,
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
        throughput_mb_s=_to_mb_s(storage.throughput),
        throughput_per_tib_mb_s=_to_mb_s(storage.per_tib),
        options=dict(storage.options),
        linked_store=storage.linked_store,
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
                unit_price_usd_h=round(line.unit_price.to("USD"), 6) if line.unit_price is not None else None,
                source=line.source,
            )
            for line in cost.lines
        ],
    )


def _to_usd(money: Money) -> float:
    return round(money.to("USD"), 2)


def _to_bytes(size: Size | None) -> int | None:
    return size.ceil("B") if size else None


def _to_mb_s(rate: Rate | None) -> float | None:
    return round(rate.to("MB/s"), 3) if rate else None
