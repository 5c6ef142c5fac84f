"""The answer of placement: where a job goes and what that means, or why a pool cannot have it."""

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
    """Where a job goes, in what shape, and what its engine has to ask for."""

    cluster: str
    pool: str
    nodes: int
    accelerators_per_node: int
    """Or MIG instances, or shards: whatever ``gres`` names."""
    node_accelerators: int = 0
    """What a whole node of the pool has."""
    accelerator: str = ""
    gres: str = ""
    """The accelerator's type as Slurm knows it."""
    visible_env: str = ""
    """Variable that limits a process to some accelerators."""
    near: LocalityRequest = LocalityRequest()
    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    """A feature that tells the pool from others of its partition."""
    hosts: tuple[str, ...] = ()
    """Only where the job pins its nodes."""
    licenses: str = ""
    """What it holds while it runs, as Slurm writes it: ``solver:2,mesher:1``."""
    slice: str = ""
    """``mig`` or ``shard`` where parts of accelerators are counted; ``gres`` then is the profile, or ``shard``."""
    domains: tuple[tuple[str, int], ...] = ()
    """Innermost domains and the nodes it would take from each, where it takes from several."""
    spans: tuple[Span, ...] = ()
    """How its communication groups lie."""
    shape: tuple[int, ...] = ()
    """In a torus: nodes along each axis."""
    fits_now: bool = True
    """False: it waits until others end."""
    wait: float | None = 0.0
    """Seconds until it could start, as far as time limits say; None: nobody knows."""
    begin: float = 0.0
    """Seconds after submission at which it should begin: later than it could, for cleaner energy."""
    price: float | None = None
    """USD per hour."""
    egress: float = 0.0
    """USD for the data that is moved to it."""
    moved: tuple[str, ...] = ()
    """Data sets that are."""
    carbon: float | None = None
    """Grams of CO2e until its time limit, or in an hour where it has none."""
    memory: str = ""
    """What the fullest accelerator needs and has, where the model is said."""
    checkpoint_every: int = 0
    """Seconds between checkpoints, proposed; 0: the job says so itself, or too little is known."""
    score: float = 0.0
    """What it was chosen by; lower is better."""
    pods: PodRequirements | None = None
    """Only on Kubernetes."""

    @property
    def units(self) -> int:
        """What it counts in its tenant's share: accelerators, or nodes where it has none."""
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
        """As text that :meth:`from_json` reads; what was not decided otherwise is left out."""
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
        """What :meth:`to_json` wrote, in this version or an earlier one."""
        data: dict[str, Any] = json.loads(text)
        known = {field.name: field for field in fields(cls)}
        for name in [name for name in data if name not in known]:
            del data[name]  # written by a later version: what it means is not known here
        for name in ("hosts", "shape", "moved"):
            data[name] = tuple(data.get(name, ()))
        data["domains"] = tuple((name, nodes) for name, nodes in data.get("domains", ()))
        data["spans"] = tuple(Span(**span) for span in data.get("spans", ()))
        data["near"] = LocalityRequest(**data.get("near", {}))
        data["pods"] = PodRequirements.from_json(data["pods"]) if data.get("pods") else None
        return cls(**data)


@dataclass(frozen=True)
class Refusal:
    """Why a pool cannot have a job, and the smallest change with which it could."""

    pool: str
    reason: str
    remedy: str
    cluster: str = ""
    """Said where there are several."""
    change: Mapping[str, object] = field(default_factory=dict)
    """The remedy for programs: fields of the job by their paths (``accelerators.count``) and what to set them to, null
    to leave them out. With all of them set the pool has it; empty where no change of the job is enough."""

    def __str__(self) -> str:
        pool = f"{self.cluster}/{self.pool}" if self.cluster else self.pool
        return f"{pool}: {self.reason}; {self.remedy}" if self.remedy else f"{pool}: {self.reason}"
