"""Tori: nodes (chips) linked to their neighbors along two or three axes, without switches.

TPU v5e and v6e: 16x16; TPU v4: 16x16x16 of 4x4x4 cubes; Trainium2: 4x4 in an instance. The slices that a provider sells
are facts of the catalog, not geometry.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..domains import Level
from ..errors import TopologyError
from ..graph import Fabric
from ..grid import Grid
from ..links import RingLinks


def build_torus(dims: Sequence[int], *, wrap: bool | Sequence[bool] = True) -> Fabric:
    """Wire a box of nodes, `dims` along two or three axes (row-major numbers), as rings along the axes that wrap.

    A node has two ports per axis: 2*axis to the next node, 2*axis + 1 to the previous one. `Fabric.grid` has the
    geometry. Raises TopologyError.
    """
    if len(dims) not in (2, 3):
        raise TopologyError(f"a torus of {len(dims)} axes", "specify two or three dims")
    grid = Grid(tuple(dims), (wrap,) * len(dims) if isinstance(wrap, bool) else tuple(wrap))
    half = grid.nodes // 2 * 2 * len(dims)
    level = Level(
        "fabric", grid.nodes, grid.nodes, sum(s // 2 if w else s - 1 for s, w in zip(grid.dims, grid.wrap, strict=True))
    )
    bisection = min(1.0, grid.bisection_links / half) if half else 1.0
    return Fabric(
        "torus", grid.nodes, 2 * len(dims), 1, 1, (), build_ring_links("node", grid), (level,), bisection, grid=grid
    )


def build_ring_links(kind: str, grid: Grid, copies: int = 1) -> tuple[RingLinks, ...]:
    """The links of a grid, or of several equal ones in sequence, axis by axis; axes of length 1 have none."""
    return tuple(
        RingLinks(
            kind,
            kind,
            axis,
            length,
            grid.compute_stride(axis),
            grid.count_rings(axis) * copies,
            grid.has_wrap_link(axis),
        )
        for axis, length in enumerate(grid.dims)
        if length > 1
    )
