"""The line that opens every rendered file."""

from __future__ import annotations

from ..._version import __version__

__all__ = ["head"]


def head(what: str, comment: str) -> str:
    """``# what: made by supercloud``; edits are lost."""
    return f"{comment} {what}: made by supercloud {__version__}; edits are lost"
