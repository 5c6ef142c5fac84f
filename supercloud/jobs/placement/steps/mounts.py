"""File systems that a job uses, and the pools that mount them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from ....plan.build.storage.clients import is_client, list_client_pools
from ....plan.build.storage.mounts import normalize_mount
from ....plan.model.plan import Plan
from ....spec import JobSpec
from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["check_mounts", "find_image_file", "list_used_storage"]


def list_used_storage(job: JobSpec, plan: Plan) -> list[int]:
    """Indexes in the plan of the file systems that the job names, or whose mount contains one of its paths."""
    paths = list(_list_paths(job))
    found = []
    for index, storage in enumerate(plan.storage):
        under = storage.mount.rstrip("/") + "/" if storage.mount else None
        if under and (storage.name in job.place.data or any(f"{path}/".startswith(under) for path in paths)):
            found.append(index)
    return found


def _list_paths(job: JobSpec) -> Iterator[str]:
    """Absolute paths of the job's files: its folder, its checkpoints, and its image if that is a file."""
    for path in (job.workdir, job.checkpoint.path if job.checkpoint else None, find_image_file(job)):
        if path:
            yield path


def find_image_file(job: JobSpec) -> str | None:
    """The absolute path of an image that is a file or a folder; None for an image in a registry or of unknown kind."""
    _, separator, path = (job.image or "").rpartition("://")  # docker-archive:///images/one.tar is a file
    if not separator and path.startswith(".") and job.workdir:
        path = posixpath.join(job.workdir, path)
    return normalize_mount(posixpath.normpath(path)) if path.startswith("/") else None


def check_mounts(context: PlacementContext) -> StepRefusal | None:
    """Check that the nodes of the pool mount the file systems of the job."""
    plan, pool = context.plan, context.pool
    for index in list_used_storage(context.job, plan):
        if not is_client(plan, index, pool):
            store, others = plan.storage[index], [item.name for item in list_client_pools(plan, index)]
            return StepRefusal(
                f"{store.name} is not mounted at {store.mount} in {pool.name}, whose nodes have no network to it",
                f"use pool {' or '.join(others)}" if others else f"use no path under {store.mount}",
            )
    return None
