"""From a declaration to a plan: the pipeline, on one screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

from ..catalog import Catalog, Location
from ..catalog.kubernetes_parts import XidCatalog
from ..errors import check_type
from ..spec import ClusterSpec, SlurmScheduler
from ..spec.loader import Loaded
from .build.cloud.place import region_place
from .build.cloud.site import cloud_of
from .build.fabric.tenant_hosts import find_pool_tenants
from .build.facility.layout import layout_of
from .build.kubernetes.releases import with_kubernetes
from .build.localities import localities_of
from .build.network.networks import networks_of
from .build.physical import physical_of
from .build.pools import network_and_pools
from .build.problems import Problems
from .build.scheduling import scheduler_of, tenants_of
from .build.service_hosts import with_service_hosts
from .build.storage.products import storage_of
from .checks import run_checks
from .model.plan import Plan, SitePlan

__all__ = ["decide", "resolve"]

_NVIDIA = "nvidia.com/gpu"
"""Resource name of the accelerators whose driver reports XIDs."""


def resolve(spec: ClusterSpec | Loaded[ClusterSpec], catalog: Catalog | None = None) -> Plan:
    """Decide everything about a cluster. Never raises for what a spec says: what is wrong is in ``plan.findings``.

    Given a loaded spec, findings name file and line, and an overlay folder named in it is used.
    """
    check_type(spec, (ClusterSpec, Loaded), "resolve takes a cluster spec",
               "read one with load(path), or take ClusterSpec.model_validate(…)")  # fmt: skip
    loaded = spec if isinstance(spec, Loaded) else None
    declared = loaded.model if loaded else cast(ClusterSpec, spec)
    folder = Path(loaded.document.file).parent if loaded else Path()
    facts = catalog or catalog_for(declared, folder)
    plan = run_checks(decide(declared, facts, folder), facts)
    return replace(plan, findings=tuple(map(loaded.locate, plan.findings))) if loaded else plan


def decide(declared: ClusterSpec, facts: Catalog, folder: Path) -> Plan:
    """The plan before any check looks at it; files that the spec names are in ``folder``."""
    problems = Problems()
    declared = with_service_hosts(declared, facts, problems)
    site = _site(declared, facts)
    network, pools = network_and_pools(declared, facts, problems)
    whose = find_pool_tenants(declared, pools)
    pools = tuple(replace(pool, tenants=whose.get(pool.name, ())) for pool in pools)
    scheduler = scheduler_of(declared, network, pools, facts, problems)
    scheduler = with_kubernetes(scheduler, declared, pools, facts, problems)
    if any(pool.accelerator and pool.accelerator.kubernetes == _NVIDIA for pool in pools):
        scheduler = replace(scheduler, xids=cast(XidCatalog, facts.get("xids", "nvidia")))
    storage = storage_of(declared, network, pools, facts, problems)
    servers = tuple(group for item in storage for group in item.servers)
    fabrics, facility = physical_of(declared, site, pools, servers, facts, folder, problems)
    localities = localities_of(declared, pools, fabrics)
    networks = networks_of(declared, network, pools, fabrics, servers, facility, facts, folder, problems)
    layout = layout_of(declared, pools, fabrics, facility, servers)
    tenants = tenants_of(declared, problems)
    cloud = cloud_of(declared, pools, storage, facts, problems)

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


def catalog_for(spec: ClusterSpec, folder: Path) -> Catalog:
    """The shipped catalog with the overlays of the environment and of the spec, whose folder is given."""
    return Catalog.default(folder / spec.catalog) if spec.catalog else Catalog.default()


def _site(spec: ClusterSpec, catalog: Catalog) -> SitePlan:
    place = spec.site.location if spec.site.kind == "onprem" else spec.site.region
    known = place.lower() in catalog.names("locations")
    location = cast(Location, catalog.get("locations", place.lower())) if known else region_place(spec, catalog)
    return SitePlan(spec.site.kind, place, location)
