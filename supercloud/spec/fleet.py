"""Several clusters, how each is reached, and the policy over them."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator

from ..primitives.quantity import Duration, Money, Price
from .base import (
    DataRate,
    DuplicateNameError,
    Flag,
    LocatedProblem,
    LocatedProblemsError,
    Model,
    Name,
    Natural,
    Ratio,
    StoredSize,
    Text,
    find_duplicates,
)
from .hints import register_pattern, suggest_connection
from .schedulers import find_shared_schedulers, find_unused_options
from .tenant import Budget, TenantLimits

__all__ = ["Connection", "DataSet", "FleetSpec", "FleetTenant", "FleetMember", "FleetPolicy"]

_VIA_PATTERN = register_pattern(
    r"^(ssh:[A-Za-z0-9@._-]+(:\d+)?|https?://\S+)$", "does not say how the scheduler is reached", suggest_connection
)


class Connection(Model):
    """How jobs reach a cluster."""

    engine: Literal["local", "slurm", "kubernetes"] | Name = ""
    """Empty means what the stack says."""
    via: Annotated[str, Field(pattern=_VIA_PATTERN)] | None = None
    """``ssh:host`` or an address of the scheduler's own service; empty means: its commands are here."""
    context: Text | None = None
    """Kubernetes: the context of the kubeconfig."""
    stack: Text | None = None
    """A Pulumi stack, as organization/project/stack, whose output ``connection`` says the rest."""

    @field_validator("via")
    @classmethod
    def _check_address(cls, via: str | None) -> str | None:
        if via and via.startswith("http"):
            try:
                parts = urlsplit(via)
                known = bool(parts.hostname) and parts.port != 0 and not (parts.query or parts.fragment)
            except ValueError as error:
                raise ValueError(f"{via!r} is no address: {error}") from None
            if not known:
                raise ValueError(f"{via!r} is no address: write https://HOST:PORT")
        return via

    @model_validator(mode="after")
    def _check_engine(self) -> Connection:
        if not self.engine and not self.stack:
            raise ValueError("name the engine, or the stack whose outputs do")
        return self


class FleetMember(Model):
    """A cluster of the fleet."""

    spec: Text
    """Its spec's file, relative to the fleet's."""
    connect: Connection | None = None
    """Empty means: plan only."""
    prices: dict[Name, Price] = {}
    """Of one node of each pool; without it, what its energy costs, where that is known."""
    egress: Money | None = None
    """Price of each TB of data that leaves it; empty means nothing."""
    uplink: DataRate | None = None
    """How fast data leaves it; empty means that nobody knows."""


def _require_duration(value: Duration) -> Duration:
    if not value.base:
        raise ValueError("nothing would be remembered; write a time such as 7 d")
    return value


class FleetPolicy(Model):
    """What is preferred over the whole fleet."""

    minimize: Literal["cost", "carbon", "wait"] = "cost"
    """What placement minimizes where a job does not say."""
    weights: dict[Literal["cost", "carbon", "wait", "topology", "fragmentation"], Ratio] = {}
    """Weights of the terms that placement adds up, where the default is not wanted."""
    max_wait: Duration | None = None
    """A job that would wait longer goes to a dearer place."""
    half_life: Annotated[Duration, AfterValidator(_require_duration)] = Duration("7 d")
    """After so long what a tenant has used counts half in its fair share, as with Slurm's PriorityDecayHalfLife."""
    failures: Text = "meta-rsc-1"
    """How often nodes fail: failure-rates of the catalog. Checkpoints are proposed from it."""


class FleetTenant(Model):
    """What a tenant may have over all clusters of the fleet together; what each cluster says holds besides."""

    name: Name
    """Name of the tenant, the same in all clusters."""
    share: Natural | None = None
    """Weight among the fleet's tenants; empty means: what its clusters say, by their sizes."""
    limits: TenantLimits = TenantLimits()
    """What the tenant may use at one time over all clusters."""


class DataSet(Model):
    """Data with a size and the places that hold it (``cluster/storage``)."""

    name: Name
    """Name that jobs use."""
    size: StoredSize
    """Size that a transfer moves."""
    at: Annotated[tuple[Annotated[str, Field(pattern=r"^[a-z][-a-z0-9]*/[a-z][-a-z0-9]*$")], ...], Field(min_length=1)]
    """Where copies are, each as cluster/storage."""
    stays: Flag = False
    """It may not leave the clusters that hold it."""


class FleetSpec(Model):
    """Several clusters under one policy."""

    name: Name
    """Name of the fleet."""
    clusters: Annotated[tuple[FleetMember, ...], Field(min_length=1)]
    """The member clusters."""
    policy: FleetPolicy = FleetPolicy()
    """Preferences over the whole fleet."""
    tenants: tuple[FleetTenant, ...] = ()
    """Shares and limits over all clusters."""
    budgets: tuple[Budget, ...] = ()
    """Money that tenants may spend in a period."""
    data: tuple[DataSet, ...] = ()
    """Data sets that jobs may name in ``place.data``."""

    @model_validator(mode="after")
    def _check_unique_members(self) -> FleetSpec:
        specs = [member.spec for member in self.clusters]
        problems = [
            LocatedProblem(
                ("clusters", index, "spec"),
                ("clusters", specs.index(spec), "spec"),
                f"{spec!r} is there twice, first as clusters[{specs.index(spec)}]",
                "remove one of them, or write another spec for it",
            )
            for index, spec in enumerate(specs)
            if specs.index(spec) < index
        ]
        for index, member in enumerate(self.clusters):
            for option, problem, hint in find_unused_options(member.connect) if member.connect else ():
                problems.append(LocatedProblem(("clusters", index, "connect", option), None, problem, hint))
        if problems := problems + find_shared_schedulers(self.clusters):
            raise LocatedProblemsError(problems)
        for twice in find_duplicates(self.tenants):
            raise DuplicateNameError(f"tenants: {twice!r} is there twice")
        return self
