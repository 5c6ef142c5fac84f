"""Networks between accelerators: what kind, what shape, out of which switches."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Rate
from .base import Count, Model, Name, Natural, Text

__all__ = ["Fabric", "FabricKind", "Manager", "Oversubscription", "Switches"]

FabricKind = Literal["infiniband", "roce", "ethernet", "efa", "gpudirect-tcpx", "ici"]


class Switches(Model):
    """A switch for each tier, where they differ."""

    leaf: Text
    spine: Text | None = None
    core: Text | None = None


class Oversubscription(Model):
    """How much more goes into a tier from below than leaves it upwards: 7 means 7 to 1."""

    leaf: Annotated[float, Field(strict=True, ge=0.1, le=1000)] = 1
    spine: Annotated[float, Field(strict=True, ge=0.1, le=1000)] = 1


class Manager(Model):
    """Subnet-manager appliances on ports of the leaves."""

    links: Natural
    """Leaf ports they take, in the whole fabric."""


class Fabric(Model):
    """One network. On a cloud, ``kind`` says it all; on-prem, shape and switch decide how it is built."""

    name: Name
    kind: FabricKind
    role: Literal["compute", "storage", "in-band", "management"] | None = None
    """Which adapters of the machines it joins; empty means the fabric's name where that is a role, else compute."""
    shape: Literal["rail-optimized", "fat-tree", "clos", "torus"] | None = None
    switch: Text | None = None
    """Name of a switch in the catalog, for all tiers."""
    switches: Switches | None = None
    """Instead of ``switch``: one for each tier."""
    speed: Rate | None = None
    """Speed of a node's link; empty means what the machine's adapters and the switch have in common."""
    rails: Count | None = None
    """Links per node and plane; empty means what the machine's adapters give."""
    planes: Annotated[Count, Field(le=64)] | None = None
    """Independent copies of the network; empty means what the machine's adapters give."""
    su: Count | None = None
    """Nodes of one scalable unit; empty means what the machine's reference design or the switch gives."""
    leaf_down: Count | None = None
    """Node-facing ports per leaf; empty means half of them, or whole scale-up domains."""
    leaf_up: Count | None = None
    """Uplinks per leaf; empty means as many as ``oversubscription`` asks for."""
    tiers: Annotated[Count, Field(ge=1, le=3)] | None = None
    """Switch tiers; empty means as few as will do."""
    pod: Literal["su", "rail"] | None = None
    """What shares its spines in three tiers: all rails of scalable units, or one rail of one."""
    racks_per_pod: Count | None = None
    """Clos only: racks under one set of cluster switches."""
    oversubscription: Oversubscription = Oversubscription()
    dims: Annotated[tuple[Count, ...], Field(min_length=2, max_length=3)] | None = None
    """Torus only: nodes along each dimension."""
    manager: Manager | None = None
