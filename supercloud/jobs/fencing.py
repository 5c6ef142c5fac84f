"""The former place of :mod:`supercloud.jobs.runtime.fencing`, which training scripts import; its former names, too."""

from __future__ import annotations

import warnings

from .runtime.fencing import FencedError, commit, find_latest

__all__ = ["Fenced", "FencedError", "commit", "find_latest", "latest"]

Fenced = FencedError
latest = find_latest

warnings.warn(
    "supercloud.jobs.fencing is now supercloud.jobs.runtime.fencing; there Fenced is called FencedError, and latest "
    "find_latest",
    DeprecationWarning,
    stacklevel=2,
)
