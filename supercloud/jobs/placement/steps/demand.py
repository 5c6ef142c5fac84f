"""The nodes that a job needs in a pool, and its units on each of them."""

from __future__ import annotations

from dataclasses import dataclass

from ....spec import JobSpec
from ..context import PlacementContext
from ..refusal import StepRefusal
from .shape import ShrinkAdvisor, compute_even_shape
from .slices import AcceleratorUnits, compute_units

__all__ = ["NodeDemand", "compute_demand"]


@dataclass(frozen=True)
class NodeDemand:
    """The nodes that a job needs in a pool, and its units on each of them."""

    nodes: int
    per_node: int
    """Units on each node; 0 for a job without accelerators."""
    group_nodes: int
    """Nodes that one tensor-parallel group spans; 1: it stays inside a node."""
    units: AcceleratorUnits
    advisor: ShrinkAdvisor
    """Suggests what makes the job smaller."""

    @property
    def accelerators(self) -> int:
        """Whole accelerators of a node that the units on it take; 1 also for a node without accelerators."""
        return max(1, int(-(-self.per_node // self.units.per_accelerator)))


def compute_demand(context: PlacementContext) -> NodeDemand | StepRefusal:
    """The units of the job in the pool, and the nodes that it needs for them."""
    job, pool = context.job, context.pool
    units = compute_units(job, pool, context.plan.scheduler.kind == "kubernetes")
    if isinstance(units, StepRefusal):
        return units
    advisor = ShrinkAdvisor(job, units.per_node, pool.nodes - pool.spares)
    shape = _compute_shape(job, advisor)
    if isinstance(shape, StepRefusal):
        return shape
    nodes, per_node, group_nodes = shape
    if nodes > advisor.usable_nodes:
        spares = f" ({pool.spares} more are spares)" if pool.spares else ""
        request = (
            f"{nodes * per_node} accelerators are {nodes} nodes" if per_node else f"the job requests {nodes} nodes"
        )
        return StepRefusal(f"{request}, the pool has {advisor.usable_nodes}{spares}", *advisor())
    return NodeDemand(nodes, per_node, group_nodes, units, advisor)


def _compute_shape(job: JobSpec, advisor: ShrinkAdvisor) -> tuple[int, int, int] | StepRefusal:
    """Nodes, accelerators on each, and nodes that one tensor-parallel group spans."""
    count, size = job.accelerator_count, advisor.units_per_node
    if not count:
        return job.nodes or 1, 0, 1
    tensor = job.parallelism.tensor if job.parallelism else 1
    if shape := compute_even_shape(count, job.nodes, tensor, size):
        return shape
    if job.nodes and count > job.nodes * size:
        return StepRefusal(f"{count} accelerators do not fit {job.nodes} nodes of {size}", *advisor())
    over = f"{job.nodes} nodes" if job.nodes else f"nodes of {size}"
    groups = f" in tensor-parallel groups of {tensor}" if tensor > 1 else ""
    return StepRefusal(f"{count} accelerators do not divide evenly over {over}{groups}", *advisor())
