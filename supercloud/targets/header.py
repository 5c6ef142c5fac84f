"""The first line of rendered files: by whom they are made, and that they are not to be edited."""

from __future__ import annotations

from .._version import __version__

__all__ = ["format_header", "format_origin"]


def format_origin(source: str = "") -> str:
    """The origin of a rendered file; ``source``: what it is made from or for, such as ``from the spec pod1``."""
    return f"made by supercloud {__version__}{f' {source}' if source else ''}; do not edit"


def format_header(plan_name: str) -> str:
    """The first line of a file that is rendered for a whole cluster, as a comment."""
    return f"# {format_origin(f'from the spec {plan_name}')}"
