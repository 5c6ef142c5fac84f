"""Properties that only machines of clouds have: numbered network cards, groups of machines that are sold together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ..primitives.quantity import Rate, Size
from ..spec.base import Count, Flag, Natural, Text
from .fact import CatalogModel

__all__ = ["ScaleUpDomain", "Instance", "InterfaceRange"]


class InterfaceRange(CatalogModel):
    """Equal interfaces on the network cards ``first`` to ``last``."""

    first: Natural
    last: Natural | None = None
    """Absent: one card."""
    step: Count = 1
    device: Natural
    """Number of the interface on each card."""
    kind: Text
    """Name of the interface type at the provider."""
    address: Flag = False
    """Whether it has an IP address."""

    def iter_cards(self) -> Iterator[int]:
        """Numbers of the cards."""
        return iter(range(self.first, (self.first if self.last is None else self.last) + 1, self.step))


class ScaleUpDomain(CatalogModel):
    """Machines that are sold together because one scale-up network connects their accelerators."""

    name: Text
    nodes: Count


class Instance(CatalogModel):
    """Properties of a machine as a cloud's instance type."""

    family: Text
    """Name of the family in the provider's list of regions."""
    arch: Literal["x86_64", "aarch64"]
    vcpus: Count
    network: Rate | None = None
    """Total bandwidth of all network cards."""
    local: Size | None = None
    """Total capacity of local disks, if their number has no source."""
    cards: Count | None = None
    """Network cards."""
    interfaces: Count | None = None
    """Maximum number of interfaces on all cards."""
    addresses_per_interface: Count | None = None
    """Maximum number of IPv4 addresses of an interface."""
    layout: tuple[InterfaceRange, ...] = ()
    """Interfaces to attach so that every network card of its fabric is used; the first one carries an address."""
    placement: tuple[Literal["cluster", "partition", "spread"], ...] = ()
    """Strategies of placement groups that support it."""
    domains: tuple[ScaleUpDomain, ...] = ()
    """Scale-up domains of several machines in which it is sold, smallest first."""
    system: Text | None = None
    """Generation of the hypervisor and its cards."""
