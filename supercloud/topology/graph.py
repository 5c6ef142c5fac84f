"""The canonical graph: switch tiers, link groups and levels of locality, all as formulas.

Builders make a `Fabric`; schedulers, cabling and placement only read one. Tiers, link groups and levels are listed
from the nodes outwards. A new shape is a new module with a function that returns a Fabric.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from .domains import Level
from .grid import Grid
from .links import Link, LinkGroup, NodeLinks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Axis(NamedTuple):
    """One index of a switch's name, and its number of values."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Tier:
    """All switches of one layer, over all planes: leaf, spine or core.

    `axes`, outermost first, define the position of a switch: leaf 11 of axes (plane 1, su 4, rail 8, leaf 1) is (0, 1,
    3, 0). `down` ports from port 0 face the nodes, the last `up` ports face the core.
    """

    name: str
    axes: tuple[Axis, ...]
    radix: int  # ports at link speed
    down: int  # of a fully used switch
    up: int

    @property
    def count(self) -> int:
        """Number of switches of the tier."""
        return prod(axis.size for axis in self.axes)

    @property
    def spare_ports(self) -> int:
        """Ports that are unused even on a fully used switch."""
        return self.radix - self.down - self.up

    @property
    def oversubscription(self) -> float:
        """Ports down per port up: 1 is non-blocking, 0 means that there is no tier above."""
        return self.down / self.up if self.up else 0.0

    def compute_coordinates(self, index: int) -> tuple[int, ...]:
        """The position of a switch along each axis. Raises IndexError for an index out of range."""
        if not 0 <= index < self.count:
            raise IndexError(f"{self.name} {index} is out of range: there are {self.count}")
        places: list[int] = []
        for axis in reversed(self.axes):
            index, place = divmod(index, axis.size)
            places.append(place)
        return tuple(reversed(places))

    def compute_index(self, *coordinates: int) -> int:
        """The switch at a position. Raises IndexError for a position out of range."""
        index = 0
        for place, axis in zip(coordinates, self.axes, strict=True):
            if not 0 <= place < axis.size:
                raise IndexError(f"{axis.name} {place} is out of range: tier {self.name} has {axis.size}")
            index = index * axis.size + place
        return index


_NamedT = TypeVar("_NamedT", Tier, Level)


class FabricColumns(NamedTuple):
    """All links of a fabric as arrays of equal length; kinds are indices into `Fabric.device_kinds`."""

    source_kind: NDArray[np.int8]
    source: NDArray[np.int64]
    source_port: NDArray[np.int64]
    target_kind: NDArray[np.int8]
    target: NDArray[np.int64]
    target_port: NDArray[np.int64]
    plane: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fabric:
    """The wiring of nodes 0..nodes-1, as formulas; its size does not grow with the number of nodes.

    `bisection` is the bandwidth at the narrowest level between the worst two halves of the nodes over the bandwidth
    of all node ports in one half, at most 1. `rails_per_leaf` neighboring rails share a leaf; `cross_rail_hops` is
    the minimum number of switches between two rails on different leaves, None if the network does not connect rails
    (traffic between them passes through a node).
    """

    shape: str  # rail-optimized, fat-tree, clos, torus
    nodes: int
    node_ports: int  # per node, over all planes
    planes: int
    rails: int
    tiers: tuple[Tier, ...]
    link_groups: tuple[LinkGroup, ...]
    levels: tuple[Level, ...]
    bisection: float
    cross_rail_hops: int | None = 1
    grid: Grid | None = None  # of a torus
    rails_per_leaf: int = 1

    @property
    def has_disjoint_rails(self) -> bool:
        """True if no switch path connects one rail to another."""
        return self.cross_rail_hops is None

    @property
    def device_kinds(self) -> tuple[str, ...]:
        """The kinds of device that links connect, in order of first mention: node, leaf, ..."""
        return tuple(dict.fromkeys(k for g in self.link_groups for k in (g.source_kind, g.target_kind)))

    @property
    def switch_counts(self) -> dict[str, int]:
        """Switches by tier, all planes: {'leaf': 32, 'spine': 16}."""
        return {tier.name: tier.count for tier in self.tiers}

    @property
    def link_counts(self) -> dict[str, int]:
        """Links by link group, all planes: {'node-leaf': 1016, 'reserved-leaf': 4, 'leaf-spine': 1024}."""
        counts: dict[str, int] = {}
        for group in self.link_groups:
            counts[group.name] = counts.get(group.name, 0) + group.count
        return counts

    def get_tier(self, name: str) -> Tier:
        """Return a tier by name. Raises LookupError."""
        return _get_by_name(self.tiers, name)

    def get_level(self, name: str) -> Level:
        """Return a level of locality by name. Raises LookupError."""
        return _get_by_name(self.levels, name)

    @property
    def node_links(self) -> NodeLinks:
        """The links between nodes and leaves. Raises LookupError for a torus, whose nodes are linked to each other."""
        group = self.link_groups[0] if self.link_groups else None
        if not isinstance(group, NodeLinks):
            raise LookupError(f"the nodes of a {self.shape} are not attached to switches")
        return group

    def get_node_link(self, node: int, nic: int, plane: int = 0) -> Link:
        """Return the link at NIC `nic` of a node in one plane (rail-optimized: nic = rail*ports_per_rail + port).

        Raises :class:`IndexError` for a node, NIC or plane that does not exist.
        """
        group = self.node_links
        if not (0 <= node < group.nodes and 0 <= nic < group.nics and 0 <= plane < group.planes):
            raise IndexError(f"node {node}, nic {nic}, plane {plane} is out of range")
        number = group.compute_number(node, nic, plane)
        return next(group.iter_links(number, number + 1))

    def count_hops(self, source: int, target: int, rails: tuple[int, int] = (0, 0)) -> int | None:
        """Number of switches on the shortest path between two nodes: 0 same node, 1 leaf, 3 by spine, 5 by core.

        `rails` are the rails of departure and arrival; None if no path connects them. In a torus: number of links.
        """
        if self.grid is not None:
            return self.grid.compute_distance(source, target)
        inside = next(level for level in self.levels if level.find_domain(source) == level.find_domain(target))
        if source == target:
            return 0
        if rails[0] // self.rails_per_leaf == rails[1] // self.rails_per_leaf:
            return inside.hops
        return None if self.cross_rail_hops is None else max(inside.hops, self.cross_rail_hops)

    def iter_links(self) -> Iterator[Link]:
        """Iterate over all links, group by group."""
        for group in self.link_groups:
            yield from group

    def build_columns(self) -> FabricColumns:
        """Return all links as arrays, in the order of `iter_links`."""
        import numpy as np

        parts = [group.build_columns() for group in self.link_groups]
        sizes = [group.count for group in self.link_groups]
        source_kinds = [self.device_kinds.index(group.source_kind) for group in self.link_groups]
        target_kinds = [self.device_kinds.index(group.target_kind) for group in self.link_groups]
        empty = np.zeros(0, dtype=np.int64)
        source, source_port, target, target_port, plane = (
            (np.concatenate([empty, *column]) for column in zip(*parts, strict=True)) if parts else (empty,) * 5
        )
        return FabricColumns(
            np.repeat(np.array(source_kinds, dtype=np.int8), sizes),
            source,
            source_port,
            np.repeat(np.array(target_kinds, dtype=np.int8), sizes),
            target,
            target_port,
            plane,
        )


def _get_by_name(items: tuple[_NamedT, ...], name: str) -> _NamedT:
    for thing in items:
        if thing.name == name:
            return thing
    raise LookupError(f"unknown {name}: available are {', '.join(item.name for item in items) or 'none'}")
