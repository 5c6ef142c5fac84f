"""What engines say about their nodes and queues; imports nothing, so that engines open quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

__all__ = ["NodeState", "Sees", "SeesQueue", "Waiting"]


@dataclass(frozen=True, slots=True)
class NodeState:
    """What an engine says about a node."""

    host: str
    state: Literal["up", "drained", "down"] = "up"
    """``drained``: it finishes what it runs and takes nothing new."""
    in_use: int = 0
    """Accelerators that jobs have; on nodes without any, 1 where a job has the node."""
    until: float | None = None
    """When the last job on it must have ended, by its time limit; seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Work that waits at an engine, of one partition or queue."""

    partition: str
    nodes: int
    """Of all of it together."""
    jobs: int = 1


@runtime_checkable
class Sees(Protocol):
    """An engine that can list its nodes."""

    def nodes(self) -> Sequence[NodeState]:
        """Every node it has, in one question."""


@runtime_checkable
class SeesQueue(Protocol):
    """An engine that can say what waits."""

    def waiting(self) -> Sequence[Waiting]:
        """What waits, summed by partition."""
