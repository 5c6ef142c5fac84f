"""From a declaration to a plan: the pipeline, on one screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

from ..catalog import Catalog, Location
from ..catalog.kubernetes_parts import XidTable
from ..errors import require_type
from ..spec import ClusterSpec, SlurmScheduler
from ..spec.loader import LoadedSpec
from .build.cloud.place import find_region_location
from .build.cloud.site import build_cloud_plan
from .build.fabric.tenant_hosts import find_pool_tenants
from .build.facility.layout import build_layout
from .build.kubernetes.releases import with_kubernetes
from .build.localities import build_localities
from .build.network.networks import build_networks_plan
from .build.physical import build_physical_plan
from .build.pools import build_network_and_pools
from .build.scheduling import build_scheduler_plan, build_tenants
from .build.service_hosts import with_service_hosts
from .build.storage.products import build_storage
from .checks import run_checks
from .model.plan import Plan, SitePlan
from .model.problems import Problems

__all__ = ["decide", "resolve"]

_NVIDIA_GPU = "nvidia.com/gpu"
"""Resource name of the accelerators whose driver reports XIDs."""


def resolve(spec: ClusterSpec | LoadedSpec[ClusterSpec], catalog: Catalog | None = None) -> Plan:
    """Decide everything about a cluster. Never raises for what a spec says: what is wrong is in ``plan.findings``.

    Given a loaded spec, findings name file and line, and an overlay folder named in it is used.
    """
    require_type(
        spec,
        (ClusterSpec, LoadedSpec),
        "resolve takes a cluster spec",
        "read one with load(path), or take ClusterSpec.model_validate(…)",
    )
    loaded = spec if isinstance(spec, LoadedSpec) else None
    declared = loaded.model if loaded else cast(ClusterSpec, spec)
    folder = Path(loaded.document.file).parent if loaded else Path()
    facts = catalog or load_catalog(declared, folder)
    plan = run_checks(decide(declared, facts, folder), facts)
    return replace(plan, findings=tuple(map(loaded.locate, plan.findings))) if loaded else plan


def decide(declared: ClusterSpec, facts: Catalog, folder: Path) -> Plan:
    """The plan before any check looks at it; files that the spec names are in ``folder``."""
    problems = Problems()
    declared = with_service_hosts(declared, facts, problems)
    site = _build_site_plan(declared, facts)
    network, pools = build_network_and_pools(declared, facts, problems)
    whose = find_pool_tenants(declared, pools)
    pools = tuple(replace(pool, tenants=whose.get(pool.name, ())) for pool in pools)
    scheduler = build_scheduler_plan(declared, network, pools, facts, problems)
    scheduler = with_kubernetes(scheduler, declared, pools, facts, problems)
    if any(pool.accelerator and pool.accelerator.kubernetes == _NVIDIA_GPU for pool in pools):
        scheduler = replace(scheduler, xids=cast(XidTable, facts.get("xids", "nvidia")))
    storage = build_storage(declared, network, pools, facts, problems)
    servers = tuple(group for item in storage for group in item.servers)
    fabrics, facility = build_physical_plan(declared, site, pools, servers, facts, folder, problems)
    localities = build_localities(declared, pools, fabrics)
    networks = build_networks_plan(declared, network, pools, fabrics, servers, facility, facts, folder, problems)
    layout = build_layout(declared, pools, fabrics, facility, servers)
    tenants = build_tenants(declared, problems)
    cloud = build_cloud_plan(declared, pools, storage, facts, problems)

    slurm = declared.scheduler if isinstance(declared.scheduler, SlurmScheduler) else None
    return Plan(
        spec=declared,
        name=declared.name,
        site=site,
        scheduler=scheduler,
        network=network,
        pools=pools,
        fabrics=fabrics,
        localities=localities,
        storage=storage,
        facility=facility,
        layout=layout,
        tenants=tenants,
        max_time=slurm.max_time if slurm else None,
        networks=networks,
        servers=servers,
        cloud=cloud,
        findings=tuple(problems.findings),
        folder=folder,
    )


def load_catalog(spec: ClusterSpec, folder: Path) -> Catalog:
    """The shipped catalog with the overlays of the environment and of the spec, whose folder is given."""
    return Catalog.load_default(folder / spec.catalog) if spec.catalog else Catalog.load_default()


def _build_site_plan(spec: ClusterSpec, catalog: Catalog) -> SitePlan:
    place = spec.site.location if spec.site.kind == "onprem" else spec.site.region
    known = place.lower() in catalog.list_names("locations")
    location = cast(Location, catalog.get("locations", place.lower())) if known else find_region_location(spec, catalog)
    return SitePlan(spec.site.kind, place, location)
