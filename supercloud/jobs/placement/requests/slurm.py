"""What a job requests of Slurm in addition to nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

__all__ = ["SlurmRequest"]


@dataclass(frozen=True)
class SlurmRequest:
    """Options of sbatch; an empty one is not passed."""

    gres: str = ""
    """The type of its accelerators: a GPU, a MIG profile, or ``shard``."""
    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    """A feature that distinguishes the pool from others of its partition."""
    licenses: str = ""
    """Licenses that it holds while it runs: ``solver:2,mesher:1``."""
    kind: Literal["slurm"] = field(default="slurm", init=False)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SlurmRequest:
        """Read from a JSON object of this or another version."""
        return cls(**{item.name: data[item.name] for item in fields(cls) if item.init and item.name in data})
