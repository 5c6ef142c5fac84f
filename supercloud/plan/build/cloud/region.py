"""A region as a location with a grid, so that carbon is known in clouds as well as on-prem."""

from __future__ import annotations

from typing import cast

from ....catalog import Location, Region
from ....catalog.reader import Catalog
from ....primitives.quantity import Carbon, Duration, Power
from ....spec import ClusterSpec
from ...model.plan import Plan

__all__ = ["compute_accelerator_carbon", "find_region_location"]


def find_region_location(spec: ClusterSpec, catalog: Catalog) -> Location | None:
    """The region of a cloud site with its sourced carbon intensity; None if unknown."""
    site = spec.site
    if site.kind == "onprem" or site.region not in catalog.list_names("regions"):
        return None
    region = catalog.get(Region, site.region)
    carbon = region.carbon
    if region.provider != site.kind or carbon is None:
        return None
    return Location(
        name=region.name,
        title=region.title,
        source=(carbon.basis, *region.source),
        carbon=carbon.intensity,
        year=carbon.year,
    )


def compute_accelerator_carbon(plan: Plan) -> Carbon | None:
    """Hourly carbon of all accelerators at their TDP; those of servers and cooling are the provider's and unknown.

    None if a TDP or the grid's intensity is unknown, and without accelerators.
    """
    grid = plan.site.location.carbon if plan.site.location else None
    pools = [pool for pool in plan.pools if pool.accelerators]
    if grid is None or not pools:
        return None
    total = Power(0, "W")
    for pool in pools:
        if pool.accelerator is None or pool.accelerator.tdp is None:
            return None
        total = total + pool.accelerator.tdp * pool.accelerators
    return cast(Carbon, grid * (total * Duration(1, "h")))
