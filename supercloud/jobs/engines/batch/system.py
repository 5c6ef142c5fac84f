"""What the runner and the spool know of a batch system."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BatchSystem"]


@dataclass(frozen=True)
class BatchSystem:
    """The facts of a batch system that is used by its commands."""

    name: str
    """As messages have it."""
    folder: str
    """The folder of its jobs in ``~/.supercloud`` on a login node: letters and dashes."""
    slow_queries: frozenset[str]
    """Commands that print nothing for minutes."""
    connection_hint: str
    """How to reach the system from a machine without its commands."""
