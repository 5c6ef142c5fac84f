"""Accelerator pools: equal machines, their capacity types, and their slicing."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..primitives.quantity import Duration, Price
from .base import (
    MIG_PROFILE,
    Count,
    Flag,
    IntegerRange,
    Model,
    Name,
    Natural,
    NodeCount,
    StoredSize,
    Text,
    find_duplicates,
)
from .facility import RackChoice
from .storage import Mount

__all__ = [
    "Capacity",
    "CapacityBlock",
    "FlexStart",
    "OnDemand",
    "Pool",
    "Reservation",
    "ReservationGroup",
    "Slicing",
    "Spot",
    "SystemReserve",
]


class Reservation(Model):
    """Capacity reserved at the cloud, with an identifier."""

    kind: Literal["reservation"]
    """Always ``reservation``."""
    id: Text
    """Identifier of the reservation at the cloud."""
    zone: Text | None = None
    """Availability zone of the reservation."""


class ReservationGroup(Model):
    """A group of reservations, any of which can be used."""

    kind: Literal["reservation-group"]
    """Always ``reservation-group``."""
    id: Text
    """Identifier of the group at the cloud."""


class CapacityBlock(Model):
    """Capacity bought for a period."""

    kind: Literal["capacity-block"]
    """Always ``capacity-block``."""
    id: Text
    """Identifier of the capacity block at the cloud."""
    zone: Text | None = None
    """Availability zone of the block."""


class Spot(Model):
    """Capacity that the cloud may reclaim."""

    kind: Literal["spot"]
    """Always ``spot``."""
    max_price: Price | None = None
    """Maximum price of one machine; empty means the provider's limit."""


class OnDemand(Model):
    """Capacity at list price, if available."""

    kind: Literal["on-demand"]
    """Always ``on-demand``."""


class FlexStart(Model):
    """Capacity queued at the cloud, which starts when it becomes available."""

    kind: Literal["flex-start"]
    """Always ``flex-start``."""
    max_run: Duration | None = None
    """Maximum time for which the machines are kept."""


Capacity = Annotated[
    Reservation | ReservationGroup | CapacityBlock | Spot | OnDemand | FlexStart, Field(discriminator="kind")
]


class Slicing(Model):
    """Accelerators divided among jobs: MIG instances, shards, or MPS."""

    mig: dict[Annotated[str, Field(pattern=MIG_PROFILE, max_length=32)], Count] = {}
    """Instances per accelerator by profile, such as ``{1g.10gb: 7}``."""
    shards: Count | None = None
    """Shards per accelerator: jobs share it without isolation."""
    accelerators: Count | None = None
    """Number of sliced accelerators per node; empty means all."""

    @model_validator(mode="after")
    def _check_one_method(self) -> Slicing:
        if bool(self.mig) == bool(self.shards):
            raise ValueError("slicing is either by 'mig' profiles or by 'shards'")
        return self


class SystemReserve(Model):
    """Resources of each node reserved for the operating system and a storage client."""

    cores: Natural = 0
    """Processor cores of each node that jobs cannot use."""
    memory: StoredSize | None = None
    """Memory of each node that jobs cannot use."""


class Pool(Model):
    """Equal machines with one name."""

    name: Name
    """Name of the pool: host names, partitions and queues are derived from it."""
    machine: Text
    """Name of a machine in the catalog."""
    nodes: NodeCount
    """Number of machines, including spares."""
    spares: Natural = 0
    """Number of ``nodes`` reserved to replace failed ones."""
    fabrics: tuple[Name, ...] = ()
    """Fabrics whose adapters the machines use; empty means the in-band network only."""
    capacity: tuple[Capacity, ...] = ()
    """Clouds only: capacity types in order; the first that works is used. Empty means on-demand."""
    slicing: Slicing | None = None
    """Slicing of accelerators among jobs; empty means whole accelerators."""
    imex: Flag | None = None
    """Whether memory is shared over the scale-up domain (IMEX); empty means that it is shared if the machine has such a
    domain."""
    reserve: SystemReserve = SystemReserve()
    """Cores and memory reserved for the system on each node."""
    features: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=64)], ...] = ()
    """Additional node features (Slurm) or labels (Kubernetes)."""
    hostname: Name | None = None
    """Prefix of host names; empty means the pool's name."""
    rack: RackChoice | None = None
    """On-prem only: rack, if different from the facility's."""
    disk: StoredSize | None = None
    """Clouds only: size of the root disk."""
    zones: tuple[Text, ...] = ()
    """Clouds only: allowed zones of the machines; empty means the site's, or the first of those if they have a
    fabric, which never spans zones."""
    min: Annotated[int, IntegerRange(0, 131_072)] | None = None
    """Clouds only: minimum number of running machines; empty means none."""
    initial: Annotated[int, IntegerRange(0, 131_072)] | None = None
    """Clouds only: initial number of machines; empty means all of them, with the first capacity type."""
    placement: Literal["none", "cluster"] | None = None
    """Clouds only: whether a placement group keeps them close to each other; empty means yes if they have a fabric and
    the capacity type usually supports one."""
    local: Mount | None = None
    """Clouds only: mount point of the internal disks, striped without redundancy; empty means not mounted."""
    domain: NodeCount | None = None
    """Clouds only: nodes of a scale-up domain, if the machine is offered in several sizes; empty means the largest
    that the nodes fill."""

    @model_validator(mode="after")
    def _check_counts(self) -> Pool:
        if self.spares >= self.nodes:
            raise ValueError(f"{self.spares} spares leave no usable nodes of {self.nodes}")
        for count, what in ((self.min, "min"), (self.initial, "initial")):
            if count is not None and count > self.nodes:
                raise ValueError(f"{what!r} is {count}, but the pool has {self.nodes} nodes")
        if self.min is not None and self.initial is not None and self.initial < self.min:
            raise ValueError(f"'initial' is {self.initial}, less than 'min', {self.min}")
        for twice in {fabric for fabric in self.fabrics if self.fabrics.count(fabric) > 1}:
            raise ValueError(f"duplicate fabric {twice!r}")
        return self


def find_shared_prefixes(pools: tuple[Pool, ...]) -> list[str]:
    """Host-name prefixes shared by two pools."""
    prefixes = [pool.hostname or pool.name for pool in pools]
    return sorted({prefix for prefix in prefixes if prefixes.count(prefix) > 1}) or find_duplicates(pools)
