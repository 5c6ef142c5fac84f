"""Whether the model of a job fits the memory of its accelerators."""

from __future__ import annotations

from ....spec.job import Parallelism
from ..context import PlacementContext
from ..memory import MemoryDemand, compute_memory_demand, suggest_fitting_change
from ..refusal import StepRefusal

__all__ = ["estimate_memory"]


def estimate_memory(context: PlacementContext) -> MemoryDemand | None | StepRefusal:
    """Memory that the model needs; None if the job does not specify its model, or the capacity is unknown."""
    job, pool, accelerator = context.job, context.pool, context.pool.accelerator
    if job.model is None or accelerator is None or not job.accelerator_count:
        return None
    capacity = accelerator.memory_reported or accelerator.memory
    if capacity is None:
        return None
    parallelism = job.parallelism or Parallelism(data=job.accelerator_count)
    demand = compute_memory_demand(job.model, parallelism, capacity)
    if demand.fits:
        return demand
    domain = pool.accelerators_per_node * pool.machine.domain_nodes
    return StepRefusal(f"the model needs {demand}", *suggest_fitting_change(job.model, parallelism, capacity, domain))
