"""The common inputs of the steps that decide a plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...catalog import Catalog
from ...spec import ClusterSpec
from ..model.plan import FabricPlan, PoolPlan
from ..model.problems import Problems
from ..model.storage import ServerGroup

__all__ = ["BuildInputs", "Equipment"]


@dataclass(frozen=True)
class BuildInputs:
    """The sources of all decisions, and the list to which a step adds the problems it finds."""

    spec: ClusterSpec
    catalog: Catalog
    problems: Problems
    folder: Path = Path()
    """The folder of the files that the spec names."""


@dataclass(frozen=True)
class Equipment:
    """Nodes, networks and storage servers that need racks, power, ports and addresses."""

    pools: tuple[PoolPlan, ...]
    fabrics: tuple[FabricPlan, ...]
    servers: tuple[ServerGroup, ...] = ()
