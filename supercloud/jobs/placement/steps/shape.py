"""Shape of a job: the number of nodes and of accelerators on each, and the smallest change with which it takes
fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import gcd, inf

from ....spec import JobSpec
from ....spec.job import Parallelism
from ..refusal import JobChange

__all__ = ["ShrinkAdvisor", "compute_even_shape"]

_MAX_REPLICA_TRIES = 64
"""Maximum numbers of replicas tried with each pipeline size."""


def compute_even_shape(count: int, nodes: int | None, tensor: int, units_per_node: int) -> tuple[int, int, int] | None:
    """Nodes, accelerators on each, and nodes that one tensor-parallel group spans; None if nothing divides evenly.

    Accelerators are distributed evenly over the fewest nodes of ``units_per_node``: 12 on nodes of 8 are 2 × 6. A shape
    with twice the necessary nodes does not count as even: such a job is nearly always an error.
    """
    if units_per_node < 1 or (tensor > units_per_node and tensor % units_per_node):
        return None
    inside, least = min(tensor, units_per_node), -(-count // units_per_node)
    for over in [nodes] if nodes else range(least, 2 * least + 1):
        if count % over == 0 and count // over <= units_per_node and (count // over) % inside == 0:
            per_node = count // over
            group = -(-tensor // per_node)
            if tensor > per_node and (tensor % per_node or over % group):
                continue
            return over, per_node, group
    return None


@dataclass(frozen=True)
class ShrinkAdvisor:
    """The smallest change with which a job divides evenly over at most the given nodes and accelerators."""

    job: JobSpec
    units_per_node: int
    """Units of the job on one node."""
    usable_nodes: int
    """Number of usable nodes."""

    def __call__(self, nodes: int | None = None, accelerators: int | None = None) -> tuple[str, JobChange]:
        """In words and as a change; empty if no change helps."""
        most_nodes = self.usable_nodes if nodes is None else min(nodes, self.usable_nodes)
        if not self.job.accelerator_count:
            return (f"request at most {most_nodes} nodes", {"nodes": most_nodes}) if most_nodes else ("", {})
        most = int(min(most_nodes * self.units_per_node, inf if accelerators is None else accelerators))
        return self._suggest_nodes(most_nodes, most) or self._suggest_accelerators(most_nodes, most)

    def _suggest_nodes(self, max_nodes: int, max_accelerators: int) -> tuple[str, JobChange] | None:
        """The nearest number of nodes over which the job's accelerators divide evenly, if it fixes that number."""
        job, count = self.job, self.job.accelerator_count
        if not job.nodes or count > max_accelerators:
            return None
        tensor = job.parallelism.tensor if job.parallelism else 1
        even = [
            (abs(over - job.nodes), over)
            for over in range(1, min(max_nodes, count) + 1)
            if compute_even_shape(count, over, tensor, self.units_per_node)
        ]
        if not even:
            return None
        nearest = min(even)[1]
        return f"set nodes to {nearest}", {"nodes": nearest}

    def _suggest_accelerators(self, max_nodes: int, max_accelerators: int) -> tuple[str, JobChange]:
        """Fewer accelerators: on the number of nodes that the job fixes, else on any."""
        suggest = self._suggest_parallelism if self.job.parallelism else self._suggest_count
        if self.job.nodes:
            words, change = suggest(self.job.nodes, max_nodes, max_accelerators)
            if change:
                return words, change
        words, change = suggest(None, max_nodes, max_accelerators)
        if change and self.job.nodes:
            return f"{words}, and omit nodes", {**change, "nodes": None}
        return words, change

    def _suggest_count(self, exact_nodes: int | None, max_nodes: int, max_accelerators: int) -> tuple[str, JobChange]:
        count = self.job.accelerator_count
        around = (
            next((other for other in span if self._is_even(other, exact_nodes, 1, max_nodes)), 0)
            for span in (
                range(min(max_accelerators, count - 1), 0, -1),
                range(count + 1, min(max_accelerators, count + 2 * self.units_per_node) + 1),
            )
        )
        found = [other for other in around if other]
        if not found:
            return "", {}
        words = (
            f"request at most {found[0]} accelerators"
            if count > max_accelerators
            else f"request {' or '.join(map(str, found))}"
        )
        return words, {"accelerators.count": found[0]}

    def _suggest_parallelism(
        self, exact_nodes: int | None, max_nodes: int, max_accelerators: int
    ) -> tuple[str, JobChange]:
        """Fewer replicas, else shorter pipelines, narrower tensor-parallel groups, and last smaller expert groups."""
        was = self.job.parallelism
        assert was is not None
        for other in chain(_iter_narrower(was, max_accelerators), _iter_smaller_expert_groups(was, max_accelerators)):
            if self._is_valid(other) and self._is_even(other.total, exact_nodes, other.tensor, max_nodes):
                sides = {
                    axis: getattr(other, axis)
                    for axis in ("tensor", "pipeline", "data", "context", "expert")
                    if getattr(other, axis) != getattr(was, axis)
                }
                words = " and ".join(f"parallelism.{axis} to {ways}" for axis, ways in sides.items())
                change: dict[str, object] = {f"parallelism.{axis}": ways for axis, ways in sides.items()}
                if self.job.accelerators.count:
                    change["accelerators.count"] = other.total
                return f"set {words}: {other.total} accelerators", change
        return "", {}

    def _is_even(self, count: int, exact_nodes: int | None, tensor: int, max_nodes: int) -> bool:
        found = compute_even_shape(count, exact_nodes, tensor, self.units_per_node)
        return found is not None and found[0] <= max_nodes

    def _is_valid(self, parallelism: Parallelism) -> bool:
        model, was = self.job.model, self.job.parallelism
        wholes = (model.heads, model.hidden) if model else ()
        is_own = was is not None and parallelism.pipeline == was.pipeline
        if model and not is_own and (model.layers or 0) % parallelism.pipeline:
            return False
        return (parallelism.data * parallelism.context) % parallelism.expert == 0 and not any(
            (whole or 0) % parallelism.tensor for whole in wholes
        )


def _iter_smaller_expert_groups(parallelism: Parallelism, max_accelerators: int) -> Iterator[Parallelism]:
    """Expert groups that fit in the reduced number of replicas, and last shorter context-parallel groups."""
    for context in (ways for ways in range(parallelism.context, 0, -1) if parallelism.context % ways == 0):
        for other in _iter_narrower(
            parallelism.model_copy(update={"context": context, "data": parallelism.data + 1}), max_accelerators
        ):
            groups = gcd(parallelism.expert, other.data * context)
            if other.data <= parallelism.data and (other.context, groups) != (parallelism.context, parallelism.expert):
                yield other.model_copy(update={"expert": groups})


def _iter_narrower(parallelism: Parallelism, max_accelerators: int) -> Iterator[Parallelism]:
    for tensor in range(min(parallelism.tensor, max_accelerators // parallelism.context), 0, -1):
        for pipeline in range(min(parallelism.pipeline, max_accelerators // (tensor * parallelism.context)), 0, -1):
            least = tensor * pipeline * parallelism.context
            same = (tensor, pipeline) == (parallelism.tensor, parallelism.pipeline)
            data = min(parallelism.data - 1 if same else parallelism.data, max_accelerators // least)
            for ways in dict.fromkeys(
                (*range(data, max(0, data - _MAX_REPLICA_TRIES), -1), *((parallelism.expert, 1) if data else ()))
            ):
                if ways <= data:
                    yield parallelism.model_copy(update={"tensor": tensor, "pipeline": pipeline, "data": ways})
