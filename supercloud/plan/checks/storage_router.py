"""Storage on bridged networks: clients and servers are in different subnets, and all data passes the router."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ...primitives.quantity import Rate
from ..build.fabric.roles import is_routed
from ..build.storage.interfaces import find_store_fabric
from ..model.plan import FabricPlan, Plan, StoragePlan

__all__ = ["CHECKS"]


def storage_router(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Stores with more throughput than the links to the router, which has the gateways of both subnets.

    As rendered, a spanning tree leaves one external link of each plane active.
    """
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = next((item for item in plan.fabrics if item.name == declared.name), None)
        if fabric is None or not fabric.tiers or fabric.speed is None or not declared.external_links:
            continue
        if fabric.kind != "ethernet" or is_routed(fabric.kind, fabric.role):
            continue
        stores = _list_stores(plan, fabric)
        needed = max((_sum(stores, "read"), _sum(stores, "write")), default=0.0)
        links = min(fabric.planes, declared.external_links)
        if needed <= links * fabric.speed.base:
            continue
        names = ", ".join(item.name for item in stores)
        yield Finding(
            "storage-router",
            "warning",
            f"fabrics[{index}].external_links",
            f"nodes reach the servers of {names} through the building's router, as they are in other subnets: "
            f"{Rate.from_base(needed)} are required, and {links} of {declared.external_links} external links of "
            f"{fabric.speed} "
            f"{'carries' if links == 1 else 'carry'} traffic until they are aggregated",
            f"declare a fabric for storage (role: storage) for nodes and servers, or aggregate at least "
            f"{-(-int(needed) // int(fabric.speed.base))} external links on both sides and suppress this with a reason",
        )


def _list_stores(plan: Plan, fabric: FabricPlan) -> list[StoragePlan]:
    """The stores with planned servers on a fabric."""
    found = ((item, find_store_fabric(plan, index)) for index, item in enumerate(plan.storage) if item.servers)
    return [item for item, own in found if own is not None and own.name == fabric.name]


def _sum(stores: list[StoragePlan], direction: str) -> float:
    rates = (getattr(item, direction) for item in stores)
    return float(sum(rate.base for rate in rates if rate is not None))


CHECKS = (storage_router,)
