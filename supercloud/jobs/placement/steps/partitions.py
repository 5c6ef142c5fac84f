"""The Slurm partition of a job."""

from __future__ import annotations

from ....spec import JobSpec
from ....spec.scheduler import Partition
from ..context import PlacementContext
from ..refusal import StepRefusal
from .demand import NodeDemand

__all__ = ["select_partition"]


def select_partition(context: PlacementContext, demand: NodeDemand) -> Partition | None | StepRefusal:
    """The partition that contains the pool and accepts the job: the default one if possible, else the narrowest.

    None if the scheduler has no partitions.
    """
    partitions = context.plan.scheduler.partitions
    if not partitions:
        return None
    holding = [item for item in partitions if context.pool.name in item.pools]
    if not holding:
        return StepRefusal("no partition contains it", "add the pool to a partition")
    refusals = [_check_partition(context.job, partition, demand) for partition in holding]
    accepting = [item for item, refusal in zip(holding, refusals, strict=True) if refusal is None]
    if accepting:
        return min(accepting, key=lambda item: (not item.default, len(item.pools)))
    return refusals[0]


def _check_partition(job: JobSpec, partition: Partition, demand: NodeDemand) -> StepRefusal | None:
    name = partition.name
    if partition.accounts and job.tenant not in partition.accounts:
        return StepRefusal(
            f"partition {name} is for tenant {' or '.join(partition.accounts)}",
            f"set tenant to {partition.accounts[0]}",
            {"tenant": partition.accounts[0]},
        )
    if partition.max_nodes is not None and demand.nodes > partition.max_nodes:
        return StepRefusal(
            f"the job needs {demand.nodes} nodes, partition {name} allows {partition.max_nodes}",
            *demand.advisor(nodes=partition.max_nodes),
        )
    if job.time_limit is not None and partition.max_time is not None and job.time_limit > partition.max_time:
        return StepRefusal(
            f"time_limit {job.time_limit} exceeds the maximum of partition {name}, {partition.max_time}",
            f"set time_limit to at most {partition.max_time}, and save checkpoints",
            {"time_limit": str(partition.max_time)},
        )
    return None
