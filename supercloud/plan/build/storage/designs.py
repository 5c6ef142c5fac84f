"""Layout of storage products on servers, and the number of servers: the maximum over all requirements.

All designs use ``servers = max(minimum, capacity / usable of one, read / read of one, write / write of one)``; the
products differ in the usable part of a server. The numbers (parity, reserves, minima) are those of the catalog's
``storage`` files, with their sources. To add a product: a function here, a line in ``_DESIGN_BUILDERS``, a design in
``plan/model/storage.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from ....catalog import Machine, StorageProduct
from ....primitives.quantity import Rate, Size
from ....spec import Storage
from ...model.storage import LustreDesign, ScaleDesign, ShardDesign, StorageDesign, WekaDesign

__all__ = ["StorageRequirements", "build_design"]


@dataclass(frozen=True)
class StorageRequirements:
    """Required capacity and throughput of the servers together."""

    capacity: Size | None
    read: Rate | None
    write: Rate | None
    checkpoint: Rate | None


@dataclass(frozen=True)
class _DriveSet:
    count: int
    size: Size

    @property
    def raw_capacity(self) -> Fraction:
        """Bytes of the drives of one server together, before protection."""
        return self.size.base * self.count


def build_design(
    storage: Storage, product: StorageProduct, machine: Machine, requirements: StorageRequirements, ports: Rate | None
) -> StorageDesign | None:
    """The layout on such machines; None if their drives are unknown, or if no requirement determines the number."""
    disks = [disk for disk in machine.disks if disk.role == "scratch"]
    if not disks or storage.servers is None:
        return None
    drives = _DriveSet(sum(disk.count for disk in disks), min(disk.size for disk in disks))
    if not drives.raw_capacity:
        return None
    return _DESIGN_BUILDERS[storage.kind](
        storage, product, machine, drives, _ServerSizer(storage, product, requirements, ports)
    )


# No product has a wider stripe: a larger protection is not a valid layout.
_MAX_SET_SIZE = 1024


def _double_until_enough(servers: int, usable: Callable[[int], Fraction], required: Fraction) -> int:
    """The smallest power of two times the number of servers that is sufficient; a number beyond the limit if none
    is.
    """
    for _ in range(64):
        servers *= 2
        if usable(servers) >= required:
            break
    return servers


def _count_protection_servers(storage: Storage, product: StorageProduct) -> int:
    """Servers required by a declared protection, with each part on a different server: a stripe with spares, or
    copies.
    """
    protection = storage.protection
    if storage.kind == "storage-scale":
        return protection.copies or 0
    if storage.kind != "weka" or not (protection.data or protection.parity or protection.spares):
        return 0
    spares = protection.spares if protection.spares is not None else product.spares or 0
    return (protection.data or product.data_from or 1) + (protection.parity or product.parity or 0) + spares


class _ServerSizer:
    """Counts servers, and records the requirement that determined the number."""

    def __init__(
        self, storage: Storage, product: StorageProduct, requirements: StorageRequirements, ports: Rate | None
    ) -> None:
        assert storage.servers is not None
        self.declared, self.needs = storage.servers.count, requirements
        self.minimum = max(product.min_servers or 0, _count_protection_servers(storage, product))
        throughput = storage.servers.throughput
        rates = (throughput.read, throughput.write) if throughput else (None, None)
        self.bound = "declared" if any(rates) else "ports" if ports else ""
        # the throughput of a server is limited by its ports
        self.read = min(filter(None, (rates[0], ports)), default=None)
        self.write = min(filter(None, (rates[1], ports)), default=None)

    def count_servers(self, usable: Fraction, step: int = 1) -> tuple[int, str]:
        """Number of servers with a usable capacity, in steps, and the requirement that needs most of them."""
        if self.declared:
            return self.declared, "declared"
        needs = self.needs
        asked = [("minimum", self.minimum or 1)]
        if needs.capacity and usable > 0:
            asked.append(("capacity", ceil(needs.capacity.base / usable)))
        for name, rate, one in (("read", needs.read, self.read), ("write", needs.write, self.write)):
            if rate and one:
                asked.append((name, ceil(rate.base / one.base)))
        decided, number = max(asked, key=lambda pair: pair[1])
        return -(-number // step) * step, decided

    def build_common_fields(self, servers: int, decided_by: str, drives: _DriveSet, usable: Fraction) -> dict[str, Any]:
        """The fields that every design has; ``usable`` is the capacity in bytes."""
        return {
            "servers": servers,
            "drives": drives.count,
            "drive_size": drives.size,
            "usable_capacity": Size.from_base(floor(usable)),
            "read": self.read * servers if self.read else None,
            "write": self.write * servers if self.write else None,
            "throughput_basis": self.bound,
            "decided_by": decided_by,
            "min_servers": self.minimum,
        }


def _compute_groups(storage: Storage, product: StorageProduct, drives: int) -> tuple[int, int, int]:
    """Data and parity drives of a group, and groups per server; the remaining drives are spares."""
    data, parity = storage.protection.data or product.data or 1, storage.protection.parity
    if parity is None:
        parity = product.parity or 0
    while data + parity > drives and data > 1 and storage.protection.data is None:
        data -= 1  # a server with few drives has a smaller group
    return data, parity, drives // (data + parity)


def _build_lustre_design(
    storage: Storage, product: StorageProduct, machine: Machine, drives: _DriveSet, sizer: _ServerSizer
) -> StorageDesign | None:
    """Lustre manual, chapter 2.2. OSS = max(bandwidth / bandwidth of one, capacity / (targets x size)), in pairs.

    Inodes = usable / average file; metadata = inode size x inodes x 2, and at least a share of the capacity. One
    metadata server has one target; an ldiskfs target has at most 4 G inodes.
    """
    data, parity, targets = _compute_groups(storage, product, drives.count)
    if not targets:
        return None
    keeps = 1 - Fraction(repr(product.reserve or 0.0))
    target = drives.size.base * data * keeps
    assert storage.servers is not None
    servers, decided = sizer.count_servers(target * targets, 2 if storage.servers.pairs else 1)
    usable = target * targets * servers
    file = (storage.average_file or product.average_file or Size("1 MB")).base
    inodes = ceil(usable / file)
    metadata = _compute_metadata_size(product, inodes, usable, storage.data_on_metadata)
    least = ceil(inodes / product.max_inodes) if product.max_inodes else 1
    declared = storage.metadata.count if storage.metadata else None
    pair = 2 if storage.metadata is None or storage.metadata.pairs else 1
    metadata_servers = declared or -(-max(least, pair) // pair) * pair
    return LustreDesign(
        **sizer.build_common_fields(servers, decided, drives, usable),
        data=data,
        parity=parity,
        targets_per_server=targets,
        target_size=Size.from_base(floor(target)),
        metadata_servers=metadata_servers,
        metadata_targets=metadata_servers,
        inodes=inodes,
        metadata_size=Size.from_base(ceil(metadata)),
        metadata_target_size=Size.from_base(ceil(metadata / metadata_servers)),
        data_on_metadata=storage.data_on_metadata,
        has_pairs=storage.servers.pairs,
    )


def _compute_metadata_size(product: StorageProduct, inodes: int, usable: Fraction, has_data: bool) -> Fraction:
    """Metadata of a file system of this usable capacity; ``has_data``: files have their first bytes in it."""
    inode = product.inode_with_data if has_data else product.inode
    share = product.metadata_share_with_data if has_data else product.metadata_share
    by_inodes = (inode.base if inode else 0) * inodes * Fraction(repr(float(product.inode_factor or 1)))
    return max(by_inodes, usable * Fraction(repr(share or 0.0)))


def _build_weka_design(
    storage: Storage, product: StorageProduct, machine: Machine, drives: _DriveSet, sizer: _ServerSizer
) -> StorageDesign | None:
    """Usable = raw x D / (D + P) x (S - spares) / S x (1 - reserve); D follows from S, so S is searched upwards.

    A backend runs one core per drive, one for the front end and the rest for compute; core 0 is reserved for the
    system. Each process has its huge pages (resources_generator.py of WEKA's tools), and the compute processes at least
    those that the capacity of the drives requires (4000:1).
    """
    spares = storage.protection.spares if storage.protection.spares is not None else product.spares or 0
    keeps = 1 - Fraction(repr(product.reserve or 0.0))

    def compute_stripe(servers: int) -> tuple[int, int]:
        many = product.many_servers is not None and servers > product.many_servers
        parity = storage.protection.parity or (product.parity_many if many else product.parity) or 2
        data = storage.protection.data or min(product.data_to or 16, servers - parity - spares)
        return max(data, 1), parity

    def compute_usable(servers: int) -> Fraction:
        data, parity = compute_stripe(servers)
        alive = Fraction(max(servers - spares, 0), servers)
        return drives.raw_capacity * servers * Fraction(data, data + parity) * alive * keeps

    servers, decided = sizer.count_servers(Fraction(0))
    wanted = sizer.needs.capacity.base if sizer.needs.capacity and not sizer.declared else Fraction(0)
    if compute_usable(servers) < wanted:
        low, servers, decided = servers, _double_until_enough(servers, compute_usable, wanted), "capacity"
        while servers - low > 1:
            middle = (low + servers) // 2
            low, servers = (low, middle) if compute_usable(middle) >= wanted else (middle, servers)
    data, parity = compute_stripe(servers)
    cores = machine.cpu.sockets * machine.cpu.cores_per_socket if machine.cpu else None
    compute = cores - 1 - drives.count - 1 if cores else None
    return WekaDesign(
        **sizer.build_common_fields(servers, decided, drives, compute_usable(servers)),
        data=data,
        parity=parity,
        spares=spares,
        drive_cores=drives.count,
        compute_cores=compute,
        frontend_cores=1,
        hugepages=_compute_hugepages(product, drives, compute),
        raft_size=product.raft_size if product.raft_servers is not None and servers > product.raft_servers else None,
        container_cores=product.container_cores_to,
        operator_image=product.operator_image,
        client_port=product.client_port,
    )


def _compute_hugepages(product: StorageProduct, drives: _DriveSet, compute_cores: int | None) -> Size | None:
    """Huge pages of a WEKA backend; None if unknown."""
    page = product.process_hugepages
    if not page or compute_cores is None or compute_cores <= 0:
        return None
    held = Fraction(0)
    if product.raw_per_memory:
        held = drives.raw_capacity / Fraction(repr(float(product.raw_per_memory)))
    return Size.from_base(ceil(page.base * (drives.count + 1) + max(page.base * compute_cores, held)))


def _build_scale_design(
    storage: Storage, product: StorageProduct, machine: Machine, drives: _DriveSet, sizer: _ServerSizer
) -> StorageDesign | None:
    """Replicas of data and metadata on servers with local drives; each server is a failure group.

    The first drive of a server is for metadata, the others are for data.
    """
    copies = storage.protection.copies or product.copies or 1
    metadata = 1 if drives.count > 1 else 0
    one = drives.size.base * (drives.count - metadata) / copies
    servers, decided = sizer.count_servers(one)
    quorum = min(product.quorum or 1, servers if servers % 2 else max(servers - 1, 1))
    return ScaleDesign(
        **sizer.build_common_fields(servers, decided, drives, one * servers),
        copies=copies,
        metadata_drives=metadata,
        quorum=quorum,
        block=product.block or Size("4 MiB"),
    )


def _build_shard_design(
    storage: Storage, product: StorageProduct, machine: Machine, drives: _DriveSet, sizer: _ServerSizer
) -> StorageDesign | None:
    """Parity groups within a server (NFS)."""
    data, parity, groups = _compute_groups(storage, product, drives.count)
    if not groups:
        return None
    one = drives.size.base * data * groups
    servers, decided = sizer.count_servers(one)
    return ShardDesign(**sizer.build_common_fields(servers, decided, drives, one * servers), data=data, parity=parity)


def _build_object_design(
    storage: Storage, product: StorageProduct, machine: Machine, drives: _DriveSet, sizer: _ServerSizer
) -> StorageDesign | None:
    """Erasure sets over servers, as MinIO makes them: equal sets that use all drives, each with its parity.

    A set is the largest divisor of all drives that is not more than the product's, so usable space follows from the
    number of servers, which is searched upwards.
    """
    most, parity = storage.protection.data or product.data or 1, storage.protection.parity or product.parity or 0

    if most + parity > _MAX_SET_SIZE:
        return None

    def compute_data_parts(servers: int) -> int:
        total = servers * drives.count
        return max(size for size in range(1, most + parity + 1) if total % size == 0) - parity

    def compute_usable(servers: int) -> Fraction:
        data = max(compute_data_parts(servers), 0)
        return drives.raw_capacity * servers * Fraction(data, data + parity) if data else Fraction(0)

    servers, decided = sizer.count_servers(drives.raw_capacity * Fraction(most, most + parity))
    wanted = sizer.needs.capacity.base if sizer.needs.capacity and not sizer.declared else Fraction(0)
    # the set size divides the drives, so one of the next numbers of servers has sets of full size
    servers = next(
        (servers + more for more in range(most + parity) if compute_usable(servers + more) >= wanted), servers
    )
    if compute_data_parts(servers) < 1:
        return None
    return ShardDesign(
        **sizer.build_common_fields(servers, decided, drives, compute_usable(servers)),
        data=compute_data_parts(servers),
        parity=parity,
    )


_DESIGN_BUILDERS: dict[
    str, Callable[[Storage, StorageProduct, Machine, _DriveSet, _ServerSizer], StorageDesign | None]
] = {
    "lustre": _build_lustre_design,
    "weka": _build_weka_design,
    "storage-scale": _build_scale_design,
    "nfs": _build_shard_design,
    "object": _build_object_design,
}
