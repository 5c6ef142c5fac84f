"""Numbers that grow with every start of a job, whichever engine starts it.

An engine's key says which launch it is, an engine counts its own starts, and an epoch is both: of two starts of a job
the later one has the higher epoch. Imports nothing: the agent of the local engine starts with it.
"""

from __future__ import annotations

import re

__all__ = ["build_engine_key", "compute_previous_epoch", "parse_launch"]

_LAUNCH_PATTERN = re.compile(r"(.*)\.e(\d+)")
_STARTS_PER_LAUNCH = 10_000
"""More starts than any engine gives a job: an epoch of a later launch is above all of the one before."""


def build_engine_key(key: str, launch: int) -> str:
    """The key an engine carries: what an engine was given before is never taken for what it is given now."""
    return f"{key}.e{launch}" if launch else key


def parse_launch(key: str) -> int:
    """The launch that an engine's key stands for; 0 for the first."""
    match = _LAUNCH_PATTERN.fullmatch(key)
    return int(match[2]) if match else 0


def compute_previous_epoch(key: str) -> int:
    """The epoch before an engine's first start of a job; each start of its own adds one."""
    return parse_launch(key) * _STARTS_PER_LAUNCH
