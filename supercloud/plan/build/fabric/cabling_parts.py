"""The catalog's cables and transceivers, loaded only when cables are built."""

from __future__ import annotations

from functools import cached_property

from ....catalog import Cable, Catalog, Transceiver
from ....primitives.quantity import Rate

__all__ = ["CablingParts"]

# The simplest kind of sufficient reach is selected: fewer parts to buy, power and clean.
_MEDIUM_ORDER = ("dac", "copper", "acc", "aoc", "fiber")


class CablingParts:
    """The available cables and transceivers, for one network and speed at a time."""

    def __init__(self, catalog: Catalog):
        self._catalog = catalog

    @cached_property
    def cables(self) -> tuple[Cable, ...]:
        """All kinds of cables, the simplest and shortest first."""
        found = tuple(self._catalog.iter_entries(Cable))
        return tuple(sorted(found, key=lambda item: (_MEDIUM_ORDER.index(item.medium), item.reach, item.name)))

    @cached_property
    def transceivers(self) -> tuple[Transceiver, ...]:
        """All kinds of transceivers."""
        return tuple(self._catalog.iter_entries(Transceiver))

    def list_cables(
        self, near_cage: str, far_cage: str, network: str, speed: Rate, links: int, split: int
    ) -> tuple[Cable, ...]:
        """Cables between a cage of a switch or machine (``near_cage``, ``switch:osfp``) and another, simplest first.

        ``links`` is the number of links that both cages have in common: all of them, or 1 if they differ.
        """
        return tuple(
            item
            for item in self.cables
            if item.tails == 1
            and item.speed == speed
            and item.split == split
            and self.can_join(item, near_cage, far_cage, network, speed, links)
        )

    def can_join(self, cable: Cable, near_cage: str, far_cage: str, network: str, speed: Rate, links: int) -> bool:
        """Whether a cable connects the cages: ``near_cage`` is on the side of the machines, where it may have several
        tails.
        """
        if network not in cable.networks or speed not in (cable.speed, *cable.lower):
            return False
        if cable.tails > 1:
            return near_cage.partition(":")[2] in cable.tail_cages and far_cage.partition(":")[2] in cable.cages
        return self._can_plug(cable, near_cage, far_cage, network, links)

    def _can_plug(self, cable: Cable, near_cage: str, far_cage: str, network: str, links: int) -> bool:
        if cable.medium == "fiber":
            return all(self.find_transceiver(cable, end, network) is not None for end in (near_cage, far_cage))
        (near_side, _, near), (far_side, _, far) = near_cage.partition(":"), far_cage.partition(":")
        if cable.sides and sorted(cable.sides) != sorted((near_side, far_side)):
            return False
        return cable.links == links and near in cable.cages and far in cable.cages

    def find_transceiver(self, cable: Cable, end: str, network: str) -> Transceiver | None:
        """The transceiver that connects a fiber to a cage, None if the catalog has none."""
        side, _, cage = end.partition(":")
        return next(
            (
                item
                for item in self.transceivers
                if item.optic == cable.optic
                and cage in item.cages
                and network in item.networks
                and item.speed == cable.speed
                and item.side in (None, side)
            ),
            None,
        )
