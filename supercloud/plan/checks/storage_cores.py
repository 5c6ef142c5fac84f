"""Checks of the processor cores that clients of file systems use."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..build.storage.clients import list_client_pools
from ..model.plan import Plan

__all__ = ["CHECKS"]


def storage_client_cores(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Nodes of Slurm whose file systems use cores that are not reserved: jobs share them with the client."""
    if plan.scheduler.kind != "slurm":
        return
    needed: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for index, item in enumerate(plan.storage):
        for pool in list_client_pools(plan, index) if item.client_cores else ():
            needed[pool.name] = needed.get(pool.name, 0) + item.client_cores
            names.setdefault(pool.name, []).append(item.name)
    for index, pool in enumerate(plan.pools):
        cores = needed.get(pool.name, 0)
        if pool.machine.cpu and pool.reserved_cores < cores:
            yield Finding(
                "storage-client-cores",
                "warning",
                f"pools[{index}].reserve.cores",
                f"clients of {', '.join(names[pool.name])} use {cores} cores of each node all the time, and "
                f"{pool.reserved_cores} are reserved: jobs run on the same cores",
                f"set reserve: {{cores: {cores}}}, in addition to those of the operating system",
            )


CHECKS = (storage_client_cores,)
