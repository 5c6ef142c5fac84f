"""Numbers that increase with every attempt of a job, on any engine.

An engine's key includes the launch number, an engine counts its own attempts, and an epoch combines both: of two
attempts of a job the later one has the higher epoch. Imports nothing: the agent of the local engine imports it at
startup.
"""

from __future__ import annotations

import re

__all__ = ["build_engine_key", "compute_previous_epoch", "parse_launch", "parse_record_key"]

_LAUNCH_PATTERN = re.compile(r"(.*)\.e(\d+)")
_STARTS_PER_LAUNCH = 10_000
"""More attempts than any engine makes: the epochs of a launch are above all of the previous launch."""


def build_engine_key(key: str, launch: int) -> str:
    """The key that an engine stores: different for every launch, so that launches are never confused."""
    return f"{key}.e{launch}" if launch else key


def parse_launch(key: str) -> int:
    """The launch number in an engine's key; 0 for the first."""
    match = _LAUNCH_PATTERN.fullmatch(key)
    return int(match[2]) if match else 0


def parse_record_key(key: str) -> str:
    """The key of the record that an engine's key with a launch number belongs to; others are returned as they are."""
    match = _LAUNCH_PATTERN.fullmatch(key)
    return match[1] if match else key


def compute_previous_epoch(key: str) -> int:
    """The epoch before an engine's first attempt of a job; each of its attempts adds one."""
    return parse_launch(key) * _STARTS_PER_LAUNCH
