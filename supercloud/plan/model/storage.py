"""Decisions about storage: the servers, their capacity and throughput, and the layout of each product on them."""

from __future__ import annotations

from dataclasses import dataclass

from ...catalog import Machine
from ...primitives.addresses import AddressRun
from ...primitives.nodes import HostRange
from ...primitives.quantity import Duration, Rate, Size

__all__ = [
    "CheckpointRequirement",
    "StorageDesign",
    "LustreDesign",
    "ScaleDesign",
    "ServerGroup",
    "ShardDesign",
    "WekaDesign",
]


@dataclass(frozen=True)
class ServerGroup:
    """Equal storage servers, outside of the pools: they occupy rack space, draw power and use ports."""

    name: str
    """File system and role: ``scratch-oss``; the prefix of the host names."""
    storage: str
    """Name of the file system or object store."""
    role: str
    """oss, mds, backend, nsd, nfs, object."""
    machine: Machine
    count: int
    hosts: HostRange
    addresses: AddressRun
    links: int = 0
    """Ports of one machine on the network of the clients."""
    link_speed: Rate | None = None


@dataclass(frozen=True)
class CheckpointRequirement:
    """Requirements of checkpoints on a file system."""

    size: Size
    """Size of one checkpoint."""
    write: Rate
    """Throughput to write one within ``window``."""
    kept_size: Size
    """Total size of the checkpoints that are kept."""
    window: Duration
    """Time to write one: the stall, or the interval if written in the background."""
    is_background: bool
    """Written during training: it may use only part of the write throughput."""


@dataclass(frozen=True)
class StorageDesign:
    """A file system on its servers: capacity, throughput, and the requirement that determined the number of servers."""

    servers: int
    """Number of data servers."""
    drives: int
    """Data drives per server."""
    drive_size: Size
    usable_capacity: Size
    """Capacity after protection and reserves, over all servers."""
    read: Rate | None
    """Throughput of all servers together; None if unknown."""
    write: Rate | None
    throughput_basis: str
    """``declared`` for specified or measured rates, ``ports`` for the upper bound of the network ports."""
    decided_by: str
    """capacity, read, write, minimum, declared."""
    min_servers: int
    """Minimum number of servers of the product; 0 if it has no source."""


@dataclass(frozen=True)
class LustreDesign(StorageDesign):
    """Lustre: OSTs on parity groups, MDTs sized by inodes."""

    data: int
    """Data drives of one OST."""
    parity: int
    targets_per_server: int
    target_size: Size
    """Usable size of one OST."""
    metadata_servers: int
    metadata_targets: int
    inodes: int
    metadata_size: Size
    """Usable size of all MDTs."""
    metadata_target_size: Size
    data_on_metadata: bool
    has_pairs: bool
    """Servers are pairs with access to each other's drives."""

    @property
    def targets(self) -> int:
        """Number of OSTs of all servers."""
        return self.servers * self.targets_per_server


@dataclass(frozen=True)
class WekaDesign(StorageDesign):
    """WEKA: stripes over failure domains, cores and huge pages of a backend."""

    data: int
    parity: int
    spares: int
    """Failure domains whose capacity is reserved for rebuilds."""
    drive_cores: int
    compute_cores: int | None
    """Compute cores of one backend; None if the processor is unknown."""
    frontend_cores: int
    hugepages: Size | None
    """Huge pages of one backend."""
    raft_size: int | None = None
    """Members of the Raft cluster, if the operator needs more than the default."""
    container_cores: int | None = None
    """Maximum number of cores of a container; None if it has none."""
    operator_image: str | None = None
    """Image of the Kubernetes operator's containers; None if the catalog has none."""
    client_port: int | None = None
    """First port of a client in a Kubernetes cluster; None: the operator's default."""


@dataclass(frozen=True)
class ScaleDesign(StorageDesign):
    """Storage Scale: NSDs in failure groups, replicas of data and metadata."""

    copies: int
    metadata_drives: int
    """Drives per server for metadata only."""
    quorum: int
    """Number of quorum nodes: odd."""
    block: Size


@dataclass(frozen=True)
class ShardDesign(StorageDesign):
    """NFS and object stores: parity groups of drives."""

    data: int
    parity: int
