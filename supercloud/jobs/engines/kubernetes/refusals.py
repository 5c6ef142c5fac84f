"""What a job asks for that Kubernetes has nothing for: said before anything is created."""

from __future__ import annotations

from ....errors import EngineError
from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.steps.pods import Pods

__all__ = ["pods_for"]

_TASKS = 1000


def pods_for(job: JobSpec, at: Placement) -> Pods:
    """What pods need to know; raises :class:`EngineError` for a job that cannot be carried out."""
    name = job.name
    if at.pods is None:
        raise EngineError(f"cluster {at.cluster} is not planned for Kubernetes; set scheduler: {{kind: kubernetes, …}} "
                          "in its spec, or take another engine")  # fmt: skip
    if at.licenses:
        raise EngineError(f"job {name!r} holds licenses, and Kubernetes counts none; take a cluster with Slurm")
    if at.begin or job.deadline:
        raise EngineError(f"job {name!r} has a deadline, and Kubernetes knows neither a time to begin nor one to have "
                          "ended; leave out deadline and set time_limit")  # fmt: skip
    if job.after:
        raise EngineError(f"job {name!r} waits for other jobs, and Kubernetes starts nothing after something else; "
                          "submit both to a fleet: its broker sees to the order")  # fmt: skip
    if job.array and job.array > _TASKS:
        raise EngineError(f"job {name!r} has {job.array} tasks, each an object of its own: submit arrays of at most "
                          f"{_TASKS}, or let a task do more")  # fmt: skip
    return at.pods
