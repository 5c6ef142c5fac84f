"""Storage products, and the throughput that reference architectures ask for."""

from __future__ import annotations

from typing import Literal

from ..primitives.quantity import Rate, Size
from ..spec.base import Count, Model, Text
from .fact import Fact

__all__ = ["StorageProduct", "StorageTiers", "TierRate"]


class StorageProduct(Fact):
    """A file system or object store one can run or rent."""

    vendor: Text | None = None
    kind: Literal["lustre", "weka", "storage-scale", "nfs", "object", "managed"]
    provider: Literal["onprem", "aws", "gcp", "azure"]
    min_servers: Count | None = None
    max_clients: Count | None = None
    max_targets: Count | None = None
    """Object storage targets, NSDs, drives: what the product calls its parts."""
    target_size_from: Size | None = None
    target_size_to: Size | None = None
    targets_per_server_from: Count | None = None
    targets_per_server_to: Count | None = None
    ports: tuple[Text, ...] = ()
    """TCP ports or ranges it needs."""


class TierRate(Model):
    """Aggregate throughput of a tier for a number of scalable units."""

    tier: Literal["good", "better", "best"]
    units: Count
    read: Rate
    write: Rate


class StorageTiers(Fact):
    """Throughput by tier, as a reference architecture prints it."""

    unit_accelerators: Count
    """Accelerators of one scalable unit."""
    node: tuple[TierRate, ...] = ()
    """Of a single node (``units`` is 1)."""
    aggregate: tuple[TierRate, ...]
