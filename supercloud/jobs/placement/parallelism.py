"""From how a model is spread to groups of accelerators, how near each must be, and how far apart each comes to lie.

Ranks are numbered with the dimension that talks most running fastest: tensor, context, the part of data that an expert
group needs, pipeline, and the rest of data (the order of Llama 3, arXiv 2407.21783 §3.3.2). So every group but the
data-parallel one lies inside a run of consecutive ranks, its *extent*, and fits wherever its extent does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from ...spec.job import Parallelism

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = ["CommunicationGroup", "Span", "groups_of", "near_blocks", "spans"]


@dataclass(frozen=True)
class CommunicationGroup:
    """Groups of accelerators that talk to each other in one dimension."""

    axis: str
    """tensor, context, expert, pipeline, data."""
    size: int
    """Accelerators of each group."""
    count: int
    """How many groups there are."""
    extent: int
    """Consecutive ranks that hold one group."""


@dataclass(frozen=True)
class Span:
    """How a communication group lies: the innermost kind of domain that could hold it, and how many it spans."""

    axis: str
    size: int
    count: int
    needs: str
    """node, scale-up, su, pod …: the innermost level whose domains are large enough for one group."""
    worst: int
    """Switch groups (innermost domains of several nodes) that the widest group spans."""
    mean: float


def groups_of(how: Parallelism) -> tuple[CommunicationGroup, ...]:
    """The communication groups of a job, from those that talk most to those that talk least; single ones left out."""
    tensor, context, expert, inner = how.tensor, how.context, how.expert, _inner(how)
    extents = {
        "tensor": (tensor, tensor),
        "context": (context, tensor * context),
        "expert": (expert, tensor * expert),
        "pipeline": (how.pipeline, tensor * context * inner * how.pipeline),
        "data": (how.data, how.total),
    }
    return tuple(
        CommunicationGroup(axis, size, how.total // size, extent)
        for axis, (size, extent) in extents.items()
        if size > 1
    )


def near_blocks(how: Parallelism | None, per_node: int) -> tuple[list[int], list[int]]:
    """Counts of nodes that should lie together: those of groups that talk all the time, and those of whole replicas."""
    extents = {group.axis: group.extent for group in groups_of(how)} if how and per_node else {}
    nodes = {
        axis: extent // per_node for axis, extent in extents.items() if extent > per_node and not extent % per_node
    }
    often = [nodes[axis] for axis in ("tensor", "context", "expert") if axis in nodes]
    return often, [nodes["pipeline"]] if "pipeline" in nodes else []


def _inner(how: Parallelism) -> int:
    """The part of data parallelism that lies inside expert groups: next to each other, before the pipeline."""
    inner = how.expert // gcd(how.expert, how.context)
    return inner if how.data % inner == 0 else how.data


def spans(how: Parallelism, per_node: int, nodes_in: Sequence[int], levels: Sequence[tuple[str, int]]) -> list[Span]:
    """How each communication group lies when consecutive nodes fill domains with ``nodes_in[i]`` nodes each.

    ``levels`` are the names of levels and the accelerators of their largest domain, from the innermost outwards.
    """
    lain = list(groups_of(how))
    counted = _counted(how, per_node, nodes_in) if len(nodes_in) > 1 else {}
    return [
        Span(group.axis, group.size, group.count, _needs(group.extent, per_node, levels),
             *counted.get(group.axis, (1, 1.0)))
        for group in lain
    ]  # fmt: skip


def _needs(extent: int, per_node: int, levels: Sequence[tuple[str, int]]) -> str:
    if extent <= per_node:
        return "node"
    return next((name for name, holds in levels if holds >= extent), levels[-1][0] if levels else "")


def _counted(how: Parallelism, per_node: int, nodes_in: Sequence[int]) -> dict[str, tuple[int, float]]:
    """Worst and mean number of domains a group of each axis spans: domains are met in order, so changes are counted."""
    import numpy  # not needed by a job within one domain

    inner = _inner(how)
    shape = (how.data // inner, how.pipeline, inner, how.context, how.tensor)
    domain = numpy.repeat(numpy.arange(len(nodes_in), dtype=numpy.int32), [nodes * per_node for nodes in nodes_in])
    ranks = domain[: how.total].reshape(shape)

    def along() -> Iterator[tuple[str, NDArray[numpy.int32]]]:
        yield "tensor", ranks
        yield "context", ranks.swapaxes(3, 4)
        yield "expert", ranks.reshape(-1, how.expert, how.tensor).swapaxes(1, 2)
        yield "pipeline", numpy.moveaxis(ranks, 1, -1)
        yield "data", numpy.moveaxis(ranks, (0, 2), (-2, -1)).reshape(how.pipeline, how.context, how.tensor, how.data)

    counts = {}
    for axis, members in along():
        met = 1 + (numpy.diff(members, axis=-1) != 0).sum(axis=-1)
        counts[axis] = (int(met.max()), round(float(met.mean()), 4))
    return counts
