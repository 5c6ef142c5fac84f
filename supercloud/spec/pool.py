"""Accelerator pools: equal machines in a number, how they are obtained, and how they are sliced."""

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
    """Capacity reserved at the cloud under an identifier."""

    kind: Literal["reservation"]
    """Always ``reservation``."""
    id: Text
    """Identifier of the reservation at the cloud."""
    zone: Text | None = None
    """Availability zone of the reservation."""


class ReservationGroup(Model):
    """A group of reservations, any of which will do."""

    kind: Literal["reservation-group"]
    """Always ``reservation-group``."""
    id: Text
    """Identifier of the group at the cloud."""


class CapacityBlock(Model):
    """Capacity bought for a span of time."""

    kind: Literal["capacity-block"]
    """Always ``capacity-block``."""
    id: Text
    """Identifier of the capacity block at the cloud."""
    zone: Text | None = None
    """Availability zone of the block."""


class Spot(Model):
    """Capacity the cloud may take back."""

    kind: Literal["spot"]
    """Always ``spot``."""
    max_price: Price | None = None
    """The most that is paid for one machine; empty means the provider's own limit."""


class OnDemand(Model):
    """Capacity at list price, if there is any."""

    kind: Literal["on-demand"]
    """Always ``on-demand``."""


class FlexStart(Model):
    """Capacity queued for at the cloud, which starts when it is free."""

    kind: Literal["flex-start"]
    """Always ``flex-start``."""
    max_run: Duration | None = None
    """Longest time the machines are kept."""


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
    """How many accelerators of each node are sliced; empty means all."""

    @model_validator(mode="after")
    def _check_one_method(self) -> Slicing:
        if bool(self.mig) == bool(self.shards):
            raise ValueError("slicing is either by 'mig' profiles or by 'shards'")
        return self


class SystemReserve(Model):
    """What the operating system and a storage client keep for themselves on each node."""

    cores: Natural = 0
    """Processor cores of each node that jobs do not get."""
    memory: StoredSize | None = None
    """Memory of each node that jobs do not get."""


class Pool(Model):
    """Equal machines under one name."""

    name: Name
    """Name of the pool: host names, partitions and queues follow it."""
    machine: Text
    """Name of a machine in the catalog."""
    nodes: NodeCount
    """How many machines there are, spares among them."""
    spares: Natural = 0
    """How many of ``nodes`` are held back to replace failed ones."""
    fabrics: tuple[Name, ...] = ()
    """Fabrics whose adapters the machines use; empty means none but the ordinary network."""
    capacity: tuple[Capacity, ...] = ()
    """Clouds only: ways to get the machines, in order; the first that works is used. Empty means on-demand."""
    slicing: Slicing | None = None
    """How accelerators are divided among jobs; empty means whole ones."""
    imex: Flag | None = None
    """Whether memory is shared over the scale-up domain (IMEX); empty means where the machine has such a domain."""
    reserve: SystemReserve = SystemReserve()
    """Cores and memory that the system keeps on each node."""
    features: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=64)], ...] = ()
    """Further node features (Slurm) or labels (Kubernetes)."""
    hostname: Name | None = None
    """What host names start with; empty means the pool's name."""
    rack: RackChoice | None = None
    """On-prem only: another rack than the facility's."""
    disk: StoredSize | None = None
    """Clouds only: size of the root disk."""
    zones: tuple[Text, ...] = ()
    """Clouds only: zones the machines may be in; empty means the site's, and of those the first where they have a
    fabric, which never spans zones."""
    min: Annotated[int, IntegerRange(0, 131_072)] | None = None
    """Clouds only: machines that are always there; empty means none."""
    initial: Annotated[int, IntegerRange(0, 131_072)] | None = None
    """Clouds only: machines that are there at first; empty means all of them, by the first way to get them."""
    placement: Literal["none", "cluster"] | None = None
    """Clouds only: whether a placement group keeps them near to each other; empty means where they have a fabric and
    the way to get them usually goes with one."""
    local: Mount | None = None
    """Clouds only: where the disks inside are mounted, joined as one without redundancy; empty means nowhere."""
    domain: NodeCount | None = None
    """Clouds only: nodes of a scale-up domain, where the machine is sold in several sizes; empty means the largest
    that the nodes fill."""

    @model_validator(mode="after")
    def _check_counts(self) -> Pool:
        if self.spares >= self.nodes:
            raise ValueError(f"{self.spares} spares leave nothing of {self.nodes} nodes")
        for count, what in ((self.min, "min"), (self.initial, "initial")):
            if count is not None and count > self.nodes:
                raise ValueError(f"{what!r} is {count}, there are {self.nodes} nodes")
        if self.min is not None and self.initial is not None and self.initial < self.min:
            raise ValueError(f"'initial' is {self.initial}, less than 'min', {self.min}")
        for twice in {fabric for fabric in self.fabrics if self.fabrics.count(fabric) > 1}:
            raise ValueError(f"fabric {twice!r} is named twice")
        return self


def find_shared_prefixes(pools: tuple[Pool, ...]) -> list[str]:
    """Host-name prefixes that two pools would share."""
    prefixes = [pool.hostname or pool.name for pool in pools]
    return sorted({prefix for prefix in prefixes if prefixes.count(prefix) > 1}) or find_duplicates(pools)
