"""Values of this cluster: ``scale.json``, which is published in the settings of the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .commands import UnavailableError

__all__ = ["Group", "Paths", "Settings", "read_settings"]


@dataclass(frozen=True)
class Group:
    """A group of instances of the cloud."""

    key: str
    pool: str
    rank: int
    """Place in the order in which the groups of the pool are tried."""
    max_instances: int
    domain_instances: int
    """Instances that share a scale-up domain and start together; 1 without domains."""
    min_instances: int


@dataclass(frozen=True)
class Settings:
    """Values of a pass; times are in seconds."""

    groups: tuple[Group, ...]
    pass_interval: float
    """Between two passes of the loop."""
    capacity_retry: float
    """After which a group without capacity is tried again."""
    node_retry: float
    """After which a node that did not join is resumed."""

    def list_pools(self) -> list[str]:
        """The pools that groups belong to, sorted."""
        return sorted({group.pool for group in self.groups})

    def list_groups(self, pool: str) -> list[Group]:
        """The groups of a pool, in the order in which they are tried."""
        return sorted((group for group in self.groups if group.pool == pool), key=lambda group: (group.rank, group.key))


@dataclass(frozen=True)
class Paths:
    """Paths on the controller; ``root`` is empty, or another root for tests."""

    root: str

    @property
    def log(self) -> Path:
        """The log of the scaler."""
        return Path(f"{self.root}/var/log/slurm/scale.log")

    @property
    def state(self) -> Path:
        """The state of the scaler, on the protected disk."""
        return Path(f"{self.root}/var/spool/slurmctld/cloud")

    @property
    def nodes(self) -> Path:
        """The nodes of the plan, as they are defined in Slurm."""
        return Path(f"{self.root}/etc/slurm/cloud-nodes.conf")


_OVERRIDES = {"pass_interval": "SCALE_EVERY", "capacity_retry": "SCALE_REST", "node_retry": "SCALE_PARDON"}
"""Environment variables that override a time, for example in a drop-in of the unit."""


def read_settings(path: Path, environment: Mapping[str, str]) -> Settings:
    """Read ``scale.json``.

    Args:
        path: The file.
        environment: Variables that may override times.

    Raises:
        UnavailableError: The file is missing, for a moment while a new bundle is installed, or it is invalid.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        groups = tuple(Group(**row) for row in found["groups"])
        times = {name: float(environment.get(variable) or found[name]) for name, variable in _OVERRIDES.items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnavailableError(f"{path} cannot be read: {error!r}") from error
    return Settings(groups, **times)
