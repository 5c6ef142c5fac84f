"""Checks of the arguments of the public job functions: a job and its destination."""

from __future__ import annotations

from ...errors import require_type
from ...spec import JobSpec

__all__ = ["require_job_and_destination", "require_destination"]


def require_job_and_destination(
    job: object, destination: object, types: type | tuple[type, ...], requirement: str
) -> None:
    """Reject arguments of other types. Raises InputError; its message starts with ``requirement``, which states the
    function and its arguments.
    """
    require_type(job, JobSpec, requirement, "create a job: JobSpec(…), or load_job(path).model")
    require_destination(destination, types, requirement)


def require_destination(destination: object, types: type | tuple[type, ...], requirement: str) -> None:
    """Reject a path, a document or a spec where a plan is required. Raises InputError."""
    require_type(destination, types, requirement, 'create a plan: resolve(load("cluster.yaml"))')
