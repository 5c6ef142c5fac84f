"""Storage products, and the throughput that reference architectures require."""

from __future__ import annotations

from typing import Literal

from ..primitives.quantity import Rate, Size
from ..spec.base import Count, Natural, Number, Ratio, Text
from ..spec.site import SiteKind
from ..spec.storage import StorageKind
from .fact import CatalogEntry, CatalogModel

__all__ = ["StorageProduct", "StorageTiers", "Tier", "TierRate"]


class StorageProduct(CatalogEntry):
    """A file system or object store."""

    singular = "storage product"
    vendor: Text | None = None
    kind: StorageKind
    provider: SiteKind
    min_servers: Count | None = None
    max_clients: Count | None = None
    client_cores: Count | None = None
    """Processor cores that a client uses all the time, in addition to those of its programs."""
    client_port: Count | None = None
    """First TCP and UDP port of a client in a Kubernetes cluster."""
    operator_image: Text | None = None
    """Container image that the product's Kubernetes operator runs."""
    container_cores_to: Count | None = None
    """Maximum number of cores of a container."""
    max_targets: Count | None = None
    """Maximum number of storage targets: OSTs, NSDs or drives, depending on the product."""
    targets_per_server_to: Count | None = None
    target_limit: Size | None = None
    """Maximum size of a target."""
    ports: tuple[Text, ...] = ()
    """Required TCP ports or port ranges."""
    data: Count | None = None
    """Data parts of a usual stripe or parity group."""
    data_from: Count | None = None
    data_to: Count | None = None
    """Maximum number of data parts of a stripe."""
    parity: Count | None = None
    set_to: Count | None = None
    """Maximum number of drives of an erasure set, data and parity."""
    parity_many: Count | None = None
    """Parity parts of a large system."""
    many_servers: Count | None = None
    """Number of servers above which a system counts as large."""
    spares: Natural | None = None
    """Servers whose capacity is reserved for rebuilds."""
    copies: Count | None = None
    """Default number of copies, if data is protected by replication."""
    copies_to: Count | None = None
    """Maximum number of copies."""
    reserve: Ratio | None = None
    """Fraction of the space that the product reserves."""
    block: Size | None = None
    quorum: Count | None = None
    """Number of quorum servers."""
    average_file: Size | None = None
    """Default average file size, from which the number of inodes is computed."""
    inode: Size | None = None
    """Metadata of one file."""
    inode_with_data: Size | None = None
    """Metadata of one file if small files are stored with their metadata."""
    inode_factor: Number | None = None
    """Factor by which metadata space exceeds the computed minimum."""
    metadata_share: Ratio | None = None
    """Minimum metadata space as a fraction of the capacity."""
    metadata_share_with_data: Ratio | None = None
    max_inodes: Number | None = None
    """Maximum number of inodes of one metadata target."""
    memory_base: Size | None = None
    """Base memory of a server."""
    memory_target: Size | None = None
    """Additional memory for each target that a server may serve, including those of its failover partner."""
    process_hugepages: Size | None = None
    """Huge pages of each process; one process per core."""
    raw_per_memory: Number | None = None
    """Maximum ratio of drive capacity to memory of compute processes."""
    raft_servers: Count | None = None
    """Number of servers above which the operator requires rafts of ``raft_size``."""
    raft_size: Count | None = None


Tier = Literal["good", "better", "best"]
"""Names of tiers, lowest first."""


class TierRate(CatalogModel):
    """Aggregate throughput of a tier for a number of scalable units."""

    tier: Tier
    units: Count
    read: Rate
    write: Rate


class StorageTiers(CatalogEntry):
    """Throughput by tier, as published in a reference architecture."""

    unit_accelerators: Count
    """Accelerators of one scalable unit."""
    node: tuple[TierRate, ...] = ()
    """Throughput of a single node (``units`` is 1)."""
    aggregate: tuple[TierRate, ...]
