"""The Slurm partition of a job."""

from __future__ import annotations

from ....plan.model.plan import Plan, PoolPlan
from ....spec import JobSpec
from ....spec.scheduler import Partition
from .feasibility import RefusalError
from .shape import ShrinkAdvisor

__all__ = ["select_partition"]


def select_partition(job: JobSpec, plan: Plan, pool: PoolPlan, nodes: int, advisor: ShrinkAdvisor) -> Partition | None:
    """The partition that contains the pool and accepts the job: the default one if possible, else the narrowest.

    None if the scheduler has no partitions.
    """
    if not plan.scheduler.partitions:
        return None
    holding = [item for item in plan.scheduler.partitions if pool.name in item.pools]
    if not holding:
        raise RefusalError("no partition contains it", "add the pool to a partition")
    refusals = []
    open_ = []
    for order, partition in enumerate(holding):
        refused = _find_refusal(job, partition, nodes, advisor)
        if refused:
            refusals.append(refused)
        else:
            open_.append((not partition.default, len(partition.pools), order))
    if not open_:
        raise refusals[0]
    return holding[min(open_)[2]]


def _find_refusal(job: JobSpec, partition: Partition, nodes: int, advisor: ShrinkAdvisor) -> RefusalError | None:
    name = partition.name
    if partition.accounts and job.tenant not in partition.accounts:
        return RefusalError(
            f"partition {name} is for tenant {' or '.join(partition.accounts)}",
            f"set tenant to {partition.accounts[0]}",
            {"tenant": partition.accounts[0]},
        )
    if partition.max_nodes is not None and nodes > partition.max_nodes:
        return RefusalError(
            f"the job needs {nodes} nodes, partition {name} allows {partition.max_nodes}",
            *advisor(nodes=partition.max_nodes),
        )
    if job.time_limit is not None and partition.max_time is not None and job.time_limit > partition.max_time:
        return RefusalError(
            f"time_limit {job.time_limit} exceeds the maximum of partition {name}, {partition.max_time}",
            f"set time_limit to at most {partition.max_time}, and save checkpoints",
            {"time_limit": str(partition.max_time)},
        )
    return None
