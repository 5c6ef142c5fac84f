"""A storage of the published plan. Field names include the unit."""

from __future__ import annotations

from ..model.plan import StoragePlan
from .document_part import DocumentPart, round_quantity

__all__ = ["StorageDocument", "build_storage_document"]


class ServerDocument(DocumentPart):
    """Equal storage servers."""

    name: str
    """Name of the group."""
    role: str
    """Role in the file system, such as ``mds`` or ``oss``."""
    machine: str
    """Machine of the catalog."""
    count: int
    """Number of servers."""
    hosts: str
    """Folded list of host names."""
    addresses: str
    """Addresses in the order of the hosts, folded."""


class StorageDocument(DocumentPart):
    """A file system or an object store."""

    name: str
    """Name of the storage."""
    kind: str
    """Kind, such as ``lustre``, ``weka``, ``nfs``, ``object``."""
    capacity_bytes: int | None
    """Required capacity in bytes; null if none is required."""
    read_gb_s: float | None
    """Required read throughput in GB/s; null if none is required."""
    write_gb_s: float | None
    """Required write throughput in GB/s; null if none is required."""
    mount: str | None
    """Mount point on nodes and login hosts; null if it is not mounted."""
    basis: str
    """Origin of the required throughput: declared, a tier, or per TiB; empty if no throughput is required."""
    servers: list[ServerDocument] = []
    """Storage servers of an on-prem site; empty if its machines are unknown."""
    usable_bytes: int | None = None
    """Capacity of those servers in bytes after protection and reserves; null without servers."""
    available_read_gb_s: float | None = None
    """Total read throughput of those servers in GB/s; null if it is unknown."""
    available_write_gb_s: float | None = None
    """Total write throughput of those servers in GB/s; null if it is unknown."""
    decided_by: str = ""
    """The requirement that determined the number of servers: ``capacity``, ``read``, ``write``, ``minimum`` or
    ``declared``; empty without servers."""
    checkpoint_bytes: int | None = None
    """Size of a checkpoint of the declared model in bytes; null if none is declared."""
    checkpoint_write_gb_s: float | None = None
    """Write throughput that checkpoints require in GB/s; null if none are declared."""


def build_storage_document(storage: StoragePlan) -> StorageDocument:
    """Build the published form of a storage."""
    return StorageDocument(
        name=storage.name,
        kind=storage.kind,
        capacity_bytes=storage.capacity.ceil("B") if storage.capacity else None,
        read_gb_s=round_quantity(storage.read, "GB/s", 6),
        write_gb_s=round_quantity(storage.write, "GB/s", 6),
        mount=storage.mount,
        basis=storage.basis,
        servers=[
            ServerDocument(
                name=group.name,
                role=group.role,
                machine=group.machine.name,
                count=group.count,
                hosts=str(group.hosts),
                addresses=str(group.addresses),
            )
            for group in storage.servers
        ],
        usable_bytes=storage.design.usable_capacity.floor("B") if storage.design else None,
        available_read_gb_s=round_quantity(storage.design.read, "GB/s", 6) if storage.design else None,
        available_write_gb_s=round_quantity(storage.design.write, "GB/s", 6) if storage.design else None,
        decided_by=storage.design.decided_by if storage.design else "",
        checkpoint_bytes=storage.checkpoint.size.ceil("B") if storage.checkpoint else None,
        checkpoint_write_gb_s=round_quantity(storage.checkpoint.write, "GB/s", 6) if storage.checkpoint else None,
    )
