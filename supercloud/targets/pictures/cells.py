"""The cells of each tier in a picture: every switch if they are few, else groups of them, else some of the groups.

A grouping is a function from a device to its group; the finest one with few enough cells is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...topology import Fabric, Tier

__all__ = ["MAX_CELLS", "Cell", "TierRow", "build_rows"]

MAX_CELLS = 16
"""Maximum number of cells in a row: more are not readable."""
_CELLS_BEFORE_GAP = 10
"""Groups shown before the gap, if there are too many."""

IntArray = NDArray[np.int64]
Grouping = tuple[str, IntArray]


@dataclass(frozen=True)
class Cell:
    """A device, or several drawn as one."""

    label: str
    first: int
    last: int
    """Numbers of its first and last device."""
    count: int
    is_gap: bool = False
    """Whether it represents the groups that are not drawn."""


@dataclass(frozen=True)
class TierRow:
    """One tier, or the nodes, of the drawn planes."""

    kind: str
    cells: tuple[Cell, ...]
    cell_of: IntArray
    """Cell of each device, -1 if its plane is not drawn."""


def build_rows(wiring: Fabric) -> tuple[list[TierRow], int]:
    """Build the rows from the core down to the nodes; returns them and the number of drawn planes."""
    for planes in dict.fromkeys((wiring.planes, 1)):
        rows = [_build_tier_row(wiring, tier, planes) for tier in reversed(wiring.tiers)]
        if all(len(row.cells) <= MAX_CELLS for row in rows):
            break
    return [
        *rows,
        _build_row("node", wiring.nodes, _list_node_groupings(wiring), np.zeros(wiring.nodes, dtype=np.int64), 1),
    ], planes


def _build_tier_row(wiring: Fabric, tier: Tier, planes: int) -> TierRow:
    index = np.arange(tier.count, dtype=np.int64)
    plane = index // (tier.count // wiring.planes)
    return _build_row(tier.name, tier.count, list(_iter_switch_groupings(wiring, tier, index)), plane, planes)


def _build_row(kind: str, count: int, groupings: list[Grouping], plane: IntArray, planes: int) -> TierRow:
    """Build a row with the finest grouping that fits, or the coarsest with a gap."""
    drawn = np.flatnonzero(plane < planes)
    sizes = [len(np.unique(group[drawn])) for _, group in groupings]
    fitting = [number for number, size in enumerate(sizes) if size <= MAX_CELLS]
    label, group = groupings[fitting[0] if fitting else sizes.index(min(sizes))]
    _, first, cell, counts = np.unique(group[drawn], return_index=True, return_inverse=True, return_counts=True)
    many = len(counts) > MAX_CELLS
    if many:
        cell = np.where(
            cell < _CELLS_BEFORE_GAP, cell, np.where(cell == len(counts) - 1, _CELLS_BEFORE_GAP + 1, _CELLS_BEFORE_GAP)
        )
    names = [_format_label(label, int(group[drawn[item]])) for item in first]
    cell_of = np.full(count, -1, dtype=np.int64)
    cell_of[drawn] = cell
    cells = []
    for number in range(int(cell.max()) + 1):
        members = drawn[cell == number]
        gap = many and number == _CELLS_BEFORE_GAP
        name = (
            f"{len(counts) - _CELLS_BEFORE_GAP - 1} more"
            if gap
            else names[-1 if many and number > _CELLS_BEFORE_GAP else number]
        )
        cells.append(Cell(name, int(members[0]), int(members[-1]), len(members), gap))
    return TierRow(kind, tuple(cells), cell_of)


def _format_label(kind: str, number: int) -> str:
    return f"{kind} {number + 1}"


def _iter_switch_groupings(wiring: Fabric, tier: Tier, index: IntArray) -> Iterator[Grouping]:
    """Yield groupings: each switch; by unit, rail or core group; by pod."""
    yield tier.name, index
    outer = tier.axes[1]
    if len(tier.axes) > 2:
        yield outer.name, index // (tier.count // (tier.axes[0].size * outer.size))
    if len(wiring.tiers) == 3:
        pods = wiring.get_tier("spine").axes[-1].size
        if tier.name == "spine":
            yield "pod", index // pods
        elif tier.name == "leaf":
            up = next(group for group in wiring.link_groups if group.name == "leaf-spine")
            _, _, spine, _, _ = up.compute_ends(index * tier.up)
            yield "pod", spine // pods


def _list_node_groupings(wiring: Fabric) -> list[Grouping]:
    """Return groupings: each node, then the levels of locality outwards, except the whole fabric."""
    index = np.arange(wiring.nodes, dtype=np.int64)
    found: list[Grouping] = [("node", index)]
    for level in wiring.levels[:-1] or wiring.levels:
        span = level.section_nodes or level.size
        per_span = -(-span // level.size)
        found.append((level.name, index // span * per_span + index % span // level.size))
    return found
