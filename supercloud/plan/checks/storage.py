"""Checks of storage: requirements compared with the capacity and throughput of its servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from math import ceil
from typing import cast

from ...catalog import Catalog
from ...errors import Finding
from ...primitives.quantity import Rate, Size
from ..build.storage.clients import is_client, list_client_pools
from ..build.storage.mounts import is_reserved, normalize_mount
from ..build.storage.products import PARALLEL_KINDS, compute_lowest_rates, compute_tier_rates, list_tier_names
from ..model.plan import Plan, PoolPlan
from ..model.storage import LustreDesign, StorageDesign
from . import storage_servers as on_servers
from .storage_counts import count_servers
from .storage_servers import format_size, iter_designs

__all__ = ["CHECKS"]


def storage_mount(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Two stores mounted at one path, or one inside the other."""
    seen: dict[str, str] = {}
    for index, item in enumerate(plan.storage):
        if not item.mount:
            continue
        mount = normalize_mount(item.mount)
        for other, name in seen.items():
            if mount == other or mount.startswith(f"{other}/") or other.startswith(f"{mount}/"):
                yield Finding(
                    "storage-mount",
                    "error" if mount == other else "warning",
                    f"storage[{index}].mount",
                    f"{item.name} and {name} have the same mount {mount}"
                    if mount == other
                    else f"{mount} of {item.name} and {other} of {name} are one inside the other",
                    "mount them at separate paths",
                )
        seen[mount] = item.name


def storage_mount_reserved(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A mount that hides a directory of the system."""
    for index, item in enumerate(plan.spec.storage):
        if item.mount and is_reserved(item.mount, catalog):
            yield Finding(
                "storage-mount-reserved",
                "error",
                f"storage[{index}].mount",
                f"{item.mount} belongs to the operating system, the scheduler or other software of nodes",
                f"mount it at /{item.name}",
            )


def storage_throughput_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A file system for accelerators without a required throughput."""
    for index, item in enumerate(plan.storage):
        clients = list_client_pools(plan, index)
        fed = any(pool.accelerators for pool in clients)
        refused = plan.spec.storage[index].tier is not None  # a tier without rates is a separate error
        if item.kind != "object" and item.read is None and item.write is None and fed and not refused:
            tiers = " or ".join(list_tier_names(clients, catalog))
            yield Finding(
                "storage-throughput-unknown",
                "note",
                f"storage[{index}]",
                f"{item.name} has no required throughput",
                f"set {f'tier: {tiers}, or ' if tiers else ''}throughput: {{read: …, write: …}}",
            )


def storage_throughput_low(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """File systems that provide less to the accelerators of their clients than the lowest tier of the reference
    architecture.
    """
    for stores, pools in _list_feeding(plan):
        wants = dict(zip(("read", "write"), compute_lowest_rates(pools, catalog), strict=True))
        lowest = next(iter(list_tier_names(pools, catalog)), "")
        accelerators = sum(pool.accelerators for pool in pools)
        where = "" if len(pools) == len(plan.pools) else f" of {', '.join(pool.name for pool in pools)}"
        for side, wanted in wants.items():
            rates = (getattr(plan.storage[index], side) for index in stores)
            given = [cast(Rate, rate) for rate in rates if rate is not None]
            total = sum(given, Rate(0, "b/s"))
            if wanted and given and total < wanted:
                yield Finding(
                    "storage-throughput-low",
                    "warning",
                    f"storage[{stores[0]}]",
                    f"{accelerators} accelerators{where} get {total.bytes_text} to {side}, "
                    f"{(wanted - total).bytes_text} less than the {wanted.bytes_text} of the lowest tier ({lowest})",
                    _suggest_rate(plan, catalog, stores, side, lowest, wanted - total),
                )


def _suggest_rate(plan: Plan, catalog: Catalog, stores: list[int], side: str, lowest: str, lacking: Rate) -> str:
    """The throughput that the first of the stores needs so that all provide enough; its tier if that provides it."""
    store = plan.storage[stores[0]]
    needed = (getattr(store, side) or Rate(0, "b/s")) + lacking
    declared = plan.spec.storage[stores[0]]
    ways = [way for way in ("tier", "throughput", "throughput_per_tib") if getattr(declared, way) is not None]
    instead = f" instead of {ways[0]}" if ways else ""  # throughput is declared in one way
    ask = f"require {needed.minimum_bytes_text} of {store.name}" + f" as throughput{instead}" * (ways != ["throughput"])
    rates = dict(
        zip(("read", "write"), compute_tier_rates(lowest, list_client_pools(plan, stores[0]), catalog), strict=True)
    )
    by_tier = rates[side]
    return f"{ask}, or set tier: {lowest}{instead}" if by_tier and by_tier >= needed else ask


def _list_feeding(plan: Plan) -> list[tuple[list[int], tuple[PoolPlan, ...]]]:
    """Parallel file systems with the pools that use only these: those of each pool, and those that are
    connected by common pools.
    """
    feeding = [index for index, item in enumerate(plan.storage) if item.kind in PARALLEL_KINDS]
    fed = {pool.name: frozenset(index for index in feeding if is_client(plan, index, pool)) for pool in plan.pools}
    return [
        (sorted(stores), tuple(pool for pool in plan.pools if fed[pool.name] and fed[pool.name] <= stores))
        for stores in dict.fromkeys([*_merge_connected(fed.values()), *fed.values()])
        if stores
    ]


def _merge_connected(sets: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Unions of the sets that have common members, directly or by another set."""
    merged: list[frozenset[int]] = []
    for item in sets:
        apart = [other for other in merged if not other & item]
        merged = [*apart, item.union(*(other for other in merged if other & item))]
    return merged


def storage_servers(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """On-prem storage without declared machines, or with drives that are not in the catalog."""
    for index, item in enumerate(plan.storage):
        declared = plan.spec.storage[index].servers
        if plan.site.kind != "onprem" or item.kind == "managed":
            continue
        if declared is None:
            yield Finding(
                "storage-servers",
                "note",
                f"storage[{index}]",
                f"{item.name} has no machines: it has no rack, no power and no port in this plan",
                "set servers: {machine: …}; their number follows from capacity and throughput",
            )
        elif item.design is None and declared.machine in catalog.list_names("machines"):
            how = "" if item.servers else ", and no count is set"
            yield Finding(
                "storage-servers",
                "warning" if item.servers else "error",
                f"storage[{index}].servers",
                f"the data drives of {declared.machine} are unknown, or too few for a parity group{how}: "
                "capacity is not checked",
                "add its drives (disks: {role: scratch, …}) to a catalog overlay, or set servers.count",
            )


def storage_minimum(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Fewer servers than the product requires."""
    for index, item, design in iter_designs(plan):
        if design.servers < design.min_servers:
            yield Finding(
                "storage-minimum",
                "error",
                f"storage[{index}].servers.count",
                f"{design.servers} servers for {item.kind}, which requires {design.min_servers}: "
                f"{design.min_servers - design.servers} too few",
                f"set count: {design.min_servers}, or omit it",
            )


def storage_capacity(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Servers with less capacity than required, by the declared capacity or by the checkpoints that are kept."""
    for index, item, design in iter_designs(plan):
        kept = item.checkpoint.kept_size if item.checkpoint else None
        wanted = max(filter(None, (item.capacity, kept)), default=None)
        if wanted and not _has_capacity(design, wanted):
            what = "checkpoints" if wanted == kept and wanted != item.capacity else "capacity"
            more = count_servers(plan, catalog, index, partial(_has_capacity, required=wanted))
            yield Finding(
                "storage-capacity",
                "error",
                f"storage[{index}].servers.count",
                f"{design.servers} servers of {design.drives} × {design.drive_size} hold "
                f"{format_size(design.usable_capacity)} of the "
                f"{format_size(wanted)} of {what}: {format_size(wanted - design.usable_capacity)} short",
                f"use {more} servers, or omit 'count'" if more else "use servers with more drives",
            )


def _has_capacity(design: StorageDesign, required: Size) -> bool:
    return design.usable_capacity >= required


def _has_throughput(design: StorageDesign, side: str, required: Rate) -> bool:
    given = getattr(design, side)
    return given is not None and given >= required


def storage_metadata(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Metadata targets that are larger than the mirrored drives of their servers."""
    for index, item, design in iter_designs(plan):
        group = next((group for group in item.servers if group.role == "mds"), None)
        if group is None or not isinstance(design, LustreDesign):
            continue
        raw = sum((disk.size * disk.count for disk in group.machine.disks if disk.role == "scratch"), Size(0, "B"))
        if raw and raw * Fraction(1, 2) < design.metadata_target_size:
            short = design.metadata_target_size - raw * Fraction(1, 2)
            count = ceil(design.metadata_size.base * 2 / raw.base)
            yield Finding(
                "storage-metadata",
                "error",
                f"storage[{index}].metadata",
                f"{group.count} metadata servers with {format_size(raw)} of drives hold targets of "
                f"{format_size(raw * Fraction(1, 2))} mirrored: {format_size(short)} short of "
                f"{format_size(design.metadata_target_size)} each",
                f"set metadata: {{machine: {group.machine.name}, count: {count + count % 2}}}",
            )


def storage_server_throughput(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Servers that do not provide the required throughput."""
    for index, item, design in iter_designs(plan):
        for side in ("read", "write"):
            wanted, given = getattr(item, side), getattr(design, side)
            if wanted is None or given is None or _has_throughput(design, side, wanted):
                continue
            by = " by their network ports" if design.throughput_basis == "ports" else ""
            more = count_servers(plan, catalog, index, partial(_has_throughput, side=side, required=wanted))
            yield Finding(
                "storage-server-throughput",
                "error",
                f"storage[{index}].servers",
                f"{design.servers} servers {side} {given.bytes_text}{by}, {(wanted - given).bytes_text} less than the "
                f"required {wanted.bytes_text}",
                f"use {more} servers" if more else "use servers that provide throughput",
            )


def storage_server_throughput_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Servers counted by their ports, because the throughput of one server is unknown."""
    for index, item, design in iter_designs(plan):
        if design.throughput_basis != "declared" and (item.read or item.write):
            bound = "an upper bound, the network ports" if design.throughput_basis else "capacity only"
            yield Finding(
                "storage-server-throughput-unknown",
                "note",
                f"storage[{index}].servers.throughput",
                f"unknown throughput of one {plan.spec.storage[index].servers.machine}: "  # type: ignore[union-attr]
                f"{item.name} is counted by {bound}",
                "measure one (fio, or the vendor's figure) and set servers.throughput: {read: …, write: …}",
            )


def storage_checkpoint(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A checkpoint that must be written faster than the file system can write."""
    for index, item in enumerate(plan.storage):
        need = item.checkpoint
        limit = item.write
        if need is None or limit is None or need.write <= limit:
            continue
        share = 2 if need.is_background else 1
        wanted = f"throughput: {{write: {need.write.minimum_bytes_text}}}"
        if limit:
            seconds = ceil(need.size.base * 8 * share / limit.base)
            wanted = f"{'interval' if need.is_background else 'stall'}: {seconds} s, or {wanted}"
        yield Finding(
            "storage-checkpoint",
            "error",
            f"storage[{index}].checkpoint",
            f"{format_size(need.size)} in {need.window}{' by half of the throughput' * need.is_background} requires "
            f"{need.write.bytes_text}, {(need.write - limit).bytes_text} more than the {limit.bytes_text} {item.name} "
            "writes",
            f"set {wanted}",
        )


CHECKS = (
    storage_mount,
    storage_mount_reserved,
    storage_throughput_unknown,
    storage_throughput_low,
    storage_servers,
    storage_minimum,
    storage_capacity,
    storage_metadata,
    storage_server_throughput,
    storage_server_throughput_unknown,
    storage_checkpoint,
    *on_servers.CHECKS,
)
