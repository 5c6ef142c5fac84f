"""The zones of a region that a cluster uses, and those that each pool may use."""

from __future__ import annotations

from collections.abc import Sequence

from ....spec import KubernetesScheduler, SlurmScheduler
from ....spec.base import MAX_ZONES
from ....spec.cluster import ExistingSubnet
from ....spec.pool import Capacity
from ...model.plan import PoolPlan
from .inputs import CloudInputs

__all__ = ["select_pool_zones", "get_capacity_zone", "select_zones"]


def get_capacity_zone(capacity: Capacity) -> str | None:
    """The zone that a capacity source is bound to."""
    return getattr(capacity, "zone", None)


def select_zones(inputs: CloudInputs, zone_count: int) -> tuple[str, ...]:
    """Zones in order: the site's, else those of pools and capacity sources, else the region's first.

    Local zones come last: they have nodes only, and the first zones have hosts, gateways and managed services. Another
    zone is added if only local zones are named. ``zone_count`` is the number that a managed service requires; further
    zones are added up to it: from the user's subnets if their zones are specified, else from the region. They have
    subnets, but no nodes unless a pool names them.
    """
    zones = _list_named_zones(inputs)
    if len(zones) > MAX_ZONES:
        inputs.problems.add_error(
            "cloud-zones",
            "site.zones",
            f"{len(zones)} zones are specified in site.zones, pools and their capacity: a cluster uses at most "
            f"{MAX_ZONES}, and no region has more",
            "specify fewer zones",
        )
        return ()
    subnets = inputs.spec.network.subnets
    own = _list_subnet_zones(subnets)
    zones, local = _split_local_zones(inputs, zones)
    spare = [zone for zone in own or inputs.region.zones if zone not in (*zones, *local)]
    zones += spare[: max(zone_count - len(zones), 0 if zones else 1)]
    if len(zones) < max(zone_count, 1) and not (subnets and (zones or local)):
        inputs.problems.add_error(
            "cloud-zones",
            "site.zones",
            f"{max(zone_count, 1)} zone{'s are' if zone_count > 1 else ' is'} required, {len(zones)} specified, and "
            f"the catalog has no zones of {inputs.region.name}"
            if not inputs.region.zones
            else f"{zone_count} zones are required, {inputs.region.name} has {len(zones)}",
            "specify the zones to use",
        )
    return (*zones, *local)


def _split_local_zones(inputs: CloudInputs, zones: list[str]) -> tuple[list[str], list[str]]:
    """Zones of the region itself, and local ones."""
    local = [zone for zone in zones if inputs.region.find_local_zone(zone)]
    return [zone for zone in zones if zone not in local], local


def _list_subnet_zones(subnets: Sequence[object]) -> list[str]:
    """The zones of existing subnets, as far as they are specified; without repetitions."""
    return list(dict.fromkeys(item.zone for item in subnets if isinstance(item, ExistingSubnet) and item.zone))


def _list_named_zones(inputs: CloudInputs) -> list[str]:
    """The zones of the site, then those of pools and their capacity sources."""
    site = inputs.spec.site
    named = list(site.zones) if site.kind != "onprem" else []
    for pool in inputs.spec.pools:
        named += [*pool.zones, *(zone for way in pool.capacity if (zone := get_capacity_zone(way)))]
    return list(dict.fromkeys(named))


def select_pool_zones(inputs: CloudInputs, pool: PoolPlan, zones: tuple[str, ...]) -> tuple[str, ...]:
    """Zones of a pool's nodes: a fabric never spans zones, so a pool with a fabric has a single zone.

    It is the zone of the first capacity source that is bound to one, so that, if possible, all sources share the
    fabric.
    """
    declared = inputs.spec.pools[inputs.find_pool_index(pool)]
    site = inputs.spec.site
    named = tuple(dict.fromkeys(declared.zones))
    own = named or tuple(dict.fromkeys(site.zones if site.kind != "onprem" else ())) or zones[:1]
    if not pool.fabrics:
        return own
    bound = next((zone for way in declared.capacity if (zone := get_capacity_zone(way))), None)
    return named or ((bound,) if bound else own[:1])


def count_required_zones(inputs: CloudInputs, deployment_zones: int) -> int:
    """Zones that managed services require: a control plane, a database, a file system in ``deployment_zones`` zones."""
    declared = inputs.spec.scheduler
    wanted = [1, deployment_zones]
    if isinstance(declared, KubernetesScheduler):
        wanted.append(inputs.provider.network.control_zones)
    if isinstance(declared, SlurmScheduler) and declared.managed_database and inputs.provider.database:
        wanted.append(inputs.provider.database.zones)
    return max(wanted)
