"""How many nodes a job takes, with how many accelerators on each; and the smallest change with which it takes fewer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import gcd, inf

from ....spec import JobSpec
from ....spec.job import Parallelism

__all__ = ["Change", "Fewer", "shaped"]

Change = Mapping[str, object]
"""Fields of a job by their paths (``accelerators.count``) and what they are set to; None: left out."""

_TRIES = 64
"""So many numbers of replicas are tried with each pipeline."""


def shaped(count: int, nodes: int | None, tensor: int, size: int) -> tuple[int, int, int] | None:
    """Nodes, accelerators on each, and nodes that one tensor-parallel group spans; None where nothing comes out even.

    Accelerators are spread evenly over the fewest nodes of ``size``: 12 on nodes of 8 are 2 × 6. What would take twice
    the nodes it should does not count as even: such a job is nearly always a slip.
    """
    if size < 1 or (tensor > size and tensor % size):
        return None
    inside, least = min(tensor, size), -(-count // size)
    for over in [nodes] if nodes else range(least, 2 * least + 1):
        if count % over == 0 and count // over <= size and (count // over) % inside == 0:
            per_node = count // over
            group = -(-tensor // per_node)
            if tensor > per_node and (tensor % per_node or over % group):
                continue
            return over, per_node, group
    return None


@dataclass(frozen=True)
class Fewer:
    """The smallest change with which a job comes out even on at most so many nodes and accelerators."""

    job: JobSpec
    size: int
    """What the job counts on one node."""
    usable: int
    """Nodes there are."""

    def __call__(self, nodes: int | None = None, accelerators: int | None = None) -> tuple[str, Change]:
        """In words and as a change; nothing where none helps."""
        job, most_nodes = self.job, self.usable if nodes is None else min(nodes, self.usable)
        count, tensor = job.accelerator_count, job.parallelism.tensor if job.parallelism else 1
        most = min(most_nodes * self.size, inf if accelerators is None else accelerators)
        if not count:
            return (f"ask for at most {most_nodes} nodes", {"nodes": most_nodes}) if most_nodes else ("", {})
        if job.nodes and count <= most:
            even = [(abs(over - job.nodes), over) for over in range(1, min(most_nodes, count) + 1)
                    if shaped(count, over, tensor, self.size)]  # fmt: skip
            if even:
                nearest = min(even)[1]
                return f"set nodes to {nearest}", {"nodes": nearest}
        for over in dict.fromkeys((job.nodes, None)):
            words, change = (self._replicas if job.parallelism else self._counts)(over, most_nodes, int(most))
            if change:
                gone = job.nodes and over is None
                return words + (", and leave out nodes" if gone else ""), {
                    **change,
                    **({"nodes": None} if gone else {}),
                }
        return "", {}

    def _counts(self, over: int | None, nodes: int, most: int) -> tuple[str, Change]:
        count = self.job.accelerator_count
        around = (
            next((other for other in span if self._even(other, over, 1, nodes)), 0)
            for span in (range(min(most, count - 1), 0, -1), range(count + 1, min(most, count + 2 * self.size) + 1))
        )
        found = [other for other in around if other]
        if not found:
            return "", {}
        words = (
            f"ask for at most {found[0]} accelerators" if count > most else f"ask for {' or '.join(map(str, found))}"
        )
        return words, {"accelerators.count": found[0]}

    def _replicas(self, over: int | None, nodes: int, most: int) -> tuple[str, Change]:
        """Fewer replicas, else shorter pipelines, narrower tensor-parallel groups, at last smaller expert groups."""
        was = self.job.parallelism
        assert was is not None
        for other in chain(_narrower(was, most), _fewer_experts(was, most)):
            if self._divides(other) and self._even(other.total, over, other.tensor, nodes):
                sides = {axis: getattr(other, axis) for axis in ("tensor", "pipeline", "data", "context", "expert")
                         if getattr(other, axis) != getattr(was, axis)}  # fmt: skip
                words = " and ".join(f"parallelism.{axis} to {ways}" for axis, ways in sides.items())
                change: dict[str, object] = {f"parallelism.{axis}": ways for axis, ways in sides.items()}
                if self.job.accelerators.count:
                    change["accelerators.count"] = other.total
                return f"set {words}: {other.total} accelerators", change
        return "", {}

    def _even(self, count: int, over: int | None, tensor: int, nodes: int) -> bool:
        found = shaped(count, over, tensor, self.size)
        return found is not None and found[0] <= nodes

    def _divides(self, how: Parallelism) -> bool:
        model = self.job.model
        wholes = (model.heads, model.hidden) if model else ()
        return (how.data * how.context) % how.expert == 0 and not any((whole or 0) % how.tensor for whole in wholes)


def _fewer_experts(was: Parallelism, most: int) -> Iterator[Parallelism]:
    """Expert groups that the fewer replicas can hold, and at last shorter context-parallel groups."""
    for context in (ways for ways in range(was.context, 0, -1) if was.context % ways == 0):
        for other in _narrower(was.model_copy(update={"context": context, "data": was.data + 1}), most):
            groups = gcd(was.expert, other.data * context)
            if other.data <= was.data and (other.context, groups) != (was.context, was.expert):
                yield other.model_copy(update={"expert": groups})


def _narrower(was: Parallelism, most: int) -> Iterator[Parallelism]:
    for tensor in range(min(was.tensor, most // was.context), 0, -1):
        for pipeline in range(min(was.pipeline, most // (tensor * was.context)), 0, -1):
            least = tensor * pipeline * was.context
            same = (tensor, pipeline) == (was.tensor, was.pipeline)
            data = min(was.data - 1 if same else was.data, most // least)
            for ways in dict.fromkeys((*range(data, max(0, data - _TRIES), -1), *((was.expert, 1) if data else ()))):
                if ways <= data:
                    yield was.model_copy(update={"tensor": tensor, "pipeline": pipeline, "data": ways})
