"""Leaf ports for what is no node: where they lie, and which cages they have to themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

from .errors import NoFreePorts, require
from .links import LinkGroup, NodeLinks

__all__ = ["Reserve", "Reserved", "ReservedLinks", "ReservedPorts", "asks_of", "check_reserved",
           "count_free", "place_reserved"]  # fmt: skip


class Reserve(NamedTuple):
    """Ports of one plane that belong together."""

    ports: int
    apart: bool = False
    """In cages that links of another kind do not share, as far as there are such cages."""
    together: int = 1
    """So many ports at a time in one cage; more than 1 must find such a cage."""


Reserved: TypeAlias = int | Sequence[Reserve]


def asks_of(reserved: Reserved) -> tuple[Reserve, ...]:
    """A plain number of ports, or several asks, as asks. Raises TopologyError for less than none."""
    if isinstance(reserved, int):
        require(0, reserved=reserved)
        return (Reserve(reserved),) if reserved else ()
    return tuple(ask for ask in reserved if ask.ports)


class _Leaf:
    """The ports of one leaf that neither nodes nor uplinks have, the last ones first.

    Ports are taken from ``plain`` only after all that need cages have theirs: ``clean`` is not told of them, and
    ``plain`` is worked out from the cages that are left.
    """

    def __init__(self, number: int, low: int, room: int, cage: int, kept: range) -> None:
        self.number, self.low, self.room, self.cage, self.kept = number, low, room, cage, kept
        self.begun: list[int] = []
        """Ports left in cages that links which keep apart have begun."""
        self.taken: set[int] = set()
        """Cages that were taken whole or begun."""

    @cached_property
    def plain(self) -> list[int]:
        """Free ports; the last one is taken first."""
        free = (port for port in range(self.low, self.room) if port not in self.kept)
        return [port for port in free if port // self.cage not in self.taken]

    @cached_property
    def clean(self) -> dict[int, None]:
        """Cages of which no port is taken, in the order of taking."""
        cages, kept = _clean_cages(self.low, self.room, self.cage, self.kept)
        return {number: None for number in reversed(cages) if number not in kept}

    def take_cage(self, ports: int) -> list[int]:
        """So many ports of a whole cage; the rest of the cage is left for links of the same kind."""
        number = next(iter(self.clean))
        del self.clean[number]
        self.taken.add(number)
        whole = [number * self.cage + at for at in range(self.cage)]
        self.begun += whole[:-ports]
        return whole[-ports:]


def _clean_cages(low: int, room: int, cage: int, kept: range) -> tuple[range, range]:
    """The whole cages of a leaf above port ``low``, and those that have ports of ``kept``."""
    return (range(-(-low // cage), max(room // cage, -(-low // cage))),
            range(kept.start // cage, -(-kept.stop // cage)) if kept else range(0))  # fmt: skip


class ReservedPorts(NamedTuple):
    """Ports that are asked for beside nodes, and the leaves that they are on.

    ``room`` is the number of ports of a leaf that are not uplinks, ``cage`` how many neighbouring ports share a cage;
    the ports ``kept`` are left free on every leaf.
    """

    hosts: NodeLinks
    units: int
    asks: tuple[Reserve, ...]
    room: int
    cage: int = 1
    kept: range = range(0)


@dataclass(frozen=True, slots=True)
class ReservedLinks(LinkGroup):
    """Something else on the leaves (a subnet manager): a device with one port to each of ``places``."""

    ports: ReservedPorts
    planes: int
    leaves: int
    """Per plane."""

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """A (leaf, port) of one plane for each link. They are placed only when asked for: a search for the size of
        units that fits builds a network many times, and counts its switches only."""
        return place_reserved(self.ports)

    @property
    def count(self) -> int:
        return sum(ask.ports for ask in self.ports.asks) * self.planes

    def ends(self, number: Any) -> tuple[Any, Any, Any, Any, Any]:
        places = self.places
        plane, place = number // len(places), number % len(places)
        if isinstance(number, int):
            leaf, port = places[place]
        else:
            import numpy as np

            leaf, port = np.asarray(places, dtype=np.int64)[place].T
        return number, number * 0, plane * self.leaves + leaf, port, plane


def check_reserved(ports: ReservedPorts) -> None:
    """Raises NoFreePorts if there are too few ports, or too few whole cages where those are asked for."""
    hosts, units, asks, room, _, _ = ports
    count, total = sum(ask.ports for ask in asks), count_free(ports)
    if total < count:
        raise _too_few(hosts, units, count, room, total)
    left = None
    for ask in sorted((ask for ask in asks if ask.together > 1), key=lambda ask: -ask.together):
        wanted = -(-ask.ports // ask.together)  # these choose first, and only they can fail
        left = (_count_cages(ports) if left is None else left) - wanted
        if left < 0:
            raise _too_few_cages(hosts, ask, -left)


def count_free(ports: ReservedPorts) -> int:
    """Ports that neither nodes nor the range ``kept`` take, on all leaves of a plane."""
    _, _, _, room, _, kept = ports
    return _sum_leaves(ports, lambda low: room - low - len(range(max(low, kept.start), min(room, kept.stop))))


def _count_cages(ports: ReservedPorts) -> int:
    """Cages of which no port is taken or kept, on all leaves of a plane."""

    def of_leaf(low: int) -> int:
        cages, kept = _clean_cages(low, ports.room, ports.cage, ports.kept)
        return len(cages) - len(range(max(cages.start, kept.start), min(cages.stop, kept.stop)))

    return _sum_leaves(ports, of_leaf)


def _sum_leaves(ports: ReservedPorts, count: Callable[[int], int]) -> int:
    """The sum over all leaves of a plane of what there is on a leaf of which nodes have the first so many ports.

    Leaves of equal occupancy are counted at once: a search for a size that fits asks this of thousands of networks.
    """
    hosts, units, room = ports.hosts, ports.units, ports.room
    blocks = -(-hosts.unit // hosts.block)

    def of_leaf(nodes: int) -> int:
        low = nodes * hosts.nics_per_side
        return count(low) if low < room else 0

    def of_unit(nodes: int) -> int:
        full, rest = divmod(nodes, hosts.block)
        begun = full + bool(rest)
        return full * of_leaf(hosts.block) + bool(rest) * of_leaf(rest) + (blocks - begun) * of_leaf(0)

    full, rest = divmod(min(hosts.nodes, units * hosts.unit), hosts.unit)
    begun = full + bool(rest)
    leaves = full * of_unit(hosts.unit) + bool(rest) * of_unit(rest) + (units - begun) * of_unit(0)
    return leaves * hosts.sides


@lru_cache(maxsize=8)
def place_reserved(ports: ReservedPorts) -> tuple[tuple[int, int], ...]:
    """A (leaf, port) of one plane for each port asked for, in the order of the asks: leaf after leaf, last port first.

    What needs cages of its own chooses first. Raises NoFreePorts where whole cages lack; ``check_reserved`` is asked
    before.
    """
    hosts, units, asks, room, cage, kept = ports
    leaves = [_Leaf(*leaf, room, cage, kept) for leaf in _free(hosts, units, room)]
    found: dict[int, list[tuple[int, int]]] = {}
    for index in sorted(range(len(asks)), key=lambda item: (-asks[item].together, not asks[item].apart, item)):
        ask = asks[index]
        if ask.together > 1:
            found[index] = _cages(hosts, leaves, ask)
        elif ask.apart:
            found[index] = _apart(leaves, ask.ports)
        else:
            found[index] = _plain(leaves, ask.ports)
    return tuple(place for index in range(len(asks)) for place in found[index])


def _free(hosts: NodeLinks, units: int, room: int) -> Iterator[tuple[int, int]]:
    """Leaves with ports left, and how many of them nodes have."""
    for unit in range(units):
        for block, start in enumerate(range(0, hosts.unit, hosts.block)):
            here = min(hosts.block, hosts.unit - start, hosts.nodes - unit * hosts.unit - start)
            taken = max(0, here) * hosts.nics_per_side
            if taken < room:
                leaf = unit * hosts.unit_stride + block
                yield from ((leaf + side * hosts.side_stride, taken) for side in range(hosts.sides))


def _first(leaves: Sequence[_Leaf], what: Literal["plain", "clean", "begun"], count: int) -> list[_Leaf]:
    """So many leaves, from the first on, that have such ports or cages; there may be many others."""
    return list(islice((leaf for leaf in leaves if getattr(leaf, what)), count))


def _cages(hosts: NodeLinks, leaves: Sequence[_Leaf], ask: Reserve) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while len(found) < ask.ports:
        able = _first(leaves, "clean", -(-(ask.ports - len(found)) // ask.together))
        if not able:
            raise _too_few_cages(hosts, ask, -(-(ask.ports - len(found)) // ask.together))
        for leaf in able:
            found += [(leaf.number, port) for port in leaf.take_cage(ask.together)]
    return found[: ask.ports]


def _apart(leaves: Sequence[_Leaf], ports: int) -> list[tuple[int, int]]:
    """Cages of their own, leaf after leaf; then what is left in those; at last whatever port there is."""
    found: list[tuple[int, int]] = []
    while len(found) < ports and (able := _first(leaves, "clean", ports - len(found))):
        found += [(leaf.number, leaf.take_cage(1)[0]) for leaf in able]
    while len(found) < ports and (able := _first(leaves, "begun", ports - len(found))):
        found += [(leaf.number, leaf.begun.pop(0)) for leaf in able]
    return found + _plain(leaves, ports - len(found))


def _plain(leaves: Sequence[_Leaf], ports: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while len(found) < ports and (able := _first(leaves, "plain", ports - len(found))):
        found += [(leaf.number, leaf.plain.pop()) for leaf in able]
    while len(found) < ports and (able := _first(leaves, "begun", ports - len(found))):
        found += [(leaf.number, leaf.begun.pop(0)) for leaf in able]
    return found


def _too_few_cages(hosts: NodeLinks, ask: Reserve, lacking: int) -> NoFreePorts:
    return NoFreePorts(
        f"{-(-ask.ports // ask.together)} cages of {ask.together} ports are wanted for cables that fill a "
        f"cage, {lacking} more than {hosts.leaves} leaves have free",
        "take fewer nodes or services, larger leaves, or cables that take one port",
        lacking * ask.together,
        hosts.nics,
    )


def _too_few(hosts: NodeLinks, units: int, count: int, room: int, total: int) -> NoFreePorts:
    lacking = max(count - total, 1)
    fewer = hosts.nodes - -(-lacking // hosts.nics)
    return NoFreePorts(
        f"{count} reserved links need {count} free leaf ports, but {hosts.nodes} nodes with {hosts.nics} ports "
        f"each leave {total} free on {hosts.leaves} leaves with {room} ports for them",
        f"take {fewer} nodes, or smaller units (su)" if fewer > 0 else "take larger leaves",
        lacking,
        hosts.nics,
    )
