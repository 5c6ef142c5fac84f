"""Job fields that Kubernetes does not support: reported before anything is created."""

from __future__ import annotations

from ....errors import EngineError
from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.requests.kubernetes import KubernetesRequest

__all__ = ["require_kubernetes_request"]

_MAX_ARRAY_TASKS = 1000


def require_kubernetes_request(job: JobSpec, placement: Placement) -> KubernetesRequest:
    """Its request; raises :class:`EngineError` for a job that is not supported."""
    name = job.name
    request = placement.request
    if not isinstance(request, KubernetesRequest):
        raise EngineError(
            f"cluster {placement.cluster} is not planned for Kubernetes; set scheduler: {{kind: kubernetes, …}} "
            "in its spec, or use another engine"
        )
    if job.licenses:
        raise EngineError(f"job {name!r} requests licenses, which are not supported on Kubernetes; use a Slurm cluster")
    if placement.begin or job.deadline:
        raise EngineError(
            f"job {name!r} has a deadline, which is not supported on Kubernetes; omit deadline and set time_limit"
        )
    if job.after:
        raise EngineError(
            f"job {name!r} depends on other jobs, and Kubernetes does not support job dependencies; "
            "submit both to a fleet, whose broker starts them in order"
        )
    if job.array and job.array > _MAX_ARRAY_TASKS:
        raise EngineError(
            f"job {name!r} has {job.array} tasks, each a separate object: submit arrays of at most "
            f"{_MAX_ARRAY_TASKS}, or let a task do more"
        )
    return request
