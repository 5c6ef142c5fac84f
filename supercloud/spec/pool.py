"""Accelerator pools: equal machines, their capacity types, and their slicing."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..primitives.quantity import Duration, Price
from .base import (
    MAX_FABRICS,
    MAX_LISTED,
    MAX_ZONES,
    MIG_PROFILE,
    Count,
    Flag,
    IntegerRange,
    LocatedProblem,
    LocatedProblemsError,
    Model,
    Name,
    Natural,
    NodeCount,
    StoredSize,
    Text,
    find_duplicates,
)
from .facility import RackChoice
from .hosts import PoolHosts, find_address_problems, find_names_problem
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
    """Identifier of the reservation at the cloud. Example: ``cr-0a1b2c3d4e5f60718``."""
    zone: Text | None = None
    """Availability zone of the reservation; empty means that of the pool or the site. Example: ``us-east-1a``."""


class ReservationGroup(Model):
    """A group of reservations, any of which can be used."""

    kind: Literal["reservation-group"]
    """Always ``reservation-group``."""
    id: Text
    """Identifier of the group at the cloud. Example: ``arn:aws:resource-groups:us-east-1:111122223333:group/h100``."""


class CapacityBlock(Model):
    """Capacity bought for a period."""

    kind: Literal["capacity-block"]
    """Always ``capacity-block``."""
    id: Text
    """Identifier of the capacity block at the cloud. Example: ``cr-0a1b2c3d4e5f60718``."""
    zone: Text | None = None
    """Availability zone of the block; empty means that of the pool or the site. Example: ``us-east-1a``."""


class Spot(Model):
    """Capacity that the cloud may reclaim."""

    kind: Literal["spot"]
    """Always ``spot``."""
    max_price: Price | None = None
    """Maximum price of one machine; empty means the provider's limit. Example: ``40 USD/h``."""


class OnDemand(Model):
    """Capacity at list price, if available."""

    kind: Literal["on-demand"]
    """Always ``on-demand``."""


class FlexStart(Model):
    """Capacity queued at the cloud, which starts when it becomes available."""

    kind: Literal["flex-start"]
    """Always ``flex-start``."""
    max_run: Duration | None = None
    """Maximum time for which the machines are kept; empty means no limit besides the provider's. Example: ``7 d``."""


Capacity = Annotated[
    Reservation | ReservationGroup | CapacityBlock | Spot | OnDemand | FlexStart, Field(discriminator="kind")
]


class Slicing(Model):
    """Accelerators divided among jobs: MIG instances, shards, or MPS."""

    mig: Annotated[
        dict[Annotated[str, Field(pattern=MIG_PROFILE, max_length=32)], Count], Field(max_length=MAX_LISTED)
    ] = {}
    """Instances per accelerator by profile, such as ``{1g.10gb: 7}``; empty means none; `shards` is then required.
    Example: ``{1g.10gb: 7}``."""
    shards: Count | None = None
    """Shards per accelerator: jobs share it without isolation; empty means none; `mig` is then required. Example:
    ``4``."""
    accelerators: Count | None = None
    """Number of sliced accelerators per node; empty means all. Example: ``2``."""

    @model_validator(mode="after")
    def _check_one_method(self) -> Slicing:
        if bool(self.mig) == bool(self.shards):
            raise ValueError("slicing is either by 'mig' profiles or by 'shards'")
        return self


class SystemReserve(Model):
    """Resources of each node reserved for the operating system and a storage client."""

    cores: Natural = 0
    """Processor cores of each node that jobs cannot use. Example: ``4``."""
    memory: StoredSize | None = None
    """Memory of each node that jobs cannot use; empty means none. Example: ``64 GiB``."""


class Pool(Model):
    """Equal machines with one name."""

    name: Name
    """Name of the pool: host names, partitions and queues are derived from it. Example: ``train``."""
    machine: Text
    """Name of a machine in the catalog. Example: ``dgx-h100``."""
    nodes: NodeCount
    """Number of machines, including spares. Example: ``64``."""
    spares: Natural = 0
    """Number of ``nodes`` reserved to replace failed ones. Example: ``2``."""
    fabrics: Annotated[tuple[Name, ...], Field(max_length=MAX_FABRICS)] = ()
    """Fabrics whose adapters the machines use; empty means the in-band network only. Example: ``[compute,
    storage]``."""
    capacity: Annotated[tuple[Capacity, ...], Field(max_length=MAX_LISTED)] = ()
    """Clouds only: capacity types in order; the first that works is used. Empty means on-demand. Example: ``[{kind:
    reservation, id: cr-0a1b2c3d4e5f60718}, {kind: on-demand}]``."""
    slicing: Slicing | None = None
    """Slicing of accelerators among jobs; empty means whole accelerators. Example: ``{mig: {1g.10gb: 7}}``."""
    imex: Flag | None = None
    """Whether memory is shared over the scale-up domain (IMEX); empty means that it is shared if the machine has such a
    domain."""
    reserve: SystemReserve = SystemReserve()
    """Cores and memory reserved for the system on each node. Example: ``{cores: 4, memory: 64 GiB}``."""
    features: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=64)], ...], Field(max_length=MAX_LISTED)
    ] = ()
    """Additional node features (Slurm) or labels (Kubernetes); empty means none. Example: ``[nvme]``."""
    hostname: Name | None = None
    """Prefix of host names; empty means the pool's name. Example: ``gpu``."""
    hosts: PoolHosts = PoolHosts()
    """On-prem only: names and addresses of hosts that exist; empty means that the plan assigns them. Example:
    ``{names: "gpu[001-064]"}``."""
    rack: RackChoice | None = None
    """On-prem only: rack, if different from the facility's; empty means that of `facility.rack`. Example: ``{type:
    eia-52u, nodes: 4}``."""
    disk: StoredSize | None = None
    """Clouds only: size of the root disk; empty means the provider's default. Example: ``500 GB``."""
    zones: Annotated[tuple[Text, ...], Field(max_length=MAX_ZONES)] = ()
    """Clouds only: allowed zones of the machines; empty means the site's, or the first of those if they have a fabric,
    which never spans zones. Example: ``[us-east-1a]``."""
    min: Annotated[int, IntegerRange(0, 131_072)] | None = None
    """Clouds only: minimum number of running machines; empty means none. Example: ``2``."""
    initial: Annotated[int, IntegerRange(0, 131_072)] | None = None
    """Clouds only: initial number of machines; empty means all of them, with the first capacity type. Example:
    ``8``."""
    placement: Literal["none", "cluster"] | None = None
    """Clouds only: whether a placement group keeps them close to each other; empty means yes if they have a fabric and
    the capacity type usually supports one."""
    placement_group: Text | None = None
    """Clouds only: name of an existing placement group for them; empty means one for each source of capacity that
    supports it. Example: ``shared-h100``."""
    threads_per_core: Literal[1, 2] | None = None
    """Clouds only: hardware threads of a core that machines show; 1 turns off the second thread of x86 processors.
    Empty means all."""
    local: Mount | None = None
    """Clouds only: mount point of the internal disks, striped without redundancy; empty means not mounted. Example:
    ``/local``."""
    domain: NodeCount | None = None
    """Clouds only: nodes of a scale-up domain, if the machine is offered in several sizes; empty means the largest that
    the nodes fill. Example: ``18``."""

    @model_validator(mode="after")
    def _check_counts(self) -> Pool:
        if self.spares >= self.nodes:
            raise ValueError(f"{self.spares} spares leave no usable nodes of {self.nodes}")
        for count, what in ((self.min, "min"), (self.initial, "initial")):
            if count is not None and count > self.nodes:
                raise ValueError(f"{what!r} is {count}, but the pool has {self.nodes} nodes")
        if self.min is not None and self.initial is not None and self.initial < self.min:
            raise ValueError(f"'initial' is {self.initial}, less than 'min', {self.min}")
        for twice in sorted(name for name, count in Counter(self.fabrics).items() if count > 1):
            raise ValueError(f"duplicate fabric {twice!r}")
        return self

    @model_validator(mode="after")
    def _check_names(self) -> Pool:
        if wrong := find_address_problems(self.hosts, self.nodes):
            raise LocatedProblemsError(wrong)
        problem, hint = find_names_problem(self.hosts, self.nodes)
        if problem:
            raise LocatedProblemsError([LocatedProblem(("hosts", "names"), ("nodes",), problem, hint)])
        if self.hosts.names and self.hostname:
            problem = f"the hosts have names of their own, and 'hostname' is {self.hostname!r}"
            raise LocatedProblemsError([LocatedProblem(("hostname",), ("hosts",), problem, "omit hostname")])
        return self


def find_shared_prefixes(pools: tuple[Pool, ...]) -> list[str]:
    """Host-name prefixes shared by two pools."""
    prefixes = [pool.hostname or pool.name for pool in pools if not pool.hosts.names]
    return sorted(prefix for prefix, count in Counter(prefixes).items() if count > 1) or find_duplicates(pools)
