"""Accessors of the parts of a plan that checks of cloud sites read."""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog import Catalog, Provider, Region
from ....spec import Pool
from ...model.cloud import CloudPlan
from ...model.plan import Plan, PoolPlan

__all__ = ["iter_cloud_facts", "iter_pools"]


def iter_cloud_facts(plan: Plan, catalog: Catalog) -> Iterator[tuple[CloudPlan, Provider, Region]]:
    """The cloud site with its facts; empty on-prem, and if the cloud site could not be planned."""
    cloud = plan.cloud
    if cloud is not None:
        provider = catalog.get(Provider, cloud.provider)
        yield cloud, provider, catalog.get(Region, cloud.region)


def iter_pools(plan: Plan) -> Iterator[tuple[str, Pool, PoolPlan]]:
    """Path, declaration and plan of every pool with a known machine."""
    planned = {pool.name: pool for pool in plan.pools}
    for index, declared in enumerate(plan.spec.pools):
        if declared.name in planned:
            yield f"pools[{index}]", declared, planned[declared.name]
