"""Whether the tasks of a job on a node have a processor each."""

from __future__ import annotations

from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["check_tasks"]


def check_tasks(context: PlacementContext) -> StepRefusal | None:
    """Check that a node has as many CPUs as the job starts tasks on it: Slurm allocates one to each task at least, of
    those that are in slurm.conf and not reserved, and refuses a job for which no node has enough. In a pod tasks are
    processes without CPUs of their own.
    """
    tasks, threads = context.job.tasks_per_node, context.pool.threads
    if context.plan.scheduler.kind != "slurm" or threads is None or tasks <= threads:
        return None
    return StepRefusal(
        f"the job starts {tasks} tasks on each node, its nodes have {threads} CPUs for jobs, and Slurm allocates one "
        "to each task at least",
        *((f"set tasks_per_node to at most {threads}", {"tasks_per_node": threads}) if threads else ()),
    )
