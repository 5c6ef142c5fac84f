"""The result of placement: where a job runs and its consequences, or why it does not fit a pool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .parallelism import Span
from .steps.locality import LocalityRequest
from .steps.pods import PodRequirements

__all__ = ["Placement", "Refusal"]


@dataclass(frozen=True)
class Placement:
    """Where a job runs, its shape, and what its engine has to request."""

    cluster: str
    pool: str
    nodes: int
    accelerators_per_node: int
    """Or MIG instances, or shards: the units of ``gres``."""
    node_accelerators: int = 0
    """The number on a whole node of the pool."""
    accelerator: str = ""
    gres: str = ""
    """The accelerator's type as Slurm names it."""
    visible_env: str = ""
    """Environment variable that limits a process to some accelerators."""
    near: LocalityRequest = LocalityRequest()
    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    """A feature that distinguishes the pool from others of its partition."""
    hosts: tuple[str, ...] = ()
    """Only if the job pins its nodes."""
    licenses: str = ""
    """Licences that it holds while it runs, in Slurm's notation: ``solver:2,mesher:1``."""
    slice: str = ""
    """``mig`` or ``shard`` if parts of accelerators are counted; ``gres`` is then the profile, or ``shard``."""
    domains: tuple[tuple[str, int], ...] = ()
    """Innermost domains and the nodes it would take from each, if there are several."""
    spans: tuple[Span, ...] = ()
    """How its communication groups are placed."""
    shape: tuple[int, ...] = ()
    """In a torus: nodes along each axis."""
    fits_now: bool = True
    """False: it waits until other jobs end."""
    wait: float | None = 0.0
    """Seconds until it could start, by the time limits of running jobs; None: unknown."""
    begin: float = 0.0
    """Seconds after submission at which it should start: delayed for a lower carbon intensity."""
    price: float | None = None
    """USD per hour."""
    egress: float = 0.0
    """USD for the transfer of its data."""
    moved: tuple[str, ...] = ()
    """Data sets that are transferred."""
    carbon: float | None = None
    """Grams of CO2e until its time limit, or in an hour if it has none."""
    memory: str = ""
    """Memory needed and available on the fullest accelerator, if the model is specified."""
    checkpoint_every: int = 0
    """Proposed seconds between checkpoints; 0: specified by the job, or not enough is known."""
    score: float = 0.0
    """The value it was selected by; lower is better."""
    pods: PodRequirements | None = None
    """Set only on Kubernetes."""

    @property
    def units(self) -> int:
        """The number that counts against its tenant's share: accelerators, or nodes if it has none."""
        return self.nodes * max(1, self.accelerators_per_node)

    @property
    def takes_whole_nodes(self) -> bool:
        """Whether it takes every accelerator of its nodes."""
        return self.accelerators_per_node > 0 and self.accelerators_per_node == self.node_accelerators

    def __str__(self) -> str:
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes} nodes"
        each = " each" if self.nodes > 1 else ""
        what = f", {self.accelerators_per_node} × {self.accelerator}{each}" if self.accelerators_per_node else ""
        within = f", within one {self.near.level}" if self.near.level and self.nodes > 1 else ""
        return f"{nodes} of pool {self.pool}{what}{within}"

    def to_json(self) -> str:
        """Serialize for :meth:`from_json`; fields with default values are omitted."""
        said = {field.name: value for field in fields(self) if (value := getattr(self, field.name)) != field.default}
        if "near" in said:
            said["near"] = vars(self.near)
        if "spans" in said:
            said["spans"] = [vars(span) for span in self.spans]
        if self.pods:
            said["pods"] = self.pods.to_json()
        return json.dumps(said)

    @classmethod
    def from_json(cls, text: str) -> Placement:
        """Read the output of :meth:`to_json` of this or another version."""
        data: dict[str, Any] = json.loads(text)
        known = {field.name: field for field in fields(cls)}
        for name in [name for name in data if name not in known]:
            del data[name]  # written by a later version: its meaning is unknown here
        for name in ("hosts", "shape", "moved"):
            data[name] = tuple(data.get(name, ()))
        data["domains"] = tuple((name, nodes) for name, nodes in data.get("domains", ()))
        data["spans"] = tuple(Span(**span) for span in data.get("spans", ()))
        data["near"] = LocalityRequest(**data.get("near", {}))
        data["pods"] = PodRequirements.from_json(data["pods"]) if data.get("pods") else None
        return cls(**data)


@dataclass(frozen=True)
class Refusal:
    """Why a job does not fit a pool, and the smallest change that makes it fit."""

    pool: str
    reason: str
    remedy: str
    cluster: str = ""
    """Set if there are several pools."""
    change: Mapping[str, object] = field(default_factory=dict)
    """The fix for programs: fields of the job by their paths (``accelerators.count``) and their new values, null to
    omit a field. With all of them set the job fits the pool; empty if no change of the job is enough."""

    def __str__(self) -> str:
        pool = f"{self.cluster}/{self.pool}" if self.cluster else self.pool
        return f"{pool}: {self.reason}; {self.remedy}" if self.remedy else f"{pool}: {self.reason}"
