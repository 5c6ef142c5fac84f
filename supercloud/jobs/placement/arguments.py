"""Checks of the arguments of the public job functions: a job and its destination."""

from __future__ import annotations

from ...errors import InputError, require_type
from ...spec import JobSpec
from ..fleet.state import Fleet

__all__ = ["require_destination", "require_job_and_destination", "require_no_engine"]


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


def require_no_engine(engine: object, fleet: Fleet) -> None:
    """Reject an engine for a fleet: it would be lost, as the broker uses the connections of the fleet's clusters.
    Raises InputError.
    """
    if engine is not None:
        raise InputError(
            f"engine={engine!r} is for the plan of a cluster; the broker of the fleet {fleet.spec.name} submits the "
            "job with the connections of its clusters: omit engine, and set connect: in the fleet"
        )
