"""Slurm, as the runner and the spool of batch systems see it."""

from __future__ import annotations

from ..batch.system import BatchSystem

__all__ = ["SLURM"]

SLURM = BatchSystem(
    name="Slurm",
    folder="slurm",
    slow_queries=frozenset({"sacct"}),  # prints nothing before the database has found all jobs
    connection_hint="specify the connection: --via ssh:LOGIN_HOST or --via https://CONTROLLER:6820 (in a fleet file "
    "connect: {engine: slurm, via: …})",
)
