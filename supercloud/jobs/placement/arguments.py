"""What the public functions of jobs are given: a job, and where it goes."""

from __future__ import annotations

from ...errors import require_type
from ...spec import JobSpec

__all__ = ["require_job_and_destination", "require_destination"]


def require_job_and_destination(
    job: object, destination: object, types: type | tuple[type, ...], requirement: str
) -> None:
    """Refuse what is no job, or no place of these kinds. Raises InputError that begins with ``requirement``: which
    function takes what."""
    require_type(job, JobSpec, requirement, "make a job: JobSpec(…), or load_job(path).model")
    require_destination(destination, types, requirement)


def require_destination(destination: object, types: type | tuple[type, ...], requirement: str) -> None:
    """Refuse a path, a document or a spec where a plan is asked for. Raises InputError."""
    require_type(destination, types, requirement, 'make a plan: resolve(load("cluster.yaml"))')
