"""Storage: capacity and the throughput that was asked for, whichever way it was said, and the servers that give it.

How much is here, on which servers is in ``storage_servers``, how a product is laid out in ``storage_designs``.
"""

from __future__ import annotations

from typing import cast, get_args

from ....catalog import Catalog, StorageTiers
from ....catalog.storage import Tier, TierRate
from ....errors import UnknownName
from ....primitives.quantity import Rate
from ....spec import ClusterSpec, Storage
from ...model.plan import NetworkPlan, PoolPlan, StoragePlan
from ..fabric.roles import client_fabric
from ..problems import Problems
from .clients import reaching_pools
from .servers import Room, checkpoint_need, placed

__all__ = ["PARALLEL", "lowest_rates", "storage_of", "tier_names", "tier_rates"]

# Kinds that feed accelerators: what their clients need is asked of them.
PARALLEL = ("lustre", "weka", "storage-scale")


def storage_of(
    spec: ClusterSpec, network: NetworkPlan, pools: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems
) -> tuple[StoragePlan, ...]:
    """Every file system and object store of the spec, each sized for the pools that are its clients."""
    fabrics = {fabric.name: fabric for fabric in spec.fabrics}
    room = Room.beside(network, pools)
    plans = []
    for index, item in enumerate(spec.storage):
        path = f"storage[{index}]"
        clients = reaching_pools(spec, index, pools)
        if item.fabric and item.fabric not in fabrics:
            problems.unknown(f"{path}.fabric", UnknownName("fabric", item.fabric, fabrics))
        read, write, basis = _throughput(item, path, clients, catalog, problems)
        checkpoint = checkpoint_need(item, path, problems)
        if checkpoint and not item.throughput and (write is None or checkpoint.write > write):
            write, basis = checkpoint.write, ", ".join(filter(None, (basis, "write by checkpoints")))
        plan = StoragePlan(
            item.name, item.kind, item.capacity, read, write, item.mount, item.fabric, basis, checkpoint=checkpoint
        )
        if spec.site.kind == "onprem" and item.kind != "managed":
            floor = (read, write)
            if item.kind in PARALLEL and read is None and write is None and _units(clients, catalog):
                floor = lowest_rates(clients, catalog)  # never below what its clients need
            plan = placed(plan, item, path, floor, client_fabric(spec, item.fabric), catalog, room, problems)
        plans.append(plan)
    return tuple(plans)


def _throughput(
    item: Storage, path: str, pools: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems
) -> tuple[Rate | None, Rate | None, str]:
    ways = [way for way in ("tier", "throughput", "throughput_per_tib") if getattr(item, way) is not None]
    if len(ways) > 1:
        problems.error(
            "storage-throughput", path, f"throughput is said in {len(ways)} ways: {', '.join(ways)}", "keep one of them"
        )
    if item.throughput:
        return item.throughput.read, item.throughput.write, "declared"
    if item.throughput_per_tib:
        if item.capacity is None:
            problems.error(
                "storage-throughput",
                f"{path}.throughput_per_tib",
                "throughput per TiB of no capacity",
                "set 'capacity'",
            )
            return None, None, ""
        rate = item.throughput_per_tib * item.capacity.to("TiB")
        return rate, rate, f"{item.throughput_per_tib.bytes_text} for each TiB"
    if item.tier:
        return _by_tier(item.tier, f"{path}.tier", pools, catalog, problems)
    return None, None, ""


def _by_tier(
    tier: str, path: str, pools: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems
) -> tuple[Rate | None, Rate | None, str]:
    """What the reference architecture asks for so many scalable units, in between linearly, beyond in proportion."""
    found = _units(pools, catalog)
    if found is None:
        problems.error("storage-tier", path, "its clients have no accelerators to size a tier for",
                       "set 'throughput' instead")  # fmt: skip
        return None, None, ""
    table, units = found
    if not any(row.tier == tier for row in table.aggregate):
        problems.error("storage-tier", path, f"{table.name}, the reference for these pools, has no tier {tier!r}",
                       f"set tier to {' or '.join(tier_names(pools, catalog))}, or set 'throughput' in its place"
                       )  # fmt: skip
        return None, None, ""
    read, write = tier_rates(tier, pools, catalog)
    return read, write, f"tier {tier} of {table.name} for {units} unit{'s' * (units > 1)}"


def tier_rates(tier: str, pools: tuple[PoolPlan, ...], catalog: Catalog) -> tuple[Rate | None, Rate | None]:
    """Read and write of a tier for these pools; None where the table has no such tier, or nothing to size it by."""
    found = _units(pools, catalog)
    if found is None:
        return None, None
    table, units = found
    rows = sorted((row for row in table.aggregate if row.tier == tier), key=lambda row: row.units)
    return (_at(rows, units, "read"), _at(rows, units, "write")) if rows else (None, None)


def tier_names(pools: tuple[PoolPlan, ...], catalog: Catalog) -> tuple[str, ...]:
    """The tiers that the reference architecture of these pools has, the lowest first; none without accelerators."""
    found = _units(pools, catalog)
    known = {row.tier for row in found[0].aggregate} if found else set()
    return tuple(tier for tier in get_args(Tier) if tier in known)


def lowest_rates(pools: tuple[PoolPlan, ...], catalog: Catalog) -> tuple[Rate | None, Rate | None]:
    """Read and write of the lowest tier there is for these pools."""
    names = tier_names(pools, catalog)
    return tier_rates(names[0], pools, catalog) if names else (None, None)


def _units(pools: tuple[PoolPlan, ...], catalog: Catalog) -> tuple[StorageTiers, int] | None:
    """The table whose scalable unit is nearest to that of the machines, and how many of its units there are."""
    tables = [cast(StorageTiers, table) for table in catalog.all("storage-tiers")]
    accelerators = sum(pool.accelerators for pool in pools)
    largest_unit = max((_unit_accelerators(pool) for pool in pools), default=0)
    table = min(tables, key=lambda table: (abs(table.unit_accelerators - largest_unit), table.name), default=None)
    return (table, max(1, -(-accelerators // table.unit_accelerators))) if table and accelerators else None


def _unit_accelerators(pool: PoolPlan) -> int:
    unit = pool.machine.scalable_unit
    return (unit.nodes if unit else 0) * pool.per_node


def _at(rows: list[TierRate], units: int, side: str) -> Rate:
    below = [row for row in rows if row.units <= units]
    above = [row for row in rows if row.units > units]
    if below and above:
        low, high = below[-1], above[0]
        part = (units - low.units) / (high.units - low.units)
        return cast(Rate, getattr(low, side) + (getattr(high, side) - getattr(low, side)) * part)
    nearest = below[-1] if below else above[0]
    return cast(Rate, getattr(nearest, side) * (units / nearest.units if below else 1))
