"""Several clusters, their connections, and the policy over them."""

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
from .constructed import DocumentModel
from .hints import register_pattern, suggest_connection
from .schedulers import find_shared_schedulers, find_unused_options
from .tenant import Budget, TenantLimits

__all__ = ["Connection", "DataSet", "FleetSpec", "FleetTenant", "FleetMember", "FleetPolicy"]

_VIA_PATTERN = register_pattern(
    r"^(ssh:[A-Za-z0-9@._-]+(:\d+)?|https?://\S+)$", "is not a valid address of a scheduler", suggest_connection
)


class Connection(Model):
    """Connection to the scheduler of a cluster."""

    engine: Literal["local", "slurm", "kubernetes"] | Name = ""
    """Engine; empty means the one in the outputs of the stack. Example: ``slurm``."""
    via: Annotated[str, Field(pattern=_VIA_PATTERN)] | None = None
    """``ssh:host`` or the URL of the scheduler's API; empty means that its commands are on this host. Example:
    ``ssh:login.pod1.example.com``."""
    context: Text | None = None
    """Kubernetes: the context of the kubeconfig; empty means the current one. Example: ``pod1-admin``."""
    server: Text | None = None
    """Kubernetes: the URL of the API server that the context must have. Empty means that of the context when a job is
    submitted; it is recorded with the job. Example: ``https://api.pod1.example.com:6443``."""
    stack: Text | None = None
    """A Pulumi stack, as organization/project/stack, whose output ``connection`` has the other fields; empty means that
    the other fields are set here. Example: ``acme/pod1/production``."""

    @field_validator("via")
    @classmethod
    def _check_address(cls, via: str | None) -> str | None:
        if via and via.startswith("http"):
            try:
                parts = urlsplit(via)
                known = bool(parts.hostname) and parts.port != 0 and not (parts.query or parts.fragment)
            except ValueError as error:
                raise ValueError(f"{via!r} is not a valid address: {error}") from None
            if not known:
                raise ValueError(f"{via!r} is not a valid address: write https://HOST:PORT")
        return via

    @model_validator(mode="after")
    def _check_engine(self) -> Connection:
        if not self.engine and not self.stack:
            raise ValueError("set the engine, or a stack with this output")
        return self


class FleetMember(Model):
    """A cluster of the fleet."""

    spec: Text
    """File of its spec, relative to the fleet's file. Example: ``pod1/cluster.yaml``."""
    connect: Connection | None = None
    """Connection; empty means that the cluster is planned only. Example: ``{engine: slurm, via:
    "ssh:login.pod1.example.com"}``."""
    prices: dict[Name, Price] = {}
    """Price of one node of each pool. Empty means the list price of a cloud that ``supercloud plan`` shows, else the
    cost of its energy, if known. Example: ``{train: 25 USD/h}``."""
    egress: Money | None = None
    """Price of outgoing data per TB; empty means free. Example: ``50 USD``."""
    uplink: DataRate | None = None
    """Rate of outgoing data; empty means unknown. Example: ``100 Gb/s``."""


def _require_duration(value: Duration) -> Duration:
    if not value.base:
        raise ValueError("the half-life must be greater than 0; write a time such as 7 d")
    return value


class FleetPolicy(Model):
    """Placement policy of a fleet."""

    minimize: Literal["cost", "carbon", "wait"] = "cost"
    """Default objective of placement, for jobs without ``place.minimize``."""
    weights: dict[Literal["cost", "carbon", "wait", "topology", "fragmentation"], Ratio] = {}
    """Weights of the terms of the placement objective; empty means the defaults. Example: ``{cost: 0.7, carbon:
    0.3}``."""
    max_wait: Duration | None = None
    """Maximum queue wait: a job that would wait longer is placed on more expensive capacity; empty means that a job
    does not wait for its best placement if another is free. Example: ``4 h``."""
    half_life: Annotated[Duration, AfterValidator(_require_duration)] = Duration("7 d")
    """Half-life of a tenant's usage in its fair share, as with Slurm's PriorityDecayHalfLife. Example: ``14 d``."""
    failures: Text = "meta-rsc-1"
    """Failure rate of nodes: failure-rates in the catalog. Checkpoint intervals are proposed from it. Example:
    ``llama-3-405b``."""


class FleetTenant(Model):
    """Share and limits of a tenant over all clusters of the fleet; limits of each cluster apply in addition."""

    name: Name
    """Name of the tenant, the same in all clusters. Example: ``research``."""
    share: Natural | None = None
    """Weight among the fleet's tenants; empty means the weights in its clusters, by cluster size. Example: ``3``."""
    limits: TenantLimits = TenantLimits()
    """Limits of concurrent use over all clusters. Example: ``{accelerators: 512}``."""


class DataSet(Model):
    """Data with a size and its locations (``cluster/storage``)."""

    name: Name
    """Name that jobs use. Example: ``tokens``."""
    size: StoredSize
    """Size of a transfer. Example: ``40 TB``."""
    at: Annotated[tuple[Annotated[str, Field(pattern=r"^[a-z][-a-z0-9]*/[a-z][-a-z0-9]*$")], ...], Field(min_length=1)]
    """Locations of copies, each as cluster/storage. Example: ``[pod1/scratch]``."""
    stays: Flag = False
    """Whether it must stay in the clusters that hold it."""


class FleetSpec(DocumentModel):
    """Several clusters under one policy."""

    name: Name
    """Name of the fleet. Example: ``all``."""
    clusters: Annotated[tuple[FleetMember, ...], Field(min_length=1)]
    """The member clusters. Example: ``[{spec: pod1/cluster.yaml, connect: {engine: slurm, via:
    "ssh:login.pod1.example.com"}}]``."""
    policy: FleetPolicy = FleetPolicy()
    """Preferences over the whole fleet. Example: ``{minimize: carbon, max_wait: 4 h}``."""
    tenants: tuple[FleetTenant, ...] = ()
    """Shares and limits over all clusters; empty means the shares and limits of each cluster. Example: ``[{name:
    research, share: 3}]``."""
    budgets: tuple[Budget, ...] = ()
    """Budgets of tenants per period; empty means no limit. Example: ``[{tenant: research, limit: 50000 USD}]``."""
    data: tuple[DataSet, ...] = ()
    """Data sets that jobs may list in ``place.data``; empty means none. Example: ``[{name: tokens, size: 40 TB, at:
    [pod1/scratch]}]``."""

    @model_validator(mode="after")
    def _check_unique_members(self) -> FleetSpec:
        specs = [member.spec for member in self.clusters]
        problems = [
            LocatedProblem(
                ("clusters", index, "spec"),
                ("clusters", specs.index(spec), "spec"),
                f"duplicate spec {spec!r}, first in clusters[{specs.index(spec)}]",
                "remove one of them, or set another spec",
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
            raise DuplicateNameError(f"tenants: duplicate name {twice!r}")
        return self
