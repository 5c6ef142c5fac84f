"""Geometry of a grid of nodes, a torus where an axis wraps around.

Nodes are numbered row-major: the last coordinate runs fastest. Lengths are in nodes. An axis of length 1 has no
links; on an axis of length 2 the wraparound would repeat the only link, so it is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from .errors import TopologyError, require_at_least


@dataclass(frozen=True, slots=True)
class Grid:
    """A box of nodes with `dims[a]` nodes along axis a; `wrap[a]` means that axis a is a ring."""

    dims: tuple[int, ...]
    wrap: tuple[bool, ...]

    def __post_init__(self) -> None:
        if not self.dims or len(self.dims) != len(self.wrap):
            raise TopologyError(f"{len(self.dims)} dims and {len(self.wrap)} wraps", "give one wrap per axis")
        for length in self.dims:
            require_at_least(1, dims=length)

    @property
    def nodes(self) -> int:
        """Number of positions."""
        return prod(self.dims)

    def has_wrap_link(self, axis: int) -> bool:
        """True if the last node along the axis has a separate link to the first."""
        return self.wrap[axis] and self.dims[axis] > 2

    def compute_stride(self, axis: int) -> int:
        """Difference of the numbers of two neighbors along the axis."""
        return prod(self.dims[axis + 1 :])

    def count_rings(self, axis: int) -> int:
        """Number of lines of nodes along the axis."""
        return self.nodes // self.dims[axis]

    def compute_coordinates(self, node: int) -> tuple[int, ...]:
        """The coordinates of a node. Raises IndexError for a node out of range."""
        if not 0 <= node < self.nodes:
            raise IndexError(f"node {node} is out of range: there are {self.nodes} nodes")
        return tuple(node // self.compute_stride(axis) % length for axis, length in enumerate(self.dims))

    def compute_index(self, coordinates: Sequence[int]) -> int:
        """The node at given coordinates, taken modulo the length on axes that wrap. Raises IndexError outside the
        grid.
        """
        node = 0
        for place, length, wraps in zip(coordinates, self.dims, self.wrap, strict=True):
            if not wraps and not 0 <= place < length:
                raise IndexError(f"{tuple(coordinates)} is outside {self.dims}")
            node = node * length + place % length
        return node

    def list_neighbors(self, node: int) -> tuple[int, ...]:
        """The nodes linked to a node, axis by axis, forward before backward, each once."""
        here = self.compute_coordinates(node)
        found: dict[int, None] = {}
        for axis, length in enumerate(self.dims):
            for there in (here[axis] + 1, here[axis] - 1):
                if length > 1 and (self.wrap[axis] or 0 <= there < length):
                    found[node + (there % length - here[axis]) * self.compute_stride(axis)] = None
        return tuple(found)

    def compute_distance(self, source: int, target: int) -> int:
        """Number of links on the shortest path between two nodes."""
        total = 0
        for axis, (a, b) in enumerate(
            zip(self.compute_coordinates(source), self.compute_coordinates(target), strict=True)
        ):
            apart = abs(a - b)
            total += min(apart, self.dims[axis] - apart) if self.wrap[axis] else apart
        return total

    @property
    def bisection_links(self) -> int:
        """Number of links cut when the grid is halved across the axis with the fewest links; 0 for a single node."""
        cuts = [self.count_rings(a) * (2 if self.has_wrap_link(a) else 1) for a, s in enumerate(self.dims) if s > 1]
        return min(cuts, default=0)

    def build_block_grid(self, shape: Sequence[int]) -> Grid:
        """The grid of the blocks that tile this one (TPU v4: cubes of 4x4x4). Raises TopologyError if none do."""
        if len(shape) != len(self.dims) or any(s < 1 or d % s for d, s in zip(self.dims, shape, strict=False)):
            raise TopologyError(f"blocks of {tuple(shape)} do not tile {self.dims}", "each length must divide its axis")
        return Grid(tuple(d // s for d, s in zip(self.dims, shape, strict=True)), self.wrap)

    def find_block(self, node: int, shape: Sequence[int]) -> int:
        """The block of a node, numbered as in `build_block_grid(shape)`."""
        places = zip(self.compute_coordinates(node), shape, strict=True)
        return self.build_block_grid(shape).compute_index([place // length for place, length in places])

    def iter_block_nodes(self, block: int, shape: Sequence[int]) -> Iterator[int]:
        """The nodes of one block, in order."""
        corner = self.build_block_grid(shape).compute_coordinates(block)
        for offset in product(*map(range, shape)):
            yield self.compute_index([c * s + o for c, s, o in zip(corner, shape, offset, strict=True)])

    def iter_block_shapes(self, nodes: int) -> Iterator[tuple[int, ...]]:
        """All shapes of a block of a number of nodes that tile the grid, the most cubic (fewest links out) first."""
        choices = product(*([s for s in range(1, d + 1) if d % s == 0 and nodes % s == 0] for d in self.dims))
        yield from sorted((s for s in choices if prod(s) == nodes), key=lambda s: (count_surface_links(s), s))


def count_surface_links(shape: Sequence[int]) -> int:
    """Number of links out of a block in a larger torus, one per node face on its surface (TPU v4 cube of 4x4x4: 96)."""
    return sum(2 * prod(shape) // length for length in shape)
