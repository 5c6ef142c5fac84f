"""Checks of the nodes that drivers of volumes run on."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..build.kubernetes.labels import list_weka_stores
from ..build.storage.clients import list_client_pools
from ..model.plan import Plan
from .kubernetes_accessors import iter_kubernetes_plans

__all__ = ["CHECKS"]


def kubernetes_weka_driver(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """WEKA file systems without a pool that mounts all of them: one driver serves all, and mounts them where it
    runs.
    """
    for _ in iter_kubernetes_plans(plan) if plan.site.kind == "onprem" else ():
        stores = list_weka_stores(plan)
        clients = {index: {pool.name for pool in list_client_pools(plan, index)} for index in stores}
        if len(stores) > 1 and not set.intersection(*clients.values()):
            names = " and ".join(plan.storage[index].name for index in stores)
            places = " and ".join(f"storage[{index}]" for index in stores)
            yield Finding(
                "kubernetes-weka-driver",
                "error",
                f"storage[{stores[-1]}].fabric",
                f"no pool mounts {names}: one driver of volumes on demand serves all WEKA file systems, and there is "
                "no node where it can mount them",
                f"set one network in 'fabric' of {places}",
            )


CHECKS = (kubernetes_weka_driver,)
