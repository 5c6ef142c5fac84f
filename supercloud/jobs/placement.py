"""Where a job goes: a pure decision over a plan, with a reason for every pool that cannot have it.

``why_not`` asks every pool; ``place`` takes the best that said yes. Feasibility is a list of small steps in ``_fit``,
from what is hardest to change to what is easiest; the first that fails is the binding reason.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..catalog import Catalog
from ..catalog.reader import OVERLAY_VARIABLE
from ..plan.model import Plan, PoolPlan
from ..spec import JobSpec
from .feasibility import Refused, limits, pinned, shape, tenant
from .matching import match
from .nearness import Nearness, nearness
from .partitions import choose

__all__ = ["Placement", "Refusal", "place", "why_not"]


@dataclass(frozen=True)
class Placement:
    """Where a job goes, in what shape, and what its engine has to ask for."""

    cluster: str
    pool: str
    nodes: int
    accelerators_per_node: int
    node_accelerators: int = 0
    """What a whole node of the pool has."""
    accelerator: str = ""
    gres: str = ""
    """The accelerator's type as Slurm knows it."""
    visible_env: str = ""
    """Variable that limits a process to some accelerators."""
    near: Nearness = Nearness()
    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    """A feature that tells the pool from others of its partition."""
    hosts: tuple[str, ...] = ()
    """Only where the job pins its nodes."""

    @property
    def whole_nodes(self) -> bool:
        """Whether it takes every accelerator of its nodes."""
        return self.accelerators_per_node > 0 and self.accelerators_per_node == self.node_accelerators

    def __str__(self) -> str:
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes} nodes"
        each = " each" if self.nodes > 1 else ""
        what = f", {self.accelerators_per_node} × {self.accelerator}{each}" if self.accelerators_per_node else ""
        within = f", within one {self.near.level}" if self.near.level and self.nodes > 1 else ""
        return f"{nodes} of pool {self.pool}{what}{within}"

    def to_json(self) -> str:
        """As text that :meth:`of_json` reads."""
        return json.dumps(vars(self) | {"near": vars(self.near)})

    @classmethod
    def of_json(cls, text: str) -> Placement:
        """What :meth:`to_json` wrote."""
        data = json.loads(text)
        return cls(**data | {"near": Nearness(**data["near"]), "hosts": tuple(data["hosts"])})


@dataclass(frozen=True)
class Refusal:
    """Why a pool cannot have a job, and the smallest change that would help."""

    pool: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.pool}: {self.reason}; {self.remedy}" if self.remedy else f"{self.pool}: {self.reason}"


def place(job: JobSpec, plan: Plan, catalog: Catalog | None = None) -> Placement | tuple[Refusal, ...]:
    """The best placement, or the reason of every pool.

    Best is: the accelerator named first; the one nearest to what was asked for (a job that is content with less leaves
    the better one free); the fewest nodes; the fewest accelerators left idle on them; the pool declared first.
    """
    catalog = catalog or _catalog(os.environ.get(OVERLAY_VARIABLE, ""))
    best: tuple[tuple[int, ...], Placement] | None = None
    refusals = []
    for order, pool in enumerate(plan.pools):
        try:
            rank, found = _fit(job, plan, pool, catalog)
        except Refused as refused:
            refusals.append(Refusal(pool.name, refused.reason, refused.remedy))
            continue
        if best is None or (*rank, order) < best[0]:
            best = (*rank, order), found
    return best[1] if best else tuple(refusals)


def why_not(job: JobSpec, plan: Plan, catalog: Catalog | None = None) -> Mapping[str, Placement | Refusal]:
    """For every pool how the job would lie in it, or what forbids it."""
    catalog = catalog or _catalog(os.environ.get(OVERLAY_VARIABLE, ""))
    answers: dict[str, Placement | Refusal] = {}
    for pool in plan.pools:
        try:
            answers[pool.name] = _fit(job, plan, pool, catalog)[1]
        except Refused as refused:
            answers[pool.name] = Refusal(pool.name, refused.reason, refused.remedy)
    return answers


@lru_cache(maxsize=4)
def _catalog(overlay: str) -> Catalog:  # reads each accelerator once, however many jobs are placed
    return Catalog.default()


def _fit(job: JobSpec, plan: Plan, pool: PoolPlan, catalog: Catalog) -> tuple[tuple[int, ...], Placement]:
    """How the job lies in one pool, with its rank (lower is better); raises :class:`Refused`."""
    wanted, distance = match(job, plan, pool, catalog)
    nodes, per_node, group_nodes = shape(job, pool)
    tenant(job, plan, nodes)
    limits(job, plan)
    partition = choose(job, plan, pool, nodes)
    near = nearness(job, plan, pool, nodes, group_nodes, partition)
    hosts = pinned(job, pool, nodes)
    accelerator = pool.accelerator if per_node else None
    accounting = plan.scheduler.database is not None
    found = Placement(
        cluster=plan.name,
        pool=pool.name,
        nodes=nodes,
        accelerators_per_node=per_node,
        node_accelerators=pool.per_node,
        accelerator=accelerator.name if accelerator else "",
        gres=accelerator.gres or "" if accelerator else "",
        visible_env=accelerator.visible_env or "" if accelerator else "",
        near=near,
        partition=partition.name if partition else "",
        account=job.tenant or "" if accounting else "",
        qos=job.priority if accounting else "",
        constraint=_constraint(plan, pool, partition.pools if partition else ()),
        hosts=hosts,
    )
    idle = nodes * (pool.per_node - per_node)
    return (wanted, distance, nodes, idle), found


def _constraint(plan: Plan, pool: PoolPlan, together: tuple[str, ...]) -> str:
    """A feature no other pool of the partition has; nothing where the partition is the pool."""
    others = {feature for other in plan.pools if other.name in together and other is not pool
              for feature in other.features}  # fmt: skip
    alone = [feature for feature in pool.features if feature not in others]
    if len(together) < 2 or not alone:
        return ""
    return pool.name if pool.name in alone else alone[0]
