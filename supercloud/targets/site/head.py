"""The line that opens every rendered file."""

from __future__ import annotations

from ..._version import __version__
from ...catalog import NetworkOs

__all__ = ["format_header", "format_release_header"]


def format_header(subject: str, comment: str, suffix: str = "") -> str:
    """``# what: made by supercloud``; edits are lost."""
    return f"{comment} {subject}: made by supercloud {__version__}{suffix}; edits are lost"


def format_release_header(subject: str, comment: str, system: NetworkOs) -> str:
    """The same, with the releases of a switch's operating system that the file is for, where they are known."""
    return format_header(
        subject, comment, f" for {system.title}, release {system.since} or later" if system.since else ""
    )
