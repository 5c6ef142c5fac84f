"""The first line of every rendered file."""

from __future__ import annotations

from ..._version import __version__
from ...catalog import NetworkOs

__all__ = ["format_header", "format_release_header"]


def format_header(subject: str, comment: str, suffix: str = "") -> str:
    """Format ``# subject: made by supercloud``; edits are lost."""
    return f"{comment} {subject}: made by supercloud {__version__}{suffix}; edits are lost"


def format_release_header(subject: str, comment: str, system: NetworkOs) -> str:
    """Format the header with the releases of the switch's operating system that the file requires, if known."""
    return format_header(
        subject, comment, f" for {system.title}, release {system.since} or later" if system.since else ""
    )
