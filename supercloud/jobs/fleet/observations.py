"""What engines say about their nodes and queues; imports nothing, so that engines open quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

__all__ = ["NodeState", "ListsNodes", "ListsQueue", "WaitingJobs"]


@dataclass(frozen=True, slots=True)
class NodeState:
    """What an engine says about a node."""

    host: str
    state: Literal["up", "drained", "down"] = "up"
    """``drained``: it finishes what it runs and takes nothing new."""
    in_use: int = 0
    """Accelerators that jobs have; on nodes without any, 1 where a job has the node."""
    busy_until: float | None = None
    """When the last job on it must have ended, by its time limit; seconds since 1970."""


@dataclass(frozen=True, slots=True)
class WaitingJobs:
    """Work that waits at an engine, of one partition or queue."""

    partition: str
    nodes: int
    """Of all of it together."""
    jobs: int = 1


@runtime_checkable
class ListsNodes(Protocol):
    """An engine that can list its nodes."""

    def list_nodes(self) -> Sequence[NodeState]:
        """Every node it has, in one question."""


@runtime_checkable
class ListsQueue(Protocol):
    """An engine that can say what waits."""

    def list_waiting_jobs(self) -> Sequence[WaitingJobs]:
        """What waits, summed by partition."""
