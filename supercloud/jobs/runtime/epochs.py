"""Numbers that grow with every start of a job, whichever engine starts it.

An engine's key says which launch it is, an engine counts its own starts, and an epoch is both: of two starts of a job
the later one has the higher epoch. Imports nothing: the agent of the local engine starts with it.
"""

from __future__ import annotations

import re

__all__ = ["engine_key", "epoch_before", "launch_of"]

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
