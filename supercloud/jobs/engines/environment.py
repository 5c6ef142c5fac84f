"""Environment variables of every task of a job, the same on every engine: its rank, and the rendezvous address.

The names without a prefix are those of PyTorch's launcher, so that ``torchrun`` and plain scripts work unchanged.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...spec import JobSpec
    from ..placement.answer import Placement

__all__ = ["build_job_environment", "compute_rendezvous_port"]


def build_job_environment(job: JobSpec, placement: Placement, key: str) -> Mapping[str, str]:
    """The variables with the same value for all tasks of a job."""
    env = dict(job.env)
    env |= {
        "SUPERCLOUD_ACCELERATORS_PER_NODE": str(placement.accelerators_per_node),
        "SUPERCLOUD_CLUSTER": placement.cluster,
        "SUPERCLOUD_JOB_KEY": key,
        "SUPERCLOUD_JOB_NAME": job.name,
        "SUPERCLOUD_NODES": str(placement.nodes),
        "SUPERCLOUD_POOL": placement.pool,
    }
    if job.array:
        env["SUPERCLOUD_ARRAY_COUNT"] = str(job.array)
    if job.checkpoint:
        env["SUPERCLOUD_CHECKPOINT"] = job.checkpoint.path
        if seconds := job.checkpoint.every.ceil("s") if job.checkpoint.every else placement.checkpoint_every:
            env["SUPERCLOUD_CHECKPOINT_SECONDS"] = str(seconds)
    return env


def compute_rendezvous_port(key: str) -> int:
    """The rendezvous port of a job: the same for all of its tasks, and different from other jobs on the node."""
    return 20_000 + zlib.crc32(key.encode()) % 12_000  # below the range of ephemeral ports
