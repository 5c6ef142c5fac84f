"""Which zones of a region a cluster stands in, and which of them a pool may use."""

from __future__ import annotations

from ....spec import KubernetesScheduler, SlurmScheduler
from ....spec.cluster import GivenSubnet
from ....spec.pool import Capacity
from ...model.plan import PoolPlan
from .given import Given

__all__ = ["pool_zones", "way_zone", "zones_of"]


def way_zone(way: Capacity) -> str | None:
    """The zone that a way to get machines is bound to."""
    return getattr(way, "zone", None)


def zones_of(given: Given, wanted: int) -> tuple[str, ...]:
    """Zones in order: the site's, else those that pools and capacity name, else the region's first.

    ``wanted`` is how many a managed service needs; further ones are added until there are so many: of the user's
    subnets where their zones are said, else of the region. They have subnets, and no nodes unless a pool names them.
    """
    spec = given.spec
    site = spec.site
    named = list(site.zones) if site.kind != "onprem" else []
    for pool in spec.pools:
        named += [*pool.zones, *(zone for way in pool.capacity if (zone := way_zone(way)))]
    zones = list(dict.fromkeys(named))
    own = [item.zone for item in spec.network.subnets if isinstance(item, GivenSubnet) and item.zone]
    for zone in own or given.region.zones:
        if len(zones) >= max(wanted, 1):
            break
        if zone not in zones:
            zones.append(zone)
    if not zones or (len(zones) < wanted and not _own_subnets(given)):
        given.problems.error(
            "cloud-zones", "site.zones",
            f"{max(wanted, 1)} zone{'s are' if wanted > 1 else ' is'} needed, {len(zones)} named, and the catalog "
            f"knows none of {given.region.name}" if not given.region.zones else
            f"{wanted} zones are needed, {given.region.name} has {len(zones)}",
            "name the zones you may use",
        )  # fmt: skip
    return tuple(zones)


def _own_subnets(given: Given) -> bool:
    return bool(given.spec.network.subnets)


def pool_zones(given: Given, pool: PoolPlan, zones: tuple[str, ...]) -> tuple[str, ...]:
    """Zones the nodes of a pool may be in: a fabric never spans zones, so with one it is a single zone.

    It is the zone that the first bound way names, so that every way leads to the same fabric where it can.
    """
    declared = given.spec.pools[given.index(pool)]
    site = given.spec.site
    named = tuple(dict.fromkeys(declared.zones))
    own = named or tuple(dict.fromkeys(site.zones if site.kind != "onprem" else ())) or zones[:1]
    if not pool.fabrics:
        return own
    bound = next((zone for way in declared.capacity if (zone := way_zone(way))), None)
    return named or ((bound,) if bound else own[:1])


def zones_wanted(given: Given, deployments: int) -> int:
    """Zones that managed services ask for: a control plane, a database, a file system in ``deployments`` zones."""
    declared = given.spec.scheduler
    wanted = [1, deployments]
    if isinstance(declared, KubernetesScheduler):
        wanted.append(given.provider.network.control_zones)
    if isinstance(declared, SlurmScheduler) and declared.managed_database and given.provider.database:
        wanted.append(given.provider.database.zones)
    return max(wanted)
