"""The result of placement: where a job runs and its consequences, or why it does not fit a pool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from .parallelism import Span
from .requests.kubernetes import KubernetesRequest
from .requests.slurm import SlurmRequest
from .steps.locality import LocalityRequest

__all__ = ["Placement", "Refusal", "SchedulerRequest"]

SchedulerRequest = SlurmRequest | KubernetesRequest


@dataclass(frozen=True)
class Placement:
    """Where a job runs, its shape and its consequences, and what is requested of the scheduler there."""

    cluster: str
    pool: str
    nodes: int
    accelerators_per_node: int
    """Or MIG instances, or shards: see ``slice``."""
    node_accelerators: int = 0
    """The number on a whole node of the pool."""
    accelerator: str = ""
    visible_env: str = ""
    """Environment variable that limits a process to some accelerators."""
    slice: str = ""
    """``mig`` or ``shard`` if parts of accelerators are counted."""
    locality: LocalityRequest = LocalityRequest()
    hosts: tuple[str, ...] = ()
    """Only if the job pins its nodes."""
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
    accelerator_carbon: float | None = None
    """The same of the accelerators alone, if the power of the nodes is unknown; it is not compared."""
    memory: str = ""
    """Memory needed and available on the fullest accelerator, if the model is specified."""
    checkpoint_every: int = 0
    """Proposed seconds between checkpoints; 0: specified by the job, or not enough is known."""
    score: float = 0.0
    """The value it was selected by; lower is better."""
    request: SchedulerRequest | None = None
    """What is requested of the cluster's scheduler, in its words; engines of other schedulers do not read it."""

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
        within = f", within one {self.locality.level}" if self.locality.level and self.nodes > 1 else ""
        return f"{nodes} of pool {self.pool}{what}{within}"

    def to_json(self) -> str:
        """Serialize for :meth:`from_json`; fields with default values are omitted."""
        changed = {item.name for item in fields(self) if getattr(self, item.name) != item.default}
        return json.dumps({name: value for name, value in asdict(self).items() if name in changed})

    @classmethod
    def from_json(cls, text: str) -> Placement:
        """Read the output of :meth:`to_json` of this or another version.

        Args:
            text: The output.
        """
        data: dict[str, Any] = _rename_former_fields(json.loads(text))
        known = {item.name for item in fields(cls)}
        for name in [name for name in data if name not in known]:
            del data[name]  # written by a later version: its meaning is unknown here
        for name in ("hosts", "shape", "moved"):
            data[name] = tuple(data.get(name, ()))
        data["domains"] = tuple((name, nodes) for name, nodes in data.get("domains", ()))
        data["spans"] = tuple(Span(**span) for span in data.get("spans", ()))
        data["locality"] = LocalityRequest(**data.get("locality", {}))
        data["request"] = _parse_request(data.get("request") or {})
        return cls(**data)


def _parse_request(data: Mapping[str, Any]) -> SchedulerRequest | None:
    """The request by its kind; None for a kind that a later version has written."""
    kinds: Mapping[str, type[SlurmRequest] | type[KubernetesRequest]] = {
        "slurm": SlurmRequest,
        "kubernetes": KubernetesRequest,
    }
    kind = kinds.get(data.get("kind", ""))
    return kind.from_json(data) if kind else None


def _rename_former_fields(data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a placement that a version without ``request`` has written: what is requested of Slurm was among
    the fields of the placement, and what is requested of Kubernetes in ``pods``.
    """
    if "near" in data:
        data["locality"] = data.pop("near")
    if "pods" in data:
        data["request"] = {**data["pods"], "kind": "kubernetes"}
    elif "request" not in data:
        slurm = {item.name: data[item.name] for item in fields(SlurmRequest) if item.init and item.name in data}
        data["request"] = {**slurm, "kind": "slurm"} if slurm else None
    return data


@dataclass(frozen=True)
class Refusal:
    """Why a job does not fit a pool, and the smallest change that makes it fit."""

    pool: str
    reason: str
    suggestion: str
    cluster: str = ""
    """Set if there are several pools."""
    change: Mapping[str, object] = field(default_factory=dict)
    """The fix for programs: fields of the job by their paths (``accelerators.count``) and their new values, null to
    omit a field. With all of them set the job fits the pool; empty if no change of the job is enough."""

    def __str__(self) -> str:
        pool = f"{self.cluster}/{self.pool}" if self.cluster else self.pool
        return f"{pool}: {self.reason}; {self.suggestion}" if self.suggestion else f"{pool}: {self.reason}"
