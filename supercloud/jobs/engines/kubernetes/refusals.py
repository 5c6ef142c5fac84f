"""What a job asks for that Kubernetes has nothing for: said before anything is created."""

from __future__ import annotations

from ....errors import EngineError
from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.steps.pods import PodRequirements

__all__ = ["require_pods"]

_MAX_ARRAY_TASKS = 1000


def require_pods(job: JobSpec, placement: Placement) -> PodRequirements:
    """What pods need to know; raises :class:`EngineError` for a job that cannot be carried out."""
    name = job.name
    if placement.pods is None:
        raise EngineError(
            f"cluster {placement.cluster} is not planned for Kubernetes; set scheduler: {{kind: kubernetes, …}} "
            "in its spec, or take another engine"
        )
    if placement.licenses:
        raise EngineError(f"job {name!r} holds licenses, and Kubernetes counts none; take a cluster with Slurm")
    if placement.begin or job.deadline:
        raise EngineError(
            f"job {name!r} has a deadline, and Kubernetes knows neither a time to begin nor one to have "
            "ended; leave out deadline and set time_limit"
        )
    if job.after:
        raise EngineError(
            f"job {name!r} waits for other jobs, and Kubernetes starts nothing after something else; "
            "submit both to a fleet: its broker sees to the order"
        )
    if job.array and job.array > _MAX_ARRAY_TASKS:
        raise EngineError(
            f"job {name!r} has {job.array} tasks, each an object of its own: submit arrays of at most "
            f"{_MAX_ARRAY_TASKS}, or let a task do more"
        )
    return placement.pods
