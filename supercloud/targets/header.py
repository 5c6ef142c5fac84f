"""The first line of files that are rendered for a whole cluster."""

from __future__ import annotations

from .._version import __version__

__all__ = ["format_header"]


def format_header(plan_name: str) -> str:
    """The first line of a rendered file, as a comment."""
    return f"# made by supercloud {__version__} from the spec {plan_name}; edits are lost"
