"""Checks of storage: what was asked of it against what its servers hold and give."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import ceil
from typing import cast

from ...catalog import Catalog
from ...errors import Finding
from ...primitives.quantity import Rate, Size
from ..build.storage.clients import is_client, list_client_pools
from ..build.storage.mounts import is_reserved, normalize_mount
from ..build.storage.products import PARALLEL_KINDS, compute_tier_rates, lowest_rates, tier_names
from ..model.plan import Plan, PoolPlan
from ..model.storage import LustreDesign, StorageDesign
from . import storage_servers as on_servers
from .storage_counts import count_servers
from .storage_servers import format_size, iter_designs

__all__ = ["CHECKS"]


def storage_mount(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Two things mounted at one place, or one inside the other."""
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
                    f"{mount} and {other} of {name} are one inside the other",
                    "mount them side by side",
                )
        seen[mount] = item.name


def storage_mount_reserved(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A mount that hides a folder of the system."""
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
    """A file system for accelerators without any throughput asked for."""
    for index, item in enumerate(plan.storage):
        clients = list_client_pools(plan, index)
        fed = any(pool.accelerators for pool in clients)
        refused = plan.spec.storage[index].tier is not None  # a tier without rates is an error of its own
        if item.kind != "object" and item.read is None and item.write is None and fed and not refused:
            tiers = " or ".join(tier_names(clients, catalog))
            yield Finding(
                "storage-throughput-unknown",
                "note",
                f"storage[{index}]",
                f"{item.name} says nothing of throughput",
                f"set {f'tier: {tiers}, or ' if tiers else ''}throughput: {{read: …, write: …}}",
            )


def storage_throughput_low(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """File systems that give the accelerators of their clients less than the lowest tier of the reference
    architecture."""
    for stores, pools in _list_feeding(plan):
        wants = dict(zip(("read", "write"), lowest_rates(pools, catalog), strict=True))
        lowest = next(iter(tier_names(pools, catalog)), "")
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
                    f"{accelerators} accelerators{where} are given {total.bytes_text} to {side}, "
                    f"{(wanted - total).bytes_text} less than the {wanted.bytes_text} of the lowest tier ({lowest})",
                    _rate_cure(plan, catalog, stores, side, lowest, wanted - total),
                )


def _rate_cure(plan: Plan, catalog: Catalog, stores: list[int], side: str, lowest: str, lacking: Rate) -> str:
    """What the first of the stores has to give for all to give enough; its tier where that gives it."""
    store = plan.storage[stores[0]]
    needed = (getattr(store, side) or Rate(0, "b/s")) + lacking
    declared = plan.spec.storage[stores[0]]
    ways = [way for way in ("tier", "throughput", "throughput_per_tib") if getattr(declared, way) is not None]
    instead = f" in place of {ways[0]}" if ways else ""  # throughput is declared in one way
    ask = f"ask {store.name} for {needed.minimum_bytes_text}" + f" of throughput{instead}" * (ways != ["throughput"])
    rates = dict(
        zip(("read", "write"), compute_tier_rates(lowest, list_client_pools(plan, stores[0]), catalog), strict=True)
    )
    by_tier = rates[side]
    return f"{ask}, or set tier: {lowest}{instead}" if by_tier and by_tier >= needed else ask


def _list_feeding(plan: Plan) -> list[tuple[list[int], tuple[PoolPlan, ...]]]:
    """Parallel file systems with the pools that are fed by these alone: those of each pool, and those that are
    connected by pools which they have in common."""
    feeding = [index for index, item in enumerate(plan.storage) if item.kind in PARALLEL_KINDS]
    fed = {pool.name: frozenset(index for index in feeding if is_client(plan, index, pool)) for pool in plan.pools}
    connected: list[frozenset[int]] = []
    for stores in fed.values():
        apart = [item for item in connected if not item & stores]
        connected = [*apart, stores.union(*(item for item in connected if item & stores))]
    return [
        (sorted(stores), tuple(pool for pool in plan.pools if fed[pool.name] and fed[pool.name] <= stores))
        for stores in dict.fromkeys([*connected, *fed.values()])
        if stores
    ]


def storage_servers(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """On-prem storage whose machines nobody named, or whose drives the catalog does not know."""
    for index, item in enumerate(plan.storage):
        declared = plan.spec.storage[index].servers
        if plan.site.kind != "onprem" or item.kind == "managed":
            continue
        if declared is None:
            yield Finding(
                "storage-servers",
                "note",
                f"storage[{index}]",
                f"{item.name} has no machines: it takes no rack, no power and no port in this plan",
                "set servers: {machine: …}; how many follows from capacity and throughput",
            )
        elif item.design is None and declared.machine in catalog.list_names("machines"):
            how = "" if item.servers else ", nor is a count given"
            yield Finding(
                "storage-servers",
                "warning" if item.servers else "error",
                f"storage[{index}].servers",
                f"the data drives of {declared.machine} are not known, or too few for a parity group{how}: "
                "capacity is not checked",
                "put its drives (disks: {role: scratch, …}) into a catalog overlay, or set servers.count",
            )


def storage_minimum(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Fewer servers than the product asks for."""
    for index, item, design in iter_designs(plan):
        if design.servers < design.min_servers:
            yield Finding(
                "storage-minimum",
                "error",
                f"storage[{index}].servers.count",
                f"{design.servers} servers for {item.kind}, which asks for {design.min_servers}: "
                f"{design.min_servers - design.servers} too few",
                f"set count: {design.min_servers}, or leave it out",
            )


def storage_capacity(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Servers that do not hold what they must: the capacity asked for, and the checkpoints that are kept."""
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
                f"take {more} servers, or leave 'count' out" if more else "take servers with more drives",
            )


def _has_capacity(design: StorageDesign, required: Size) -> bool:
    return design.usable_capacity >= required


def _has_throughput(design: StorageDesign, side: str, required: Rate) -> bool:
    given = getattr(design, side)
    return given is not None and given >= required


def storage_metadata(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Metadata targets that the drives of their servers, mirrored, do not hold."""
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


def storage_short(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Servers that do not give the throughput asked for."""
    for index, item, design in iter_designs(plan):
        for side in ("read", "write"):
            wanted, given = getattr(item, side), getattr(design, side)
            if wanted is None or given is None or _has_throughput(design, side, wanted):
                continue
            by = " by their network ports" if design.throughput_basis == "ports" else ""
            more = count_servers(plan, catalog, index, partial(_has_throughput, side=side, required=wanted))
            yield Finding(
                "storage-short",
                "error",
                f"storage[{index}].servers",
                f"{design.servers} servers {side} {given.bytes_text}{by}, {(wanted - given).bytes_text} less than the "
                f"{wanted.bytes_text} asked for",
                f"take {more} servers" if more else "take servers that give any",
            )


def storage_rate_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Servers counted by the ports they have, because nobody said what one of them gives."""
    for index, item, design in iter_designs(plan):
        if design.throughput_basis != "declared" and (item.read or item.write):
            bound = "an upper bound, the network ports" if design.throughput_basis else "nothing at all"
            yield Finding(
                "storage-rate-unknown",
                "note",
                f"storage[{index}].servers.throughput",
                f"what one {plan.spec.storage[index].servers.machine} gives is not known: "  # type: ignore[union-attr]
                f"{item.name} is counted by {bound}",
                "measure one (fio, or the maker's figure) and set servers.throughput: {read: …, write: …}",
            )


def storage_checkpoint(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A checkpoint that must be written faster than the file system writes."""
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
            f"{format_size(need.size)} in {need.window}{' by half of the throughput' * need.is_background} need "
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
    storage_short,
    storage_rate_unknown,
    storage_checkpoint,
    *on_servers.CHECKS,
)
