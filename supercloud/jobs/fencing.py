"""Former module and names of :mod:`supercloud.jobs.runtime.fencing`, which training scripts import."""

from __future__ import annotations

import warnings

from .runtime.fencing import FencedError, commit, find_latest

__all__ = ["Fenced", "FencedError", "commit", "find_latest", "latest"]

Fenced = FencedError
latest = find_latest

warnings.warn(
    "supercloud.jobs.fencing is deprecated; use supercloud.jobs.runtime.fencing, with FencedError instead of Fenced, "
    "and find_latest instead of latest",
    DeprecationWarning,
    stacklevel=2,
)
