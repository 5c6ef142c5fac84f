"""Builds the plan of a spec, before the checks: all steps in their order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...catalog import Catalog, Location
from ...catalog.kubernetes_parts import XidTable
from ...spec import ClusterSpec, SlurmScheduler
from ..model.plan import Plan, SitePlan
from ..model.problems import Problems
from .cloud.region import find_region_location
from .cloud.site import build_cloud_plan
from .fabric.tenant_hosts import find_pool_tenants
from .facility.layout import build_layout
from .inputs import BuildInputs, Equipment
from .kubernetes.releases import with_kubernetes
from .localities import build_localities
from .network.networks import build_networks_plan
from .physical import build_physical_plan
from .pools import build_network_and_pools
from .scheduling import build_scheduler_plan, build_tenants
from .service_hosts import with_service_hosts
from .storage.products import build_storage
from .users import build_users

__all__ = ["build_plan"]

_NVIDIA_GPU = "nvidia.com/gpu"
"""Resource name of the accelerators whose driver reports XIDs."""


def build_plan(declared: ClusterSpec, facts: Catalog, folder: Path) -> Plan:
    """Decide everything about a cluster; ``folder`` contains the files that the spec names."""
    problems = Problems()
    declared = with_service_hosts(declared, facts, problems)
    site = _build_site_plan(declared, facts)
    network, pools = build_network_and_pools(declared, facts, problems)
    whose = find_pool_tenants(declared, pools)
    pools = tuple(replace(pool, tenants=whose.get(pool.name, ())) for pool in pools)
    scheduler = build_scheduler_plan(declared, network, pools, facts, problems)
    scheduler = with_kubernetes(scheduler, declared, pools, facts, problems)
    if any(pool.accelerator and pool.accelerator.kubernetes == _NVIDIA_GPU for pool in pools):
        scheduler = replace(scheduler, xids=facts.get(XidTable, "nvidia"))
    storage = build_storage(declared, network, pools, facts, problems)
    servers = tuple(group for item in storage for group in item.servers)
    inputs = BuildInputs(declared, facts, problems, folder)
    fabrics, facility = build_physical_plan(inputs, site, pools, servers)
    localities = build_localities(declared, pools, fabrics)
    networks = build_networks_plan(inputs, network, Equipment(pools, fabrics, servers), facility)
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
        users=build_users(inputs),
        findings=tuple(problems.findings),
        folder=folder,
    )


def _build_site_plan(spec: ClusterSpec, catalog: Catalog) -> SitePlan:
    name = spec.site.location if spec.site.kind == "onprem" else spec.site.region
    is_known = name.lower() in catalog.list_names("locations")
    location = catalog.get(Location, name.lower()) if is_known else find_region_location(spec, catalog)
    return SitePlan(spec.site.kind, name, location)
