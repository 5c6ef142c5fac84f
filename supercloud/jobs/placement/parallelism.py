"""From parallelism to groups of accelerators, the locality that each needs, and the domains that each spans.

Ranks are numbered with the dimension that communicates most varying fastest: tensor, context, the part of data that an
expert group needs, pipeline, and the rest of data (the order of Llama 3, arXiv 2407.21783 §3.3.2). So every group but
the data-parallel one is inside a run of consecutive ranks, its *extent*, and fits wherever its extent fits.
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

__all__ = ["CommunicationGroup", "Span", "list_communication_groups", "compute_block_sizes", "compute_spans"]


@dataclass(frozen=True)
class CommunicationGroup:
    """Groups of accelerators that communicate in one dimension."""

    axis: str
    """tensor, context, expert, pipeline, data."""
    size: int
    """Accelerators of each group."""
    count: int
    """Number of groups."""
    extent: int
    """Consecutive ranks that hold one group."""


@dataclass(frozen=True)
class Span:
    """The placement of a communication group: the innermost level that could hold it, and the domains it spans."""

    axis: str
    size: int
    count: int
    needs: str
    """node, scale-up, su, pod …: the innermost level whose domains are large enough for one group."""
    worst: int
    """Switch groups (innermost domains of several nodes) that the widest group spans."""
    mean: float


def list_communication_groups(parallelism: Parallelism) -> tuple[CommunicationGroup, ...]:
    """The communication groups of a job, from the most to the least communication; groups of one are omitted."""
    tensor, context, expert, inner = (
        parallelism.tensor,
        parallelism.context,
        parallelism.expert,
        _compute_inner_data(parallelism),
    )
    extents = {
        "tensor": (tensor, tensor),
        "context": (context, tensor * context),
        "expert": (expert, tensor * expert),
        "pipeline": (parallelism.pipeline, tensor * context * inner * parallelism.pipeline),
        "data": (parallelism.data, parallelism.total),
    }
    return tuple(
        CommunicationGroup(axis, size, parallelism.total // size, extent)
        for axis, (size, extent) in extents.items()
        if size > 1
    )


def compute_block_sizes(parallelism: Parallelism | None, per_node: int) -> tuple[list[int], list[int]]:
    """Numbers of nodes that should be placed together: of groups with constant communication, and of whole replicas."""
    extents = (
        {group.axis: group.extent for group in list_communication_groups(parallelism)}
        if parallelism and per_node
        else {}
    )
    nodes = {
        axis: extent // per_node for axis, extent in extents.items() if extent > per_node and not extent % per_node
    }
    often = [nodes[axis] for axis in ("tensor", "context", "expert") if axis in nodes]
    return often, [nodes["pipeline"]] if "pipeline" in nodes else []


def _compute_inner_data(parallelism: Parallelism) -> int:
    """The part of data parallelism inside expert groups: next to each other, before the pipeline."""
    inner = parallelism.expert // gcd(parallelism.expert, parallelism.context)
    return inner if parallelism.data % inner == 0 else parallelism.data


def compute_spans(
    parallelism: Parallelism, per_node: int, nodes_by_domain: Sequence[int], levels: Sequence[tuple[str, int]]
) -> list[Span]:
    """The placement of each communication group when consecutive nodes fill domains with ``nodes_by_domain[i]`` nodes
    each.

    ``levels`` are the names of levels and the accelerators of their largest domain, from the innermost outwards.
    """
    lain = list(list_communication_groups(parallelism))
    counted = _count_spanned_domains(parallelism, per_node, nodes_by_domain) if len(nodes_by_domain) > 1 else {}
    return [
        Span(
            group.axis,
            group.size,
            group.count,
            _find_needed_level(group.extent, per_node, levels),
            *counted.get(group.axis, (1, 1.0)),
        )
        for group in lain
    ]


def _find_needed_level(extent: int, per_node: int, levels: Sequence[tuple[str, int]]) -> str:
    if extent <= per_node:
        return "node"
    return next((name for name, holds in levels if holds >= extent), levels[-1][0] if levels else "")


def _count_spanned_domains(
    parallelism: Parallelism, per_node: int, nodes_by_domain: Sequence[int]
) -> dict[str, tuple[int, float]]:
    """Worst and mean number of domains a group of each axis spans: domains are sorted, so changes are counted."""
    import numpy  # not needed by a job within one domain

    inner = _compute_inner_data(parallelism)
    shape = (parallelism.data // inner, parallelism.pipeline, inner, parallelism.context, parallelism.tensor)
    domain = numpy.repeat(
        numpy.arange(len(nodes_by_domain), dtype=numpy.int32), [nodes * per_node for nodes in nodes_by_domain]
    )
    ranks = domain[: parallelism.total].reshape(shape)

    def iter_axes() -> Iterator[tuple[str, NDArray[numpy.int32]]]:
        yield "tensor", ranks
        yield "context", ranks.swapaxes(3, 4)
        yield "expert", ranks.reshape(-1, parallelism.expert, parallelism.tensor).swapaxes(1, 2)
        yield "pipeline", numpy.moveaxis(ranks, 1, -1)
        yield (
            "data",
            numpy.moveaxis(ranks, (0, 2), (-2, -1)).reshape(
                parallelism.pipeline, parallelism.context, parallelism.tensor, parallelism.data
            ),
        )

    counts = {}
    for axis, members in iter_axes():
        met = 1 + (numpy.diff(members, axis=-1) != 0).sum(axis=-1)
        counts[axis] = (int(met.max()), round(float(met.mean()), 4))
    return counts
