"""Reserved leaf ports, for devices other than nodes: their positions, and the cages that they do not share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

from .errors import NoFreePortsError, require_at_least
from .links import LinkGroup, NodeLinks

__all__ = [
    "PortRequest",
    "PortReservation",
    "ReservedLinks",
    "ReservedPorts",
    "to_port_requests",
    "check_reserved",
    "count_free_ports",
    "assign_reserved_ports",
]


class PortRequest(NamedTuple):
    """A request for ports of one plane that belong together."""

    ports: int
    needs_own_cage: bool = False
    """The ports are in cages that links of another kind do not share, while such cages are available."""
    ports_per_cage: int = 1
    """Number of ports in one cage; with more than 1 such a cage is required."""


PortReservation: TypeAlias = int | Sequence[PortRequest]


def to_port_requests(reserved: PortReservation) -> tuple[PortRequest, ...]:
    """Normalize a number of ports or several requests to requests. Raises TopologyError for a negative number."""
    if isinstance(reserved, int):
        require_at_least(0, reserved=reserved)
        return (PortRequest(reserved),) if reserved else ()
    return tuple(ask for ask in reserved if ask.ports)


class _LeafPorts:
    """The ports of one leaf that neither nodes nor uplinks use, the last ones first.

    Ports are taken from ``free`` only after all requests that need cages are satisfied: ``free_cages`` is not updated
    by them, and ``free`` is computed from the remaining cages.
    """

    def __init__(self, number: int, first_free: int, usable_ports: int, cage_ports: int, kept_ports: range) -> None:
        self.number, self.low, self.room, self.cage, self.kept = (
            number,
            first_free,
            usable_ports,
            cage_ports,
            kept_ports,
        )
        self.partial: list[int] = []
        """Free ports in cages that are partly used by links with separate cages."""
        self.used_cages: set[int] = set()
        """Cages in use, whole or in part."""

    @cached_property
    def free(self) -> list[int]:
        """Free ports; the last one is allocated first."""
        free = (port for port in range(self.low, self.room) if port not in self.kept)
        return [port for port in free if port // self.cage not in self.used_cages]

    @cached_property
    def free_cages(self) -> dict[int, None]:
        """Cages without a port in use, in the order of allocation."""
        cages, kept = _find_cages(self.low, self.room, self.cage, self.kept)
        return {number: None for number in reversed(cages) if number not in kept}

    def take_cage(self, ports: int) -> list[int]:
        """Allocate ports of a whole cage; the rest of the cage remains for links of the same kind."""
        number = next(iter(self.free_cages))
        del self.free_cages[number]
        self.used_cages.add(number)
        whole = [number * self.cage + at for at in range(self.cage)]
        self.partial += whole[:-ports]
        return whole[-ports:]


def _find_cages(first_free: int, usable_ports: int, cage_ports: int, kept_ports: range) -> tuple[range, range]:
    """The whole cages of a leaf from port ``first_free`` on, and those with ports of ``kept_ports``."""
    first = -(-first_free // cage_ports)
    kept = range(kept_ports.start // cage_ports, -(-kept_ports.stop // cage_ports)) if kept_ports else range(0)
    return range(first, max(usable_ports // cage_ports, first)), kept


class ReservedPorts(NamedTuple):
    """Requested leaf ports for devices other than nodes, and the leaves that have them.

    ``room`` is the number of ports of a leaf that are not uplinks, ``cage`` the number of neighboring ports in a cage;
    the ports ``kept`` remain free on every leaf.
    """

    hosts: NodeLinks
    units: int
    asks: tuple[PortRequest, ...]
    room: int
    cage: int = 1
    kept: range = range(0)


@dataclass(frozen=True, slots=True)
class ReservedLinks(LinkGroup):
    """A device on the leaves other than a node (a subnet manager), with one port to each of ``leaf_ports``."""

    ports: ReservedPorts
    planes: int
    leaves: int
    """Number of leaves per plane."""

    @property
    def leaf_ports(self) -> tuple[tuple[int, int], ...]:
        """A (leaf, port) of one plane for each link. They are selected on first use only: the search for a unit size
        builds a network many times, and only counts its switches.
        """
        return assign_reserved_ports(self.ports)

    @property
    def count(self) -> int:
        """Number of links."""
        return sum(ask.ports for ask in self.ports.asks) * self.planes

    def compute_ends(self, number: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Ends of a link, or of an array of links, by number."""
        places = self.leaf_ports
        plane, place = number // len(places), number % len(places)
        if isinstance(number, int):
            leaf, port = places[place]
        else:
            import numpy as np

            leaf, port = np.asarray(places, dtype=np.int64)[place].T
        return number, number * 0, plane * self.leaves + leaf, port, plane


def check_reserved(ports: ReservedPorts) -> None:
    """Raises NoFreePortsError if there are too few ports, or too few whole cages for the requests that need them."""
    hosts, units, requests, room, _, _ = ports
    needed, total = sum(map(_count_taken_ports, requests)), count_free_ports(ports)
    if total < needed:
        raise _build_no_free_ports_error(ports, needed, total)
    free_cages = None
    for request in sorted(
        (item for item in requests if item.ports_per_cage > 1), key=lambda item: -item.ports_per_cage
    ):
        wanted = -(-request.ports // request.ports_per_cage)  # these are allocated first, and only they can fail
        free_cages = (_count_free_cages(ports) if free_cages is None else free_cages) - wanted
        if free_cages < 0:
            raise _build_no_free_cages_error(hosts, request, -free_cages)


def _count_taken_ports(request: PortRequest) -> int:
    """Number of ports blocked by a request: a cable that occupies a cage leaves none of its ports, though one may have
    no link.
    """
    return -(-request.ports // request.ports_per_cage) * request.ports_per_cage


def count_free_ports(ports: ReservedPorts) -> int:
    """Number of ports used neither by nodes nor by the range ``kept``, on all leaves of a plane."""
    room, kept = ports.room, ports.kept
    return _sum_leaves(ports, lambda low: room - low - len(range(max(low, kept.start), min(room, kept.stop))))


def _count_free_cages(ports: ReservedPorts) -> int:
    """Number of cages without a port in use or kept, on all leaves of a plane."""

    def count_in_leaf(low: int) -> int:
        cages, kept = _find_cages(low, ports.room, ports.cage, ports.kept)
        return len(cages) - len(range(max(cages.start, kept.start), min(cages.stop, kept.stop)))

    return _sum_leaves(ports, count_in_leaf)


def _sum_leaves(ports: ReservedPorts, count: Callable[[int], int]) -> int:
    """Sum over the leaves of a plane that have free ports; ``count`` gets the number of a leaf's ports that nodes use.

    Leaves of equal occupancy are counted at once: the search for a size that fits calls this for thousands of networks.
    """
    hosts, units, room = ports.hosts, ports.units, ports.room
    blocks = -(-hosts.unit_nodes // hosts.block_nodes)

    def count_in_leaf(nodes: int) -> int:
        low = nodes * hosts.nics_per_leaf
        return count(low) if low < room else 0

    def count_in_unit(nodes: int) -> int:
        full, rest = divmod(nodes, hosts.block_nodes)
        begun = full + bool(rest)
        return (
            full * count_in_leaf(hosts.block_nodes)
            + bool(rest) * count_in_leaf(rest)
            + (blocks - begun) * count_in_leaf(0)
        )

    full, rest = divmod(min(hosts.nodes, units * hosts.unit_nodes), hosts.unit_nodes)
    begun = full + bool(rest)
    leaves = (
        full * count_in_unit(hosts.unit_nodes) + bool(rest) * count_in_unit(rest) + (units - begun) * count_in_unit(0)
    )
    return leaves * hosts.leaves_per_block


@lru_cache(maxsize=8)
def assign_reserved_ports(ports: ReservedPorts) -> tuple[tuple[int, int], ...]:
    """Select a (leaf, port) of one plane for each requested port, in the order of the requests: leaf by leaf, last port
    first.

    Requests for separate cages are allocated first. Raises NoFreePortsError if whole cages are missing;
    ``check_reserved`` is called before.
    """
    hosts, units, asks, room, cage, kept = ports
    leaves = [_LeafPorts(*leaf, room, cage, kept) for leaf in _iter_free_leaves(hosts, units, room)]
    found: dict[int, list[tuple[int, int]]] = {}
    for index in sorted(
        range(len(asks)), key=lambda item: (-asks[item].ports_per_cage, not asks[item].needs_own_cage, item)
    ):
        ask = asks[index]
        if ask.ports_per_cage > 1:
            found[index] = _take_cages(hosts, leaves, ask)
        elif ask.needs_own_cage:
            found[index] = _take_separate_ports(leaves, ask.ports)
        else:
            found[index] = _take_ports(leaves, ask.ports)
    return tuple(place for index in range(len(asks)) for place in found[index])


def _iter_free_leaves(node_links: NodeLinks, units: int, usable_ports: int) -> Iterator[tuple[int, int]]:
    """Leaves with free ports, and the number of their ports that nodes use."""
    for unit in range(units):
        for block, start in enumerate(range(0, node_links.unit_nodes, node_links.block_nodes)):
            here = min(
                node_links.block_nodes,
                node_links.unit_nodes - start,
                node_links.nodes - unit * node_links.unit_nodes - start,
            )
            taken = max(0, here) * node_links.nics_per_leaf
            if taken < usable_ports:
                leaf = unit * node_links.unit_stride + block
                yield from (
                    (leaf + side * node_links.side_stride, taken) for side in range(node_links.leaves_per_block)
                )


def _select_leaves(
    leaves: Sequence[_LeafPorts], attribute: Literal["free", "free_cages", "partial"], count: int
) -> list[_LeafPorts]:
    """The first leaves, up to a given number, that have such ports or cages; there may be many others."""
    return list(islice((leaf for leaf in leaves if getattr(leaf, attribute)), count))


def _take_cages(node_links: NodeLinks, leaves: Sequence[_LeafPorts], request: PortRequest) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while len(found) < request.ports:
        able = _select_leaves(leaves, "free_cages", -(-(request.ports - len(found)) // request.ports_per_cage))
        if not able:
            lacking = -(-(request.ports - len(found)) // request.ports_per_cage)
            raise _build_no_free_cages_error(node_links, request, lacking)
        for leaf in able:
            found += [(leaf.number, port) for port in leaf.take_cage(request.ports_per_cage)]
    return found[: request.ports]


def _take_separate_ports(leaves: Sequence[_LeafPorts], ports: int) -> list[tuple[int, int]]:
    """First separate cages, leaf by leaf; then the free ports in those cages; then any free port."""
    found: list[tuple[int, int]] = []
    while len(found) < ports and (able := _select_leaves(leaves, "free_cages", ports - len(found))):
        found += [(leaf.number, leaf.take_cage(1)[0]) for leaf in able]
    while len(found) < ports and (able := _select_leaves(leaves, "partial", ports - len(found))):
        found += [(leaf.number, leaf.partial.pop(0)) for leaf in able]
    return found + _take_ports(leaves, ports - len(found))


def _take_ports(leaves: Sequence[_LeafPorts], ports: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while len(found) < ports and (able := _select_leaves(leaves, "free", ports - len(found))):
        found += [(leaf.number, leaf.free.pop()) for leaf in able]
    while len(found) < ports and (able := _select_leaves(leaves, "partial", ports - len(found))):
        found += [(leaf.number, leaf.partial.pop(0)) for leaf in able]
    return found


def _build_no_free_cages_error(node_links: NodeLinks, request: PortRequest, lacking: int) -> NoFreePortsError:
    return NoFreePortsError(
        f"{-(-request.ports // request.ports_per_cage)} cages of {request.ports_per_cage} ports are required for "
        f"cables that occupy a cage, {lacking} more than {node_links.leaves} leaves have free",
        "use fewer nodes or services, larger leaves, or cables that occupy one port",
        lacking * request.ports_per_cage,
        node_links.nics,
    )


def _build_no_free_ports_error(ports: ReservedPorts, needed: int, free_ports: int) -> NoFreePortsError:
    hosts, links = ports.hosts, sum(request.ports for request in ports.asks)
    lacking = max(needed - free_ports, 1)
    fewer = hosts.nodes - -(-lacking // hosts.nics)
    return NoFreePortsError(
        f"{links} reserved links need {needed} free leaf ports, but {hosts.nodes} nodes with {hosts.nics} ports each "
        f"leave {free_ports} free on {hosts.leaves} leaves with {ports.room} ports for them",
        f"use {fewer} nodes, or smaller units (su)" if fewer > 0 else "use larger leaves",
        lacking,
        hosts.nics,
    )
