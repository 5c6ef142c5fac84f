"""Variables every task of a job finds, the same on every engine: its place in the job, and where to meet the others.

The names without a prefix are those of PyTorch's launcher, so that ``torchrun`` and plain scripts work unchanged.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

from ..spec import JobSpec
from .placed import Placement

__all__ = ["engine_key", "epoch_before", "job_env", "launch_of", "port_of"]

_LAUNCH = re.compile(r"(.*)\.e(\d+)")
_STARTS = 10_000
"""More starts than any engine gives a job: an epoch of a later launch is above all of the one before."""


def engine_key(key: str, launch: int) -> str:
    """The key an engine carries: what an engine was given before is never taken for what it is given now."""
    return f"{key}.e{launch}" if launch else key


def launch_of(key: str) -> int:
    """The launch that an engine's key stands for; 0 for the first."""
    match = _LAUNCH.fullmatch(key)
    return int(match[2]) if match else 0


def epoch_before(key: str) -> int:
    """The epoch before an engine's first start of a job; each start of its own adds one."""
    return launch_of(key) * _STARTS


def job_env(job: JobSpec, placement: Placement, key: str) -> Mapping[str, str]:
    """What is the same for all tasks of a job."""
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


def port_of(key: str) -> int:
    """Where the tasks of a job meet: the same for all of them, and another for the job beside it."""
    return 20_000 + zlib.crc32(key.encode()) % 12_000  # below the range that systems hand out by themselves
