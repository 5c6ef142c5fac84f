"""Storage: capacity, the requested throughput in any of its forms, and the servers.

The sizing is in this module, the servers in ``storage/servers.py``, the layout of products in ``storage/designs.py``.
"""

from __future__ import annotations

from typing import cast, get_args

from ....catalog import Catalog, StorageProduct, StorageTiers
from ....catalog.storage import Tier, TierRate
from ....errors import UnknownNameError
from ....primitives.quantity import Rate
from ....spec import ClusterSpec, Storage
from ...model.plan import NetworkPlan, PoolPlan, StoragePlan
from ...model.problems import Problems
from ..fabric.roles import find_client_fabric
from ..inputs import BuildInputs
from ..network.address_allocator import AddressAllocator
from .clients import select_reaching_pools
from .servers import compute_checkpoint_need, with_servers

__all__ = ["PARALLEL_KINDS", "compute_lowest_rates", "build_storage", "list_tier_names", "compute_tier_rates"]

# Kinds that feed accelerators: they have to meet the needs of their clients.
PARALLEL_KINDS = ("lustre", "weka", "storage-scale")


def build_storage(
    spec: ClusterSpec, network: NetworkPlan, pools: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems
) -> tuple[StoragePlan, ...]:
    """All file systems and object stores of the spec, each sized for the pools that are its clients."""
    fabrics = {fabric.name: fabric for fabric in spec.fabrics}
    free = AddressAllocator.from_network(network, pools)
    inputs = BuildInputs(spec, catalog, problems)
    plans = []
    for index, item in enumerate(spec.storage):
        path = f"storage[{index}]"
        clients = select_reaching_pools(spec, index, pools)
        if item.fabric and item.fabric not in fabrics:
            problems.add_unknown_name(f"{path}.fabric", UnknownNameError("fabric", item.fabric, fabrics))
        read, write, basis = _compute_throughput(item, path, clients, catalog, problems)
        checkpoint = compute_checkpoint_need(item, path, problems)
        if checkpoint and not item.throughput and (write is None or checkpoint.write > write):
            write, basis = checkpoint.write, ", ".join(filter(None, (basis, "write by checkpoints")))
        plan = StoragePlan(
            item.name,
            item.kind,
            item.capacity,
            read,
            write,
            item.mount,
            item.fabric,
            basis,
            checkpoint=checkpoint,
            client_cores=_find_client_cores(item, catalog),
            interface=item.interface,
        )
        if spec.site.kind == "onprem" and item.kind != "managed":
            floor = (read, write)
            if item.kind in PARALLEL_KINDS and read is None and write is None and _find_tier_table(clients, catalog):
                floor = compute_lowest_rates(clients, catalog)  # never below what its clients need
            plan = with_servers(plan, item, path, floor, find_client_fabric(spec, item.fabric), free, inputs)
        plans.append(plan)
    return tuple(plans)


def _find_client_cores(storage: Storage, catalog: Catalog) -> int:
    """Processor cores that a client of the product uses; 0 if it uses none, or if the product has no entry."""
    name = storage.product or storage.kind
    return (catalog.get(StorageProduct, name).client_cores or 0) if name in catalog.list_names("storage") else 0


def _compute_throughput(
    storage: Storage, path: str, pools: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems
) -> tuple[Rate | None, Rate | None, str]:
    ways = [way for way in ("tier", "throughput", "throughput_per_tib") if getattr(storage, way) is not None]
    if len(ways) > 1:
        problems.add_error(
            "storage-throughput",
            path,
            f"throughput is specified in {len(ways)} ways: {', '.join(ways)}",
            "keep one of them",
        )
    if storage.throughput:
        return storage.throughput.read, storage.throughput.write, "declared"
    if storage.throughput_per_tib:
        if storage.capacity is None:
            problems.add_error(
                "storage-throughput",
                f"{path}.throughput_per_tib",
                "throughput per TiB without a capacity",
                "set 'capacity'",
            )
            return None, None, ""
        rate = storage.throughput_per_tib * storage.capacity.to("TiB")
        return rate, rate, f"{storage.throughput_per_tib.bytes_text} for each TiB"
    if storage.tier:
        return _compute_tier_throughput(storage.tier, f"{path}.tier", pools, catalog, problems)
    return None, None, ""


def _compute_tier_throughput(
    tier: str, path: str, pools: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems
) -> tuple[Rate | None, Rate | None, str]:
    """Throughput of the reference architecture for a number of scalable units: linear between rows, proportional
    beyond.
    """
    found = _find_tier_table(pools, catalog)
    if found is None:
        problems.add_error(
            "storage-tier", path, "its clients have no accelerators to size a tier for", "set 'throughput' instead"
        )
        return None, None, ""
    table, units = found
    if not any(row.tier == tier for row in table.aggregate):
        problems.add_error(
            "storage-tier",
            path,
            f"{table.name}, the reference for these pools, has no tier {tier!r}",
            f"set tier to {' or '.join(list_tier_names(pools, catalog))}, or set 'throughput' instead",
        )
        return None, None, ""
    read, write = compute_tier_rates(tier, pools, catalog)
    return read, write, f"tier {tier} of {table.name} for {units} unit{'s' * (units > 1)}"


def compute_tier_rates(tier: str, pools: tuple[PoolPlan, ...], catalog: Catalog) -> tuple[Rate | None, Rate | None]:
    """Read and write throughput of a tier for these pools; None if the table does not have the tier or a matching
    unit.
    """
    found = _find_tier_table(pools, catalog)
    if found is None:
        return None, None
    table, units = found
    rows = sorted((row for row in table.aggregate if row.tier == tier), key=lambda row: row.units)
    return (_interpolate_rate(rows, units, "read"), _interpolate_rate(rows, units, "write")) if rows else (None, None)


def list_tier_names(pools: tuple[PoolPlan, ...], catalog: Catalog) -> tuple[str, ...]:
    """The tiers of the pools' reference architecture, lowest first; none without accelerators."""
    found = _find_tier_table(pools, catalog)
    known = {row.tier for row in found[0].aggregate} if found else set()
    return tuple(tier for tier in get_args(Tier) if tier in known)


def compute_lowest_rates(pools: tuple[PoolPlan, ...], catalog: Catalog) -> tuple[Rate | None, Rate | None]:
    """Read and write throughput of the lowest available tier for these pools."""
    names = list_tier_names(pools, catalog)
    return compute_tier_rates(names[0], pools, catalog) if names else (None, None)


def _find_tier_table(pools: tuple[PoolPlan, ...], catalog: Catalog) -> tuple[StorageTiers, int] | None:
    """The table whose scalable unit is nearest to that of the machines, and the number of its units."""
    tables = list(catalog.iter_entries(StorageTiers))
    accelerators = sum(pool.accelerators for pool in pools)
    largest_unit = max((_count_unit_accelerators(pool) for pool in pools), default=0)
    table = min(tables, key=lambda table: (abs(table.unit_accelerators - largest_unit), table.name), default=None)
    return (table, max(1, -(-accelerators // table.unit_accelerators))) if table and accelerators else None


def _count_unit_accelerators(pool: PoolPlan) -> int:
    unit = pool.machine.scalable_unit
    return (unit.nodes if unit else 0) * pool.accelerators_per_node


def _interpolate_rate(rows: list[TierRate], units: int, side: str) -> Rate:
    below = [row for row in rows if row.units <= units]
    above = [row for row in rows if row.units > units]
    if below and above:
        low, high = below[-1], above[0]
        part = (units - low.units) / (high.units - low.units)
        return cast(Rate, getattr(low, side) + (getattr(high, side) - getattr(low, side)) * part)
    nearest = below[-1] if below else above[0]
    return cast(Rate, getattr(nearest, side) * (units / nearest.units if below else 1))
