"""Fleets of small clusters on fake engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from supercloud.jobs.fleet.state import Cluster, Fleet
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection, FleetMember, FleetSpec
from supercloud.spec.loader import loads

CLUSTER = """
name: {name}
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "22.05"}}
pools: [{{name: train, machine: dgx-h100, nodes: {nodes}}}]
tenants: [{{name: llm, share: 75}}, {{name: vision, share: 25}}]
"""


def build_cluster(name: str, nodes: int, price: float | None = None, engine: str = "fake") -> Cluster:
    """So many DGX H100."""
    plan = resolve(loads(CLUSTER.format(name=name, nodes=nodes)))
    assert not plan.errors, plan.errors
    fields: dict[str, Any] = {"spec": f"{name}.yaml", "connect": Connection(engine=engine, context=name)}
    if price is not None:
        fields["prices"] = {"train": f"{price} USD/h"}
    return Cluster.from_plan(plan, FleetMember.model_validate(fields))


def build_fleet(sizes: Mapping[str, int], prices: Mapping[str, float] | None = None, **fields: Any) -> Fleet:
    """Clusters of these sizes."""
    clusters = tuple(build_cluster(name, nodes, (prices or {}).get(name)) for name, nodes in sizes.items())
    spec = FleetSpec.model_validate({"name": "fleet", "clusters": [one.member for one in clusters]} | fields)
    return Fleet(spec, clusters)


def build_job(nodes: int = 1, states: Sequence[str] = ("RUNNING",), **fields: Any) -> JobSpec:
    """A job of whole nodes that goes through these states."""
    return JobSpec.model_validate(
        {"name": "job", "command": ["fake", *states], "accelerators": {"count": 8 * nodes}} | fields
    )
