"""What a machine of a cloud has that a server of one's own has not: network cards by number, groups it is sold in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ..primitives.quantity import Rate, Size
from ..spec.base import Count, Flag, Natural, Text
from .fact import CatalogModel

__all__ = ["ScaleUpDomain", "Instance", "InterfaceRange"]


class InterfaceRange(CatalogModel):
    """Like interfaces on the network cards ``first`` to ``last``."""

    first: Natural
    last: Natural | None = None
    """Empty means that there is one."""
    step: Count = 1
    device: Natural
    """Number of the interface on each card."""
    kind: Text
    """What the provider calls it."""
    address: Flag = False
    """Whether it carries an IP address."""

    def iter_cards(self) -> Iterator[int]:
        """Numbers of the cards."""
        return iter(range(self.first, (self.first if self.last is None else self.last) + 1, self.step))


class ScaleUpDomain(CatalogModel):
    """Machines that are sold together, since their accelerators are joined by one scale-up network."""

    name: Text
    nodes: Count


class Instance(CatalogModel):
    """The cloud's side of a machine."""

    family: Text
    """As the provider's list of regions names it."""
    arch: Literal["x86_64", "aarch64"]
    vcpus: Count
    network: Rate | None = None
    """All network cards together."""
    local: Size | None = None
    """Disks inside, all together, where how many they are was not sourced."""
    cards: Count | None = None
    """Network cards."""
    interfaces: Count | None = None
    """Most interfaces on all cards."""
    addresses_per_interface: Count | None = None
    """Most IPv4 addresses of an interface."""
    layout: tuple[InterfaceRange, ...] = ()
    """Interfaces to attach so that every network card of its fabric is used; the first one carries an address."""
    placement: tuple[Literal["cluster", "partition", "spread"], ...] = ()
    """Strategies of placement groups that take it."""
    domains: tuple[ScaleUpDomain, ...] = ()
    """Ways it is sold as a scale-up domain of several machines, from small to large."""
    system: Text | None = None
    """Generation of the hypervisor and its cards."""
