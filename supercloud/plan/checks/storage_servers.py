"""Checks of the servers of storage: limits of the product, memory and cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from ...catalog import Catalog, StorageProduct
from ...errors import Finding
from ...primitives.quantity import Quantity, Rate, Size
from ...spec.storage import Protection
from ..build.storage.clients import list_client_pools
from ..model.plan import Plan, StoragePlan
from ..model.storage import LustreDesign, StorageDesign, WekaDesign

__all__ = ["CHECKS", "iter_designs", "format_size"]


def iter_designs(plan: Plan) -> Iterator[tuple[int, StoragePlan, StorageDesign]]:
    """Stores with a design, and their indices in the spec."""
    return ((index, item, item.design) for index, item in enumerate(plan.storage) if item.design)


def _get_product(storage: StoragePlan, plan: Plan, index: int, catalog: Catalog) -> StorageProduct:
    return catalog.get(StorageProduct, plan.spec.storage[index].product or storage.kind)


def format_size(size: Size) -> str:
    """A size for people: a binary unit if it is round, otherwise four digits of a decimal unit."""
    text = str(size)
    if "iB" in text:
        return text
    number, _, unit = text.partition(" ")
    return f"{float(number):.4g} {unit}" if float(number) < 1e4 else text


def storage_limits(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More targets or clients than the product supports, or a target larger than its maximum."""
    for index, item, design in iter_designs(plan):
        product = _get_product(item, plan, index, catalog)
        clients = sum(pool.nodes for pool in list_client_pools(plan, index))
        rows: list[tuple[str, float, float | None, str]] = [("clients", clients, product.max_clients, "split it")]
        if isinstance(design, LustreDesign):
            rows.append(("object targets", design.targets, product.max_targets, "use larger drives"))
            limit = product.target_limit
            if limit and design.target_size > limit:
                yield Finding(
                    "storage-limits",
                    "error",
                    f"storage[{index}].protection.data",
                    f"a target of {design.data} × {design.drive_size} is {format_size(design.target_size)}, "
                    f"{format_size(design.target_size - limit)} over the maximum of {limit}",
                    f"set data: {max(1, _compute_max_data_parts(limit, design))}",
                )
        for what, number, most, suggestion in rows:
            if most is not None and number > most:
                yield Finding(
                    "storage-limits",
                    "error",
                    f"storage[{index}]",
                    f"{number:.0f} {what} of {item.name}: {number - most:.0f} over the maximum of {most:.0f} of "
                    f"{item.kind}",
                    f"{suggestion}, or declare two file systems",
                )


def _compute_max_data_parts(limit: Size, design: LustreDesign) -> int:
    """Data drives of the largest target that stays within the limit."""
    return int(limit.base * design.data // design.target_size.base)


def storage_protection(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Stripes and copies that the product does not support."""
    for index, item, _ in iter_designs(plan):
        product = _get_product(item, plan, index, catalog)
        for part in _iter_protection_parts(product, plan.spec.storage[index].protection):
            if part.most is not None and part.value > part.most:
                by, limit = f"{part.value - part.most} more than", part.most
            elif part.least is not None and part.value < part.least:
                by, limit = f"{part.least - part.value} fewer than", part.least
            else:
                continue
            yield Finding(
                "storage-protection",
                "error",
                f"storage[{index}].protection.{part.name}",
                f"{part.value} {_PART_NAMES[part.name]}: {by} the {limit} of {item.kind}",
                f"set {part.name}: {limit}, or omit it",
            )


@dataclass(frozen=True)
class _ProtectionPart:
    """A declared number of parts of a stripe, or of copies, with the limits of the product."""

    name: str
    value: int
    least: int | None
    most: int | None


def _iter_protection_parts(product: StorageProduct, declared: Protection) -> Iterator[_ProtectionPart]:
    if declared.data is not None:
        yield _ProtectionPart(
            "data", declared.data, product.data_from, _compute_max_stripe_parts(product, declared.parity)
        )
    if declared.copies is not None:
        yield _ProtectionPart("copies", declared.copies, None, product.copies_to)
    if declared.parity is not None and product.parity_many:
        parities = [number for number in (product.parity, product.parity_many) if number]
        yield _ProtectionPart("parity", declared.parity, min(parities), max(parities))


def _compute_max_stripe_parts(product: StorageProduct, parity: int | None) -> int | None:
    """Most data parts of a stripe, with this number of parity parts."""
    if product.set_to:
        return max(1, product.set_to - (parity or product.parity or 0))
    return product.data_to


_PART_NAMES = {"data": "data parts of a stripe", "copies": "copies", "parity": "parity parts of a stripe"}


def storage_value(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Capacity or throughput that must be above zero."""
    for index, item in enumerate(plan.spec.storage):
        rates = [
            ("throughput", item.throughput),
            ("servers.throughput", item.servers.throughput if item.servers else None),
        ]
        values: list[tuple[str, Quantity | None]] = [
            ("capacity", item.capacity),
            ("average_file", item.average_file),
            ("throughput_per_tib", item.throughput_per_tib),
        ]
        values += [
            (f"{name}.{side}", getattr(rate, side)) for name, rate in rates if rate for side in ("read", "write")
        ]
        for path, value in values:
            if value is not None and value.base <= 0:
                yield Finding(
                    "storage-value",
                    "error",
                    f"storage[{index}].{path}",
                    f"{value} is not above zero",
                    "set a value above zero, or omit it",
                )


def storage_targets(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Servers of Lustre with more object targets than usual."""
    for index, item, design in iter_designs(plan):
        most = _get_product(item, plan, index, catalog).targets_per_server_to
        if most and isinstance(design, LustreDesign) and design.targets_per_server > most:
            yield Finding(
                "storage-targets",
                "warning",
                f"storage[{index}].protection.data",
                f"{design.targets_per_server} object targets a server: {design.targets_per_server - most} over the "
                f"usual maximum of {most}",
                f"set data: {-(-design.drives // most) - design.parity}, or use servers with fewer drives",
            )


def storage_nfs(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """NFS over several servers: an export is on one server, and clients mount the first."""
    for index, item, design in iter_designs(plan):
        if item.kind != "nfs" or design.servers < 2:
            continue
        one = {"capacity": design.usable_capacity * Fraction(1, design.servers)}
        one |= {
            side: rate * Fraction(1, design.servers) for side in ("read", "write") if (rate := getattr(design, side))
        }
        short = [
            f"{_format_quantity(one[name])} of {_format_quantity(wanted)} to {name}"
            if name != "capacity"
            else f"{_format_quantity(one[name])} of {_format_quantity(wanted)}"
            for name in one
            if (wanted := getattr(item, name)) is not None and one[name] < wanted
        ]
        yield Finding(
            "storage-nfs",
            "warning" if short else "note",
            f"storage[{index}].servers",
            f"{item.name} has {design.servers} servers, but an export is on one server: clients mount the first, the "
            "others "
            "are standby" + (f"; the first alone provides {', '.join(short)}" if short else ""),
            "use a larger server, several file systems, or a parallel file system" if short else "set count: 1",
        )


def _format_quantity(value: Quantity) -> str:
    return (
        value.bytes_text if isinstance(value, Rate) else format_size(value) if isinstance(value, Size) else str(value)
    )


def storage_memory(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Servers with less memory, or fewer cores, than the product requires."""
    for index, item, design in iter_designs(plan):
        if not item.servers:
            continue
        machine = item.servers[-1].machine
        if isinstance(design, WekaDesign) and design.compute_cores is not None and design.compute_cores < 1:
            short = 1 - design.compute_cores
            yield Finding(
                "storage-memory",
                "error",
                f"storage[{index}].servers.machine",
                f"{machine.name} is {short} core{'s' * (short > 1)} short: {design.drive_cores} for drives, one "
                "for the front end, one for the system, one to compute",
                "use a machine with more cores, or fewer drives",
            )
        required = _compute_required_memory(_get_product(item, plan, index, catalog), design)
        if required and machine.memory and machine.memory < required.size:
            yield Finding(
                "storage-memory",
                "error",
                f"storage[{index}].servers.machine",
                f"{machine.name} has {machine.memory}, {format_size(required.size - machine.memory)} less than "
                f"{item.kind} requires for {required.cause}",
                f"use a machine with {format_size(required.size)} or more",
            )


@dataclass(frozen=True)
class _RequiredMemory:
    """Memory of a server, and what most of it is for."""

    size: Size
    cause: str


def _compute_required_memory(product: StorageProduct, design: StorageDesign) -> _RequiredMemory | None:
    """The memory that a product requires of each server; None if it is unknown."""
    base = product.memory_base
    if isinstance(design, LustreDesign) and base and product.memory_target:
        served = design.targets_per_server * (2 if design.has_pairs else 1)
        return _RequiredMemory(base + product.memory_target * served, f"{served} targets after a failover")
    if isinstance(design, WekaDesign) and base and design.hugepages:
        return _RequiredMemory(base + design.hugepages, "huge pages")
    return None


CHECKS = (
    storage_limits,
    storage_memory,
    storage_nfs,
    storage_protection,
    storage_targets,
    storage_value,
)
