"""What was decided about storage: the servers, what they hold and give, and how each product is laid out on them."""

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
    """Equal machines that serve something and are no nodes of a pool: they take rack space, power and ports."""

    name: str
    """File system and role: ``scratch-oss``; hosts are called after it."""
    storage: str
    """The file system or object store they serve."""
    role: str
    """oss, mds, backend, nsd, nfs, object."""
    machine: Machine
    count: int
    hosts: HostRange
    addresses: AddressRun
    links: int = 0
    """Ports of one machine on the network that clients come over."""
    link_speed: Rate | None = None

    @property
    def network_rate(self) -> Rate | None:
        """What one machine can move at most, by its ports; None where they are not known."""
        return self.link_speed * self.links if self.link_speed and self.links else None


@dataclass(frozen=True)
class CheckpointRequirement:
    """What saving the model asks of a file system."""

    size: Size
    """Of one checkpoint."""
    write: Rate
    """To write it in the time that is given."""
    kept_size: Size
    """Of all that are kept."""
    window: Duration
    """The time that is given: the stall, or the interval of a write in the background."""
    is_background: bool
    """Written beside training: it may take part of the write throughput only."""


@dataclass(frozen=True)
class StorageDesign:
    """A file system on its servers: what it holds and gives, and which need decided how many there are."""

    servers: int
    """Data servers."""
    drives: int
    """Data drives in each."""
    drive_size: Size
    usable_capacity: Size
    """After protection and reserves, over all servers."""
    read: Rate | None
    """What all servers give together; None where nobody said it."""
    write: Rate | None
    throughput_basis: str
    """``declared`` for rates that were said or measured, ``ports`` for the upper bound of the network ports."""
    decided_by: str
    """capacity, read, write, minimum, declared."""
    min_servers: int
    """Servers the product asks for at least; 0 where nobody sourced it."""


@dataclass(frozen=True)
class LustreDesign(StorageDesign):
    """Lustre: object targets of parity groups, metadata targets by inodes."""

    data: int
    """Data drives of one object target."""
    parity: int
    targets_per_server: int
    target_size: Size
    """Usable size of one object target."""
    metadata_servers: int
    metadata_targets: int
    inodes: int
    metadata_size: Size
    """Of all metadata targets, usable."""
    metadata_target_size: Size
    data_on_metadata: bool
    has_pairs: bool
    """Servers stand in pairs that see each other's drives."""

    @property
    def targets(self) -> int:
        """Object targets of all servers."""
        return self.servers * self.targets_per_server


@dataclass(frozen=True)
class WekaDesign(StorageDesign):
    """WEKA: stripes over failure domains, cores and huge pages of a backend."""

    data: int
    parity: int
    spares: int
    """Failure domains' worth of capacity held back."""
    drive_cores: int
    compute_cores: int | None
    """None where the processor is not known."""
    frontend_cores: int
    hugepages: Size | None
    """Of one backend."""
    raft_size: int | None = None
    """Members of a raft, where its operator wants more than it has by itself."""


@dataclass(frozen=True)
class ScaleDesign(StorageDesign):
    """Storage Scale: network shared disks in failure groups, copies of everything."""

    copies: int
    metadata_drives: int
    """Drives of each server that hold metadata only."""
    quorum: int
    """Quorum nodes: odd."""
    block: Size


@dataclass(frozen=True)
class ShardDesign(StorageDesign):
    """NFS and object stores: parity groups of drives."""

    data: int
    parity: int
