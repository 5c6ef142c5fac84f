"""Several clusters, how each is reached, and the policy over them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..primitives.quantity import Duration, Money, Price, Rate, Size
from .base import Flag, Model, Name, Ratio, Text
from .tenant import Budget

__all__ = ["Connection", "DataSet", "FleetSpec", "Member", "Policy"]


class Connection(Model):
    """How jobs reach a cluster."""

    engine: Literal["local", "slurm", "kubernetes", "fake"] | Name
    via: Annotated[str, Field(pattern=r"^(ssh:[A-Za-z0-9@._-]+(:\d+)?|https?://\S+)$")] | None = None
    """``ssh:host`` or an address of the scheduler's own service; empty means: its commands are here."""
    context: Text | None = None
    """Kubernetes: the context of the kubeconfig."""
    stack: Text | None = None
    """A Pulumi stack whose outputs say the rest."""


class Member(Model):
    """A cluster of the fleet."""

    spec: Text
    """Its spec's file, relative to the fleet's."""
    connect: Connection | None = None
    """Empty means: plan only."""
    prices: dict[Name, Price] = {}
    """Of one node of each pool; without it, what its energy costs, where that is known."""
    egress: Money | None = None
    """Price of each TB of data that leaves it; empty means nothing."""
    uplink: Rate | None = None
    """How fast data leaves it; empty means that nobody knows."""


class Policy(Model):
    """What is preferred over the whole fleet."""

    minimize: Literal["cost", "carbon", "wait"] = "cost"
    weights: dict[Literal["cost", "carbon", "wait", "topology", "fragmentation"], Ratio] = {}
    max_wait: Duration | None = None
    """A job that would wait longer goes to a dearer place."""
    failures: Text = "meta-rsc-1"
    """How often nodes fail: failure-rates of the catalog. Checkpoints are proposed from it."""


class DataSet(Model):
    """Data with a size and the places that hold it (``cluster/storage``)."""

    name: Name
    size: Size
    at: Annotated[tuple[Annotated[str, Field(pattern=r"^[a-z][-a-z0-9]*/[a-z][-a-z0-9]*$")], ...], Field(min_length=1)]
    stays: Flag = False
    """It may not leave the clusters that hold it."""


class FleetSpec(Model):
    """Several clusters under one policy."""

    name: Name
    clusters: Annotated[tuple[Member, ...], Field(min_length=1)]
    policy: Policy = Policy()
    budgets: tuple[Budget, ...] = ()
    data: tuple[DataSet, ...] = ()

    @model_validator(mode="after")
    def _unique(self) -> FleetSpec:
        specs = [member.spec for member in self.clusters]
        for twice in sorted({spec for spec in specs if specs.count(spec) > 1}):
            raise ValueError(f"clusters: {twice!r} is there twice")
        return self
