"""Storage products, and the throughput that reference architectures ask for."""

from __future__ import annotations

from typing import Literal

from ..primitives.quantity import Rate, Size
from ..spec.base import Count, Natural, Number, Ratio, Text
from ..spec.storage import StorageKind
from .fact import CatalogEntry, CatalogModel

__all__ = ["StorageProduct", "StorageTiers", "Tier", "TierRate"]


class StorageProduct(CatalogEntry):
    """A file system or object store one can run or rent."""

    vendor: Text | None = None
    kind: StorageKind
    provider: Literal["onprem", "aws", "gcp", "azure"]
    min_servers: Count | None = None
    max_clients: Count | None = None
    max_targets: Count | None = None
    """Object storage targets, NSDs, drives: what the product calls its parts."""
    targets_per_server_to: Count | None = None
    target_limit: Size | None = None
    """Largest target there can be."""
    ports: tuple[Text, ...] = ()
    """TCP ports or ranges it needs."""
    data: Count | None = None
    """Data parts of a usual stripe or parity group."""
    data_from: Count | None = None
    data_to: Count | None = None
    """Most data parts of a stripe."""
    parity: Count | None = None
    set_to: Count | None = None
    """Most drives of an erasure set, data and parity together."""
    parity_many: Count | None = None
    """Parity parts of a large system."""
    many_servers: Count | None = None
    """A system with more servers than this is large."""
    spares: Natural | None = None
    """Servers whose capacity is held back for rebuilding."""
    copies: Count | None = None
    """Copies of everything, where it is protected so."""
    copies_to: Count | None = None
    """Most copies there can be."""
    reserve: Ratio | None = None
    """Part of the space that it keeps for itself."""
    block: Size | None = None
    quorum: Count | None = None
    """Servers that vote on who is alive."""
    average_file: Size | None = None
    """Where nothing better is known, for the number of inodes."""
    inode: Size | None = None
    """Metadata of one file."""
    inode_with_data: Size | None = None
    """The same where small files live beside their metadata."""
    inode_factor: Number | None = None
    """How many times that much is to be there."""
    metadata_share: Ratio | None = None
    """Metadata space for the capacity, at least."""
    metadata_share_with_data: Ratio | None = None
    max_inodes: Number | None = None
    """Of one metadata target."""
    memory_base: Size | None = None
    """Memory of a server for itself."""
    memory_target: Size | None = None
    """And for each target it may serve, after it took over its partner's."""
    process_hugepages: Size | None = None
    """Huge pages of each process (one a core)."""
    raw_per_memory: Number | None = None
    """Most drive capacity for the memory of compute processes."""
    raft_servers: Count | None = None
    """Above this, its operator wants rafts of ``raft_size``."""
    raft_size: Count | None = None


Tier = Literal["good", "better", "best"]
"""Names of tiers, the lowest first."""


class TierRate(CatalogModel):
    """Aggregate throughput of a tier for a number of scalable units."""

    tier: Tier
    units: Count
    read: Rate
    write: Rate


class StorageTiers(CatalogEntry):
    """Throughput by tier, as a reference architecture prints it."""

    unit_accelerators: Count
    """Accelerators of one scalable unit."""
    node: tuple[TierRate, ...] = ()
    """Of a single node (``units`` is 1)."""
    aggregate: tuple[TierRate, ...]
