"""Boxes of nodes inside a torus: the shape of a job, and its position.

Boxes are placed at multiples of their sides, so that jobs of similar shapes tile the torus and leave whole boxes free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

__all__ = ["find_free_box", "select_box"]


def select_box(nodes: int, dims: Sequence[int]) -> tuple[int, ...] | None:
    """The box with exactly ``nodes`` nodes that is nearest to a cube and tiles the torus; None if there is none."""
    boxes = [
        box for box in _iter_boxes(nodes, dims) if all(side % part == 0 for side, part in zip(dims, box, strict=True))
    ]
    boxes = boxes or list(_iter_boxes(nodes, dims))
    return min(boxes, key=lambda box: (_compute_surface(box), box), default=None)


def find_free_box(box: Sequence[int], dims: Sequence[int], free: Sequence[int]) -> tuple[int, ...] | None:
    """Nodes of the first position at which the box is free, in any orientation; nodes are numbered row-major."""
    for sides in sorted(set(_iter_orientations(box))):
        if any(part > side for part, side in zip(sides, dims, strict=True)):
            continue
        corners = [range(0, side - part + 1, part) for part, side in zip(sides, dims, strict=True)]
        for corner in product(*corners):
            nodes = tuple(
                _compute_index(place, dims)
                for place in product(*(range(at, at + part) for at, part in zip(corner, sides, strict=True)))
            )
            if all(free[node] for node in nodes):
                return nodes
    return None


def _iter_boxes(nodes: int, dims: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if len(dims) == 1:
        if nodes <= dims[0]:
            yield (nodes,)
        return
    for side in range(1, min(nodes, dims[0]) + 1):
        if nodes % side == 0:
            yield from ((side, *rest) for rest in _iter_boxes(nodes // side, dims[1:]))


def _iter_orientations(box: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if len(box) < 2:
        yield tuple(box)
        return
    for index, side in enumerate(box):
        yield from ((side, *rest) for rest in _iter_orientations([*box[:index], *box[index + 1 :]]))


def _compute_surface(box: Sequence[int]) -> int:
    return sum(prod(box) // side for side in box)


def _compute_index(coordinates: Sequence[int], dims: Sequence[int]) -> int:
    index = 0
    for at, side in zip(coordinates, dims, strict=True):
        index = index * side + at
    return index
