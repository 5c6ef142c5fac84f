"""File systems and object stores that jobs see."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import (
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

__all__ = ["CheckpointSizing", "Mount", "Protection", "StorageServers", "Storage", "Throughput"]

_PATH_PATTERN = register_pattern(
    r"^(/\.{0,2}[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?$",
    "is not an absolute path of letters, digits, dots, dashes and underscores, without . and ..",
    lambda text: "a path such as /scratch/run",
)
Mount = Annotated[str, Field(pattern=_PATH_PATTERN, min_length=1, max_length=255)]


class Throughput(Model):
    """What the whole of it must read and write."""

    read: DataRate | None = None
    """Sequential reads."""
    write: DataRate | None = None
    """Sequential writes."""


class StorageServers(Model):
    """On-prem: the machines that serve it."""

    machine: Text
    """Machine of the catalog."""
    count: MachineCount | None = None
    """How many; empty means as many as capacity and throughput need."""
    throughput: Throughput | None = None
    """What one of them gives, measured or promised; empty means that its network ports are the only bound known."""
    pairs: Flag = True
    """They stand in pairs that see each other's drives, so that one takes over from the other (Lustre)."""


class Protection(Model):
    """How data is spread over drives or servers, where the product's own way is not wanted."""

    data: Count | None = None
    """Data parts of a stripe or parity group."""
    parity: Count | None = None
    """Parity parts of a stripe or parity group."""
    spares: Natural | None = None
    """WEKA: servers whose capacity is held back for rebuilding."""
    copies: Count | None = None
    """Storage Scale: copies of data and metadata."""


class CheckpointSizing(Model):
    """The training state it must take: throughput and capacity follow from it."""

    parameters: Parameters
    """Of the model: 405e9, or 405B."""
    bytes_per_parameter: Number = 14
    """Of the saved state: 14 is bf16 weights with fp32 master weights and both moments of Adam."""
    stall: PositiveDuration | None = None
    """Training may stand still so long while it is written."""
    interval: PositiveDuration | None = None
    """Or: it is written beside training, and done before the next one begins."""
    keep: Count = 1
    """How many are kept."""


class Storage(Model):
    """A file system or an object store."""

    name: Name
    """Name of the store."""
    kind: Literal["lustre", "weka", "storage-scale", "nfs", "object", "managed"]
    """What serves it; managed means a service of the cloud."""
    product: Text | None = None
    """A product of the catalog (on a cloud, of its storage services), where the kind alone leaves a choice."""
    deployment: Text | None = None
    """Clouds only: the way the product is set up, in the provider's word (``PERSISTENT_2``)."""
    options: dict[Name, OptionValue] = {}
    """Clouds only: further options of the product, in the provider's terms (``compression: LZ4``)."""
    capacity: StoredSize | None = None
    """Usable size; an object store needs none."""
    tier: Literal["good", "better", "best"] | None = None
    """Throughput by the reference architecture's tiers."""
    throughput: Throughput | None = None
    """Throughput of the whole store; empty means that of its tier, or what its servers give."""
    throughput_per_tib: DataRate | None = None
    """Throughput for each TiB of capacity, as clouds sell it."""
    mount: Mount | None = None
    """Where nodes see it; empty means nowhere (an object store)."""
    fabric: Name | None = None
    """Fabric it is reached over; empty means the ordinary network."""
    servers: StorageServers | None = None
    """On-prem: its servers; empty means that none are planned."""
    metadata: StorageServers | None = None
    """Lustre: the metadata servers; empty means machines like the others."""
    protection: Protection = Protection()
    """Redundancy, where the product's default is not wanted."""
    checkpoint: CheckpointSizing | None = None
    """Sizes it for saving the training state, too."""
    average_file: StoredSize | None = None
    """Lustre: sizes the metadata; empty means what its manual takes as an example."""
    data_on_metadata: Flag = False
    """Lustre: small files live on the metadata targets."""
    interface: Interfaces | None = None
    """Network interfaces of servers and clients it is reached over, with commas between; empty means those that the
    plan names: storage0 … on InfiniBand and RoCE, the bond of the links on bridged Ethernet."""
    import_from: Text | None = None
    """An object store it is linked to (``s3://bucket/prefix``)."""
