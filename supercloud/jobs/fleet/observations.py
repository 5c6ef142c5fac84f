"""What engines report about their nodes and queues; imports little, so that engines open quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

__all__ = ["NodeState", "ListsNodes", "ListsQueue", "WaitingJobs"]


@dataclass(frozen=True, slots=True)
class NodeState:
    """What an engine reports about a node."""

    host: str
    state: Literal["up", "drained", "down"] = "up"
    """``drained``: it finishes its jobs and accepts no new ones."""
    in_use: int = 0
    """Allocated accelerators; on nodes without accelerators, 1 if a job has the node."""
    busy_until: float | None = None
    """When the last job on it must have ended, by its time limit; seconds since 1970."""


@dataclass(frozen=True, slots=True)
class WaitingJobs:
    """Jobs that wait at an engine, of one partition or queue."""

    partition: str
    nodes: int
    """Total of all waiting jobs."""
    jobs: int = 1


@runtime_checkable
class ListsNodes(Protocol):
    """An engine that can list its nodes."""

    def list_nodes(self) -> Sequence[NodeState]:
        """All of its nodes, in one request."""


@runtime_checkable
class ListsQueue(Protocol):
    """An engine that can list waiting jobs."""

    def list_waiting_jobs(self) -> Sequence[WaitingJobs]:
        """Waiting jobs, summed by partition."""
