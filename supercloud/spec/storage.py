"""File systems and object stores for jobs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import (
    MAX_LISTED,
    Count,
    DataRate,
    Flag,
    Interfaces,
    MachineCount,
    Model,
    Name,
    Natural,
    Number,
    OptionValue,
    Parameters,
    PositiveDuration,
    StoredSize,
    Text,
)
from .hints import register_pattern

__all__ = ["CheckpointSizing", "Mount", "Protection", "StorageServers", "Storage", "StorageKind", "Throughput"]

StorageKind = Literal["lustre", "weka", "storage-scale", "nfs", "object", "managed"]

_PATH_PATTERN = register_pattern(
    r"^(/\.{0,2}[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?$",
    "is not an absolute path of letters, digits, dots, dashes and underscores, without . and ..",
    lambda text: "a path such as /scratch/run",
)
Mount = Annotated[
    str,
    Field(pattern=_PATH_PATTERN, min_length=1, max_length=255, json_schema_extra={"typeName": "absolute path"}),
]


class Throughput(Model):
    """Required throughput of the whole store."""

    read: DataRate | None = None
    """Sequential reads; empty means no requirement. Example: ``500 GB/s``."""
    write: DataRate | None = None
    """Sequential writes; empty means no requirement. Example: ``250 GB/s``."""


class StorageServers(Model):
    """On-prem: the servers of the store."""

    machine: Text
    """Machine of the catalog. Example: ``cpu-6740e``."""
    count: MachineCount | None = None
    """Number of servers; empty means as many as capacity and throughput require. Example: ``8``."""
    throughput: Throughput | None = None
    """Throughput of one server, measured or specified; empty means that its network ports are the only known bound.
    Example: ``{read: 60 GB/s, write: 40 GB/s}``."""
    pairs: Flag = True
    """Whether servers are failover pairs that share their drives (Lustre)."""


class Protection(Model):
    """Redundancy of data over drives or servers, if different from the product's default."""

    data: Count | None = None
    """Data parts of a stripe or parity group; empty means the product's default. Example: ``8``."""
    parity: Count | None = None
    """Parity parts of a stripe or parity group; empty means the product's default. Example: ``2``."""
    spares: Natural | None = None
    """WEKA: servers whose capacity is reserved for rebuilding; empty means the product's default. Example: ``1``."""
    copies: Count | None = None
    """Storage Scale: copies of data and metadata; empty means the product's default. Example: ``2``."""


class CheckpointSizing(Model):
    """The training state to store: throughput and capacity are derived from it."""

    parameters: Parameters
    """Parameters of the model: 405e9, or 405B. Example: ``405B``."""
    bytes_per_parameter: Annotated[Number, Field(json_schema_extra={"unit": "bytes"})] = 14
    """Bytes per parameter of the saved state: 14 is bf16 weights with fp32 master weights and both moments of Adam.
    Example: ``12``."""
    stall: PositiveDuration | None = None
    """Maximum time for which training may pause while it is written; empty means that `interval` is required. Example:
    ``60 s``."""
    interval: PositiveDuration | None = None
    """Or: interval of checkpoints written in the background, each finished before the next one starts; empty means that
    `stall` is required. Example: ``10 min``."""
    keep: Count = 1
    """Number of checkpoints kept. Example: ``3``."""


class Storage(Model):
    """A file system or an object store."""

    name: Name
    """Name of the store. Example: ``scratch``."""
    kind: StorageKind
    """Kind of the store; managed means a service of the cloud. Example: ``lustre``."""
    product: Text | None = None
    """A product of the catalog (on a cloud, of its storage services), if the kind alone is ambiguous; empty means the
    product of this kind. Example: ``fsx-lustre``."""
    id: Text | None = None
    """Clouds only: an existing file system to use; empty means that one is created. Its size and options are not
    changed. Example: ``fs-0a1b2c3d4e5f60718``."""
    deployment: Text | None = None
    """Clouds only: deployment type of the product, in the provider's terms (``PERSISTENT_2``); empty means one that the
    plan selects. Example: ``PERSISTENT_2``."""
    options: Annotated[dict[Name, OptionValue], Field(max_length=MAX_LISTED)] = {}
    """Clouds only: additional options of the product, in the provider's terms (``compression: LZ4``); empty means the
    product's defaults. Example: ``{compression: LZ4}``."""
    capacity: StoredSize | None = None
    """Usable size; an object store needs none. Empty means that the number of servers determines it; an object store
    needs none. Example: ``2 PB``."""
    tier: Literal["good", "better", "best"] | None = None
    """Throughput by the reference architecture's tiers; empty means no requirement. Example: ``better``."""
    throughput: Throughput | None = None
    """Throughput of the whole store; empty means that of its tier, or of its servers. Example: ``{read: 500 GB/s,
    write: 250 GB/s}``."""
    throughput_per_tib: DataRate | None = None
    """Throughput for each TiB of capacity, as clouds sell it; empty means no requirement. Example: ``250 MB/s``."""
    mount: Mount | None = None
    """Mount point on nodes; empty means not mounted (an object store). Example: ``/scratch``."""
    fabric: Name | None = None
    """Fabric between clients and servers; empty means the in-band network. Example: ``storage``."""
    servers: StorageServers | None = None
    """On-prem: its servers; empty means that none are planned. Example: ``{machine: cpu-6740e, count: 8}``."""
    metadata: StorageServers | None = None
    """Lustre: the metadata servers; empty means machines like the others. Example: ``{machine: cpu-6740e, count:
    2}``."""
    protection: Protection = Protection()
    """Redundancy, if different from the product's default. Example: ``{data: 8, parity: 2}``."""
    checkpoint: CheckpointSizing | None = None
    """Training state that the store must also be sized for; empty means none. Example: ``{parameters: 405B, stall: 60
    s}``."""
    average_file: StoredSize | None = None
    """Lustre: average size of a file, which determines the number of files and so the size of the metadata; empty means
    the example of its manual. Example: ``4 MB``."""
    data_on_metadata: Flag = False
    """Lustre: whether small files are stored on the metadata targets."""
    interface: Interfaces | None = None
    """Network interfaces of servers and clients for this store, separated by commas; empty means those that the plan
    names: storage0 … on InfiniBand and RoCE, the bond of the links on bridged Ethernet. Example: ``ib0,ib1``."""
    import_from: Text | None = None
    """Object store to import data from (``s3://bucket/prefix``); empty means none. Example:
    ``s3://training-data/tokens``."""
