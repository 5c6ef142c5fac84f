"""The published plan: the output of ``supercloud plan --json``, versioned, with a JSON Schema.

Names of numeric fields include the unit. Fields are added within a version; a field that is removed or changes its
meaning requires a new version.
"""

from __future__ import annotations

from typing import Any, Literal

from ...errors import require_type
from ..model.plan import Locality, Plan, PoolPlan
from .cloud_document import CloudDocument, build_cloud_document
from .document_part import DocumentPart
from .fabric_document import FabricDocument, build_fabric_document
from .facility_document import FacilityDocument, build_facility_document
from .network_document import NetworksDocument, build_networks_document
from .storage_document import StorageDocument, build_storage_document

__all__ = ["PLAN_VERSION", "PlanDocument", "build_document", "build_plan_schema"]

PLAN_VERSION: Literal[1] = 1


class SiteDocument(DocumentPart):
    """Where the cluster is."""

    kind: str
    """``onprem``, ``aws``, ``gcp`` or ``azure``."""
    location: str
    """Location on-prem; region of a cloud."""
    carbon_g_per_kwh: float | None
    """Carbon intensity of the local grid in gCO2e/kWh; null if it is unknown."""


class HostDocument(DocumentPart):
    """A host with its address."""

    name: str
    """Host name, without the domain."""
    address: str
    """IP address, or a DNS name in a cloud."""


class SchedulerDocument(DocumentPart):
    """The scheduler."""

    kind: str
    """``slurm`` or ``kubernetes``."""
    version: str
    """Release of the scheduler."""
    controllers: list[HostDocument]
    """Hosts of slurmctld or of the control plane."""
    database: HostDocument | None
    """Host of slurmdbd; null without accounting."""
    partitions: list[str]
    """Names of the partitions; empty under Kubernetes."""


class PoolDocument(DocumentPart):
    """Equal nodes."""

    name: str
    """Name of the pool."""
    machine: str
    """Machine of the catalog."""
    nodes: int
    """Number of nodes, spares included."""
    spares: int
    """Nodes that are kept as a replacement for failed ones."""
    accelerator: str | None
    """Accelerator of the catalog; null if the machine has none."""
    accelerators_per_node: int
    """Number of accelerators of a node; 0 without any."""
    accelerators: int
    """Number of accelerators of the pool."""
    hosts: str
    """Folded host list, for example ``train-[0001-0127]``."""
    addresses: str
    """In the order of the hosts; empty in a cloud, which assigns them."""
    fabrics: list[str]
    """Fabrics that its nodes are connected to."""
    features: list[str]
    """Features of its nodes, by which jobs can select them."""


class GroupDocument(DocumentPart):
    """Nodes that share a component of the network."""

    name: str
    """Name of the group."""
    hosts: str
    """Folded list of its nodes."""
    parent: str | None
    """Name of the containing group in the next outer level; null in the outermost."""


class LevelDocument(DocumentPart):
    """Groups of one kind, which together contain all nodes of the locality."""

    name: str
    """Kind of the groups, such as ``scale-up``, ``rack``, ``su``, ``pod``, ``fabric``, ``cluster``."""
    groups: list[GroupDocument]
    """Groups of this level."""


class LocalityDocument(DocumentPart):
    """The distance between nodes, as a scheduler models it."""

    name: str
    """Name of the locality; the first is the default of the scheduler."""
    kind: str
    """``tree``, ``block`` (scale-up domains of equal size), ``torus3d`` or ``flat``."""
    levels: list[LevelDocument]
    """From the innermost outwards."""
    dims: list[int]
    """Lengths of the dimensions of a torus, in nodes; empty for other kinds."""


class TenantDocument(DocumentPart):
    """A group of users with a share of the cluster."""

    name: str
    """Name of the tenant."""
    share: int
    """Declared weight among all tenants."""
    fraction: float
    """Share of the cluster, 0 to 1."""
    priority: str
    """Highest priority of its jobs: ``low``, ``normal`` or ``high``."""


class FindingDocument(DocumentPart):
    """A result of a check."""

    check: str
    """Name of the check, which ``suppress`` uses."""
    level: str
    """``error`` (the plan cannot be rendered), ``warning`` or ``note``."""
    path: str
    """Field of the spec, such as ``pools[0].machine``."""
    problem: str
    """What is wrong, with the value."""
    hint: str
    """How to fix it; empty if nothing can be suggested."""
    file: str
    """File of the spec; empty if it was not read from a file."""
    line: int
    """Line in that file, from 1; 0 if it is unknown."""


class SuppressedDocument(DocumentPart):
    """A finding that the spec suppresses."""

    check: str
    """Name of the check."""
    path: str
    """Field of the spec."""
    problem: str
    """What is wrong, with the value."""
    reason: str
    """Reason that the spec gives."""


class PlanDocument(DocumentPart):
    """The published form of a plan."""

    version: Literal[1]
    """Version of this format."""
    name: str
    """Name of the cluster."""
    site: SiteDocument
    """Location of the cluster."""
    scheduler: SchedulerDocument
    """Scheduler of the cluster."""
    domain: str
    """DNS domain of the hosts."""
    cidr: str
    """Address range of the cluster."""
    nodes: int
    """Number of nodes of all pools, spares included."""
    accelerators: int
    """Number of accelerators of all pools."""
    pools: list[PoolDocument]
    """Pools of equal nodes."""
    fabrics: list[FabricDocument]
    """Networks between machines."""
    localities: list[LocalityDocument]
    """Distances between nodes; the first is the default of the scheduler."""
    storage: list[StorageDocument]
    """File systems and object stores."""
    facility: FacilityDocument | None
    """The hall of an on-prem site; null in a cloud."""
    networks: NetworksDocument | None = None
    """Names and addresses of an on-prem site; null in a cloud."""
    tenants: list[TenantDocument]
    """Groups of users; empty if all users are equal."""
    cloud: CloudDocument | None = None
    """A cloud site; null on-prem."""
    findings: list[FindingDocument]
    """Results of the checks, errors first."""
    suppressed: list[SuppressedDocument]
    """Findings that the spec suppresses."""


def build_document(plan: Plan) -> PlanDocument:
    """Build the published form of a plan, which ``supercloud plan --json`` prints.

    Args:
        plan: The plan.

    Raises:
        InputError: If ``plan`` is not a plan.
    """
    require_type(plan, Plan, "document and diff take plans", 'create one: resolve(load("cluster.yaml"))')
    carbon = plan.site.location.carbon if plan.site.location else None
    return PlanDocument(
        version=PLAN_VERSION,
        name=plan.name,
        site=SiteDocument(
            kind=plan.site.kind,
            location=plan.site.location_name,
            carbon_g_per_kwh=carbon.to("gCO2e/kWh") if carbon is not None else None,
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
        fabrics=[build_fabric_document(plan, fabric) for fabric in plan.fabrics],
        localities=[_build_locality(locality) for locality in plan.localities],
        storage=[build_storage_document(item) for item in plan.storage],
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
        features=sorted(pool.features),
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


def build_plan_schema() -> dict[str, Any]:
    """Build the JSON Schema of the published plan."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | PlanDocument.model_json_schema(
        mode="serialization"
    )
