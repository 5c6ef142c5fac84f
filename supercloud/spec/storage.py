"""File systems and object stores that jobs see."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Rate, Size
from .base import Count, Model, Name, Text

__all__ = ["Mount", "Servers", "Storage", "Throughput"]

Mount = Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/-]*$", max_length=255)]


class Throughput(Model):
    """What the whole of it must read and write."""

    read: Rate | None = None
    write: Rate | None = None


class Servers(Model):
    """On-prem: the machines that serve it."""

    machine: Text
    count: Count | None = None
    """How many; empty means as many as capacity and throughput need."""


class Storage(Model):
    """A file system or an object store."""

    name: Name
    kind: Literal["lustre", "weka", "storage-scale", "nfs", "object", "managed"]
    product: Text | None = None
    """A product of the catalog, where the kind alone leaves a choice."""
    capacity: Size | None = None
    """Usable size; an object store needs none."""
    tier: Literal["good", "better", "best"] | None = None
    """Throughput by the reference architecture's tiers."""
    throughput: Throughput | None = None
    throughput_per_tib: Rate | None = None
    """Throughput for each TiB of capacity, as clouds sell it."""
    mount: Mount | None = None
    """Where nodes see it; empty means nowhere (an object store)."""
    fabric: Name | None = None
    """Fabric it is reached over; empty means the ordinary network."""
    servers: Servers | None = None
    import_from: Text | None = None
    """An object store it is linked to (``s3://bucket/prefix``)."""
