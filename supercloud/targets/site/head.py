"""The first line of every rendered file."""

from __future__ import annotations

from ...catalog import NetworkOs
from ..header import format_origin

__all__ = ["format_header", "format_release_header"]


def format_header(subject: str, comment: str, suffix: str = "") -> str:
    """Format the subject and the origin as a comment; ``suffix``: for what the file is made."""
    return f"{comment} {subject}: {format_origin(suffix)}"


def format_release_header(subject: str, comment: str, system: NetworkOs) -> str:
    """Format the header with the releases of the switch's operating system that the file requires, if known."""
    return format_header(
        subject, comment, f"for {system.title}, release {system.since} or later" if system.since else ""
    )
