"""What the public functions of jobs are given: a job, and where it goes."""

from __future__ import annotations

from ..errors import check_type
from ..spec import JobSpec

__all__ = ["check_job_and_place", "check_place"]


def check_job_and_place(job: object, where: object, kinds: type | tuple[type, ...], takes: str) -> None:
    """Refuse what is no job, or no place of these kinds. Raises InputError that says which function ``takes`` what."""
    check_type(job, JobSpec, takes, "make a job: JobSpec(…), or load_job(path).model")
    check_place(where, kinds, takes)


def check_place(where: object, kinds: type | tuple[type, ...], takes: str) -> None:
    """Refuse a path, a document or a spec where a plan is asked for. Raises InputError."""
    check_type(where, kinds, takes, 'make a plan: resolve(load("cluster.yaml"))')
