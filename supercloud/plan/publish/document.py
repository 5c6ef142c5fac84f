"""The published plan: the output of ``supercloud plan --json``, versioned, with a JSON Schema.

Names of numeric fields include the unit. Fields are added within a version; a field that is removed or changes its
meaning requires a new version.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ...errors import require_type
from ...primitives.nodes import fold
from ...primitives.quantity import Rate
from ..build.cabling.counts import count_cables
from ..build.fabric.partitions import build_partitions
from ..model.plan import FabricPlan, Locality, Plan, PoolPlan, StoragePlan
from .cloud_document import CloudDocument, build_cloud_document
from .facility_document import FacilityDocument, build_facility_document
from .network_document import NetworksDocument, build_networks_document

__all__ = ["PLAN_VERSION", "PlanDocument", "build_document", "build_plan_schema"]

PLAN_VERSION: Literal[1] = 1


class _DocumentPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class SiteDocument(_DocumentPart):
    kind: str
    location: str
    """Location on-prem; region of a cloud."""
    carbon_g_per_kwh: float | None
    """Carbon intensity of the local grid; null if unknown."""


class HostDocument(_DocumentPart):
    name: str
    address: str


class SchedulerDocument(_DocumentPart):
    kind: str
    version: str
    controllers: list[HostDocument]
    database: HostDocument | None
    partitions: list[str]


class PoolDocument(_DocumentPart):
    name: str
    machine: str
    nodes: int
    """All nodes, spares included."""
    spares: int
    accelerator: str | None
    accelerators_per_node: int
    accelerators: int
    hosts: str
    """Folded host list, for example ``train-[0001-0127]``."""
    addresses: str
    """In the order of the hosts; empty in a cloud, which assigns them."""
    fabrics: list[str]
    features: list[str]


class SwitchCounts(_DocumentPart):
    leaf: int
    spine: int
    core: int


class CableCounts(_DocumentPart):
    """Switch ports occupied by links of each kind: two links of a splitter share one port."""

    node_leaf: int
    leaf_spine: int
    spine_core: int
    manager: int
    """Ports of subnet managers."""
    node_node: int
    """Links of a torus."""


class PartitionDocument(_DocumentPart):
    """A partition of an InfiniBand fabric, for one tenant."""

    name: str
    pkey: str
    """In hexadecimal, without the membership bit, for example 0x1a2b."""
    hosts: str | None
    """Folded host list; null for all hosts of the fabric."""


class FabricDocument(_DocumentPart):
    name: str
    kind: str
    shape: str
    pools: list[str]
    speed_gb_s: float | None
    """Speed of one link in Gb/s."""
    rails: int
    leaf_rails: int
    """Rails of a node on one leaf."""
    planes: int
    unit_nodes: int | None
    """Nodes of a scalable unit."""
    switch_models: dict[str, str]
    """Tier -> switch."""
    switches: SwitchCounts
    cables: CableCounts
    links: int
    """All links, including those of splitters, between switches or machines of a pair, and to other networks."""
    cable_pieces: int
    """Number of cables to order: links of one twin-port cable or splitter share it."""
    bisection: float | None
    """Bandwidth between the worst two halves over that of the nodes of one half; null if the network is a
    provider's."""
    partitions: list[PartitionDocument] = []
    """InfiniBand: declared partitions sorted by name; empty if all hosts are in the default partition."""


class GroupDocument(_DocumentPart):
    name: str
    hosts: str
    parent: str | None
    """Name of the group in the next outer level."""


class LevelDocument(_DocumentPart):
    name: str
    groups: list[GroupDocument]


class LocalityDocument(_DocumentPart):
    name: str
    kind: str
    levels: list[LevelDocument]
    """From the innermost outwards."""
    dims: list[int]


class ServerDocument(_DocumentPart):
    name: str
    role: str
    machine: str
    count: int
    hosts: str
    addresses: str


class StorageDocument(_DocumentPart):
    name: str
    kind: str
    capacity_bytes: int | None
    read_gb_s: float | None
    """GB/s, bytes."""
    write_gb_s: float | None
    mount: str | None
    basis: str
    servers: list[ServerDocument] = []
    """On-prem, if its machines are known."""
    usable_bytes: int | None = None
    """Capacity of those servers after protection and reserves."""
    available_read_gb_s: float | None = None
    """Total throughput of those servers, GB/s; null if unknown."""
    available_write_gb_s: float | None = None
    decided_by: str = ""
    """The requirement that determined the number of servers: capacity, read, write, minimum, declared."""
    checkpoint_bytes: int | None = None
    checkpoint_write_gb_s: float | None = None


class TenantDocument(_DocumentPart):
    name: str
    share: int
    fraction: float
    priority: str


class FindingDocument(_DocumentPart):
    check: str
    level: str
    path: str
    problem: str
    hint: str
    file: str
    line: int


class SuppressedDocument(_DocumentPart):
    check: str
    path: str
    problem: str
    reason: str


class PlanDocument(_DocumentPart):
    """The published form of a plan."""

    version: Literal[1]
    name: str
    site: SiteDocument
    scheduler: SchedulerDocument
    domain: str
    cidr: str
    nodes: int
    accelerators: int
    pools: list[PoolDocument]
    fabrics: list[FabricDocument]
    localities: list[LocalityDocument]
    storage: list[StorageDocument]
    facility: FacilityDocument | None
    networks: NetworksDocument | None = None
    """On-prem."""
    tenants: list[TenantDocument]
    cloud: CloudDocument | None = None
    """A cloud site; null on-prem."""
    findings: list[FindingDocument]
    suppressed: list[SuppressedDocument]


def build_document(plan: Plan) -> PlanDocument:
    """Build the published form of a plan."""
    require_type(plan, Plan, "document and diff take plans", 'create one: resolve(load("cluster.yaml"))')
    carbon = plan.site.location.carbon if plan.site.location else None
    return PlanDocument(
        version=PLAN_VERSION,
        name=plan.name,
        site=SiteDocument(
            kind=plan.site.kind, location=plan.site.place, carbon_g_per_kwh=carbon.to("gCO2e/kWh") if carbon else None
        ),
        scheduler=SchedulerDocument(
            kind=plan.scheduler.kind,
            version=plan.scheduler.version,
            controllers=[HostDocument(name=host.name, address=host.address) for host in plan.scheduler.controllers],
            database=HostDocument(name=plan.scheduler.database.name, address=plan.scheduler.database.address)
            if plan.scheduler.database
            else None,
            partitions=[partition.name for partition in plan.scheduler.partitions],
        ),
        domain=plan.network.domain,
        cidr=plan.network.cidr,
        nodes=plan.nodes,
        accelerators=plan.accelerators,
        pools=[_build_pool(pool, plan.cloud is None) for pool in plan.pools],
        fabrics=[_build_fabric(plan, fabric) for fabric in plan.fabrics],
        localities=[_build_locality(locality) for locality in plan.localities],
        storage=[_build_storage(item) for item in plan.storage],
        facility=build_facility_document(plan),
        networks=build_networks_document(plan),
        cloud=build_cloud_document(plan),
        tenants=[
            TenantDocument(name=item.name, share=item.share, fraction=round(item.fraction, 6), priority=item.priority)
            for item in plan.tenants
        ],
        findings=[
            FindingDocument(
                check=item.check,
                level=item.level,
                path=item.path,
                problem=item.problem,
                hint=item.hint,
                file=item.file,
                line=item.line,
            )
            for item in plan.findings
        ],
        suppressed=[
            SuppressedDocument(
                check=item.finding.check, path=item.finding.path, problem=item.finding.problem, reason=item.reason
            )
            for item in plan.suppressed
        ],
    )


def _build_pool(pool: PoolPlan, has_addresses: bool) -> PoolDocument:
    return PoolDocument(
        name=pool.name,
        machine=pool.machine.name,
        nodes=pool.nodes,
        spares=pool.spares,
        accelerator=pool.accelerator.name if pool.accelerator else None,
        accelerators_per_node=pool.accelerators_per_node,
        accelerators=pool.accelerators,
        hosts=str(pool.hosts),
        addresses=str(pool.addresses) if has_addresses else "",
        fabrics=list(pool.fabrics),
        features=list(pool.features),
    )


def _build_fabric(plan: Plan, fabric: FabricPlan) -> FabricDocument:
    declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
    cables, all_of_it = fabric.link_counts, count_cables(plan, [fabric])
    bisection = getattr(fabric.wiring, "bisection", None)
    return FabricDocument(
        name=fabric.name,
        kind=fabric.kind,
        shape=fabric.shape,
        pools=list(fabric.pools),
        speed_gb_s=fabric.speed.to("Gb/s") if fabric.speed else None,
        rails=fabric.rails,
        leaf_rails=fabric.rails_per_leaf,
        planes=fabric.planes,
        unit_nodes=fabric.unit_nodes,
        switch_models={tier.name: tier.switch.name for tier in fabric.tiers},
        switches=SwitchCounts(
            leaf=fabric.count_switches("leaf"), spine=fabric.count_switches("spine"), core=fabric.count_switches("core")
        ),
        cables=CableCounts(
            node_leaf=cables.get("node_leaf", 0),
            leaf_spine=cables.get("leaf_spine", 0),
            spine_core=cables.get("spine_core", 0),
            manager=cables.get("manager", 0),
            node_node=cables.get("node_node", 0),
        ),
        links=all_of_it.links,
        cable_pieces=all_of_it.pieces,
        bisection=round(bisection, 6) if bisection is not None else None,
        partitions=[
            PartitionDocument(
                name=item.name, pkey=f"0x{item.pkey:04x}", hosts=fold(item.hosts) if item.hosts is not None else None
            )
            for item in (build_partitions(declared) if fabric.kind == "infiniband" else ())
        ],
    )


def _build_locality(locality: Locality) -> LocalityDocument:
    levels = []
    for index, level in enumerate(locality.levels):
        outer = locality.levels[index + 1].groups if index + 1 < len(locality.levels) else ()
        levels.append(
            LevelDocument(
                name=level.name,
                groups=[
                    GroupDocument(
                        name=group.name,
                        hosts=str(group.hosts),
                        parent=outer[group.parent].name if group.parent is not None and outer else None,
                    )
                    for group in level.groups
                ],
            )
        )
    return LocalityDocument(name=locality.name, kind=locality.kind, levels=levels, dims=list(locality.dims))


def _build_storage(storage: StoragePlan) -> StorageDocument:
    return StorageDocument(
        name=storage.name,
        kind=storage.kind,
        capacity_bytes=storage.capacity.ceil("B") if storage.capacity else None,
        read_gb_s=_to_gb_s(storage.read),
        write_gb_s=_to_gb_s(storage.write),
        mount=storage.mount,
        basis=storage.basis,
        servers=[
            ServerDocument(
                name=group.name,
                role=group.role,
                machine=group.machine.name,
                count=group.count,
                hosts=str(group.hosts),
                addresses=str(group.addresses),
            )
            for group in storage.servers
        ],
        usable_bytes=storage.design.usable_capacity.floor("B") if storage.design else None,
        available_read_gb_s=_to_gb_s(storage.design.read) if storage.design else None,
        available_write_gb_s=_to_gb_s(storage.design.write) if storage.design else None,
        decided_by=storage.design.decided_by if storage.design else "",
        checkpoint_bytes=storage.checkpoint.size.ceil("B") if storage.checkpoint else None,
        checkpoint_write_gb_s=_to_gb_s(storage.checkpoint.write) if storage.checkpoint else None,
    )


def _to_gb_s(rate: Rate | None) -> float | None:
    return round(rate.to("GB/s"), 6) if rate else None


def build_plan_schema() -> dict[str, Any]:
    """Build the JSON Schema of the published plan."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | PlanDocument.model_json_schema(
        mode="serialization"
    )
