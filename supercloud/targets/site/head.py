"""The line that opens every rendered file."""

from __future__ import annotations

from ..._version import __version__
from ...catalog import NetworkOs

__all__ = ["head", "release_head"]


def head(what: str, comment: str, made_for: str = "") -> str:
    """``# what: made by supercloud``; edits are lost."""
    return f"{comment} {what}: made by supercloud {__version__}{made_for}; edits are lost"


def release_head(what: str, comment: str, system: NetworkOs) -> str:
    """The same, with the releases of a switch's operating system that the file is for, where they are known."""
    return head(what, comment, f" for {system.title}, release {system.since} or later" if system.since else "")
