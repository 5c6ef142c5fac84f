"""How a storage product is laid out on servers, and how many it takes: the largest of what each need asks for.

Every design is ``servers = max(minimum, capacity / usable of one, read / read of one, write / write of one)``; the
products differ in what of a server is usable. The numbers (parity, reserves, minima) are those of the catalog's
``storage`` files, with their sources. To add a product: a function here, a line in ``_DESIGNS``, a design in
``storage_model``.
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
from ...model.storage import Design, LustreDesign, ScaleDesign, ShardDesign, WekaDesign

__all__ = ["Needs", "design_of"]


@dataclass(frozen=True)
class Needs:
    """What the servers must hold and give together."""

    capacity: Size | None
    read: Rate | None
    write: Rate | None
    checkpoint: Rate | None


@dataclass(frozen=True)
class _Drives:
    count: int
    size: Size

    @property
    def raw(self) -> Fraction:
        return self.size.base * self.count


def design_of(
    item: Storage, product: StorageProduct, machine: Machine, needs: Needs, ports: Rate | None
) -> Design | None:
    """The layout on such machines; None where their drives are not known, or nothing says how many it takes."""
    disks = [disk for disk in machine.disks if disk.role == "scratch"]
    if not disks or item.servers is None:
        return None
    drives = _Drives(sum(disk.count for disk in disks), min(disk.size for disk in disks))
    if not drives.raw:
        return None
    return _DESIGNS[item.kind](item, product, machine, drives, _Need(item, product, needs, ports))


# No product's stripe is wider: what is asked beyond it is no layout.
_LARGEST_SET = 1024


def _doubled(servers: int, usable: Callable[[int], Fraction], wanted: Fraction) -> int:
    """A power of two times that many servers, the first that hold it; far too many where none would."""
    for _ in range(64):
        servers *= 2
        if usable(servers) >= wanted:
            break
    return servers


def _apart(item: Storage, product: StorageProduct) -> int:
    """Servers that a declared protection takes, each of its parts on another: a stripe with the spares, or copies."""
    said = item.protection
    if item.kind == "storage-scale":
        return said.copies or 0
    if item.kind != "weka" or not (said.data or said.parity or said.spares):
        return 0
    spares = said.spares if said.spares is not None else product.spares or 0
    return (said.data or product.data_from or 1) + (said.parity or product.parity or 0) + spares


class _Need:
    """Counts servers, and says what decided."""

    def __init__(self, item: Storage, product: StorageProduct, needs: Needs, ports: Rate | None) -> None:
        assert item.servers is not None
        self.declared, self.needs = item.servers.count, needs
        self.minimum = max(product.min_servers or 0, _apart(item, product))
        said = item.servers.throughput
        rates = (said.read, said.write) if said else (None, None)
        self.bound = "declared" if any(rates) else "ports" if ports else ""
        # a server never moves more than its ports do
        self.read = min(filter(None, (rates[0], ports)), default=None)
        self.write = min(filter(None, (rates[1], ports)), default=None)

    def count(self, usable: Fraction, step: int = 1) -> tuple[int, str]:
        """How many servers of so much usable space, in steps, and which need took most of them."""
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

    def common(self, servers: int, decided: str, drives: _Drives, usable: Fraction) -> dict[str, Any]:
        """The fields every design has."""
        return {
            "servers": servers,
            "drives": drives.count,
            "drive": drives.size,
            "usable": Size.of_base(floor(usable)),
            "read": self.read * servers if self.read else None,
            "write": self.write * servers if self.write else None,
            "bound": self.bound,
            "decided_by": decided,
            "minimum": self.minimum,
        }


def _groups(item: Storage, product: StorageProduct, drives: int) -> tuple[int, int, int]:
    """Data and parity drives of a group, and groups in a server; what is left over is spare."""
    data, parity = item.protection.data or product.data or 1, item.protection.parity
    if parity is None:
        parity = product.parity or 0
    while data + parity > drives and data > 1 and item.protection.data is None:
        data -= 1  # a small server has a smaller group
    return data, parity, drives // (data + parity)


def _lustre(item: Storage, product: StorageProduct, machine: Machine, drives: _Drives, need: _Need) -> Design | None:
    """Lustre manual, chapter 2.2. OSS = max(bandwidth / that of one, capacity / (targets x size)), in pairs.

    Inodes = usable / average file; metadata = inode size x inodes x 2, and a share of the capacity at least. One
    metadata server has one target; a target of ldiskfs takes at most 4 G inodes.
    """
    data, parity, targets = _groups(item, product, drives.count)
    if not targets:
        return None
    keeps = 1 - Fraction(repr(product.reserve or 0.0))
    target = drives.size.base * data * keeps
    assert item.servers is not None
    servers, decided = need.count(target * targets, 2 if item.servers.pairs else 1)
    usable = target * targets * servers
    file = (item.average_file or product.average_file or Size("1 MB")).base
    inodes = ceil(usable / file)
    with_data = item.data_on_metadata
    inode = product.inode_with_data if with_data else product.inode
    share = product.metadata_share_with_data if with_data else product.metadata_share
    by_inodes = (inode.base if inode else 0) * inodes * Fraction(repr(float(product.inode_factor or 1)))
    metadata = max(by_inodes, usable * Fraction(repr(share or 0.0)))
    least = ceil(inodes / product.max_inodes) if product.max_inodes else 1
    declared = item.metadata.count if item.metadata else None
    pair = 2 if item.metadata is None or item.metadata.pairs else 1
    metadata_servers = declared or -(-max(least, pair) // pair) * pair
    return LustreDesign(
        **need.common(servers, decided, drives, usable),
        data=data,
        parity=parity,
        targets_per_server=targets,
        target=Size.of_base(floor(target)),
        metadata_servers=metadata_servers,
        metadata_targets=metadata_servers,
        inodes=inodes,
        metadata=Size.of_base(ceil(metadata)),
        metadata_target=Size.of_base(ceil(metadata / metadata_servers)),
        data_on_metadata=with_data,
        pairs=item.servers.pairs,
    )


def _weka(item: Storage, product: StorageProduct, machine: Machine, drives: _Drives, need: _Need) -> Design | None:
    """Usable = raw x D / (D + P) x (S - spares) / S x (1 - reserve); D follows from S, so S is searched upwards.

    A backend runs one core a drive, one for the front end and the rest compute, core 0 left to the system; each
    process takes its huge pages (resources_generator.py of WEKA's tools), and the compute processes no less than the
    drives' capacity asks for (4000:1).
    """
    spares = item.protection.spares if item.protection.spares is not None else product.spares or 0
    keeps = 1 - Fraction(repr(product.reserve or 0.0))

    def stripe(servers: int) -> tuple[int, int]:
        many = product.many_servers is not None and servers > product.many_servers
        parity = item.protection.parity or (product.parity_many if many else product.parity) or 2
        data = item.protection.data or min(product.data_to or 16, servers - parity - spares)
        return max(data, 1), parity

    def usable(servers: int) -> Fraction:
        data, parity = stripe(servers)
        alive = Fraction(max(servers - spares, 0), servers)
        return drives.raw * servers * Fraction(data, data + parity) * alive * keeps

    servers, decided = need.count(Fraction(0))
    wanted = need.needs.capacity.base if need.needs.capacity and not need.declared else Fraction(0)
    if usable(servers) < wanted:
        low, servers, decided = servers, _doubled(servers, usable, wanted), "capacity"
        while servers - low > 1:
            middle = (low + servers) // 2
            low, servers = (low, middle) if usable(middle) >= wanted else (middle, servers)
    data, parity = stripe(servers)
    cores = machine.cpu.sockets * machine.cpu.cores_per_socket if machine.cpu else None
    compute = cores - 1 - drives.count - 1 if cores else None
    page = product.process_hugepages
    pages = None
    if page and compute is not None and compute > 0:
        held = drives.raw / Fraction(repr(float(product.raw_per_memory))) if product.raw_per_memory else Fraction(0)
        pages = Size.of_base(ceil(page.base * (drives.count + 1) + max(page.base * compute, held)))
    return WekaDesign(
        **need.common(servers, decided, drives, usable(servers)),
        data=data,
        parity=parity,
        spares=spares,
        drive_cores=drives.count,
        compute_cores=compute,
        frontend_cores=1,
        hugepages=pages,
        raft=product.raft_size if product.raft_servers is not None and servers > product.raft_servers else None,
    )


def _scale(item: Storage, product: StorageProduct, machine: Machine, drives: _Drives, need: _Need) -> Design | None:
    """Copies of everything on servers with drives of their own, each server a failure group.

    The first drive of a server holds metadata, the others data.
    """
    copies = item.protection.copies or product.copies or 1
    metadata = 1 if drives.count > 1 else 0
    one = drives.size.base * (drives.count - metadata) / copies
    servers, decided = need.count(one)
    quorum = min(product.quorum or 1, servers if servers % 2 else max(servers - 1, 1))
    return ScaleDesign(
        **need.common(servers, decided, drives, one * servers),
        copies=copies,
        metadata_drives=metadata,
        quorum=quorum,
        block=product.block or Size("4 MiB"),
    )


def _shards(item: Storage, product: StorageProduct, machine: Machine, drives: _Drives, need: _Need) -> Design | None:
    """Parity groups within a server (NFS)."""
    data, parity, groups = _groups(item, product, drives.count)
    if not groups:
        return None
    one = drives.size.base * data * groups
    servers, decided = need.count(one)
    return ShardDesign(**need.common(servers, decided, drives, one * servers), data=data, parity=parity)


def _object(item: Storage, product: StorageProduct, machine: Machine, drives: _Drives, need: _Need) -> Design | None:
    """Erasure sets over servers, as MinIO makes them: as many equal sets as use every drive, each keeping its parity.

    A set is the largest divisor of all drives that is not more than the product's, so usable space follows from the
    number of servers, which is searched upwards.
    """
    most, parity = item.protection.data or product.data or 1, item.protection.parity or product.parity or 0

    if most + parity > _LARGEST_SET:
        return None

    def data_of(servers: int) -> int:
        total = servers * drives.count
        return max(size for size in range(1, most + parity + 1) if total % size == 0) - parity

    def usable(servers: int) -> Fraction:
        data = max(data_of(servers), 0)
        return drives.raw * servers * Fraction(data, data + parity) if data else Fraction(0)

    servers, decided = need.count(drives.raw * Fraction(most, most + parity))
    wanted = need.needs.capacity.base if need.needs.capacity and not need.declared else Fraction(0)
    # a set divides all drives, so one of the next few numbers of servers makes sets of full size
    servers = next((servers + more for more in range(most + parity) if usable(servers + more) >= wanted), servers)
    if data_of(servers) < 1:
        return None
    return ShardDesign(**need.common(servers, decided, drives, usable(servers)), data=data_of(servers), parity=parity)


_DESIGNS: dict[str, Callable[[Storage, StorageProduct, Machine, _Drives, _Need], Design | None]] = {
    "lustre": _lustre,
    "weka": _weka,
    "storage-scale": _scale,
    "nfs": _shards,
    "object": _object,
}
