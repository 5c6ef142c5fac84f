from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from supercloud.catalog import Catalog
from supercloud.jobs.placement.place import Placement, Refusal, why_not
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.loader import loads

CATALOG = Catalog.load_default()
PLAN = resolve(
    loads("""
name: sliced
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools:
  - {name: whole, machine: dgx-h100, nodes: 2}
  - {name: mig, machine: dgx-h100, nodes: 2, slicing: {mig: {3g.40gb: 1, 2g.20gb: 2}}}
  - {name: half, machine: dgx-h100, nodes: 2, slicing: {mig: {1g.10gb: 7}, accelerators: 4}}
  - {name: shared, machine: dgx-a100, nodes: 2, slicing: {shards: 4}}
  - {name: cpu, machine: cpu-6740e, nodes: 1}
""")
)


@pytest.mark.parametrize(
    "pool, accelerators, kind, gres, per_node, nodes",
    [
        ("whole", {"count": 8}, "", "h100", 8, 1),
        ("half", {"count": 4}, "", "h100", 4, 1),
        ("half", {"count": 7, "profile": "1g.10gb"}, "mig", "1g.10gb", 7, 1),
        ("half", {"count": 56, "profile": "1g.10gb"}, "mig", "1g.10gb", 28, 2),
        ("mig", {"count": 1, "fraction": 0.25}, "mig", "2g.20gb", 1, 1),
        ("mig", {"count": 1, "fraction": 0.5}, "mig", "3g.40gb", 1, 1),
        ("shared", {"count": 1, "fraction": 0.5}, "shard", "shard", 2, 1),
        ("shared", {"count": 16, "fraction": 0.3}, "shard", "shard", 32, 1),
        ("shared", {"count": 8}, "", "a100", 8, 1),
        ("whole", {"count": 8, "fraction": 1.0}, "", "h100", 8, 1),
    ],
)
def test_slices_of_accelerators_are_placed(
    job: Callable[..., JobSpec],
    pool: str,
    accelerators: dict[str, Any],
    kind: str,
    gres: str,
    per_node: int,
    nodes: int,
) -> None:
    at = why_not(job(accelerators=accelerators), PLAN, CATALOG)[pool]
    assert isinstance(at, Placement), at
    assert isinstance(at.request, SlurmRequest)
    assert (at.slice, at.request.gres, at.accelerators_per_node, at.nodes) == (kind, gres, per_node, nodes)


@pytest.mark.parametrize(
    "pool, accelerators, reason, suggestion",
    [
        ("mig", {"count": 1}, "all of its accelerators are partitioned", "accelerators.profile: 2g.20gb"),
        (
            "mig",
            {"count": 1, "profile": "1g.10gb"},
            "partitioned into 2g.20gb, 3g.40gb, not 1g.10gb",
            "profile: 2g.20gb",
        ),
        ("half", {"count": 1, "fraction": 0.5}, "none of its instances", "profile: 1g.10gb"),
        ("half", {"count": 60, "profile": "1g.10gb"}, "are 3 nodes, the pool has 2", "at most 56"),
        ("half", {"count": 8}, "", ""),
        ("shared", {"count": 1, "profile": "1g.10gb"}, "shared in 4 shards", "fraction: 0.25"),
        ("whole", {"count": 1, "fraction": 0.5}, "are not sliced", "whole accelerators"),
        ("cpu", {"count": 1, "fraction": 0.5}, "it has no accelerators", "use a pool with accelerators"),
    ],
)
def test_unavailable_slices_are_refused(
    job: Callable[..., JobSpec], pool: str, accelerators: dict[str, Any], reason: str, suggestion: str
) -> None:
    answer = why_not(job(accelerators=accelerators), PLAN, CATALOG)[pool]
    if not reason:
        assert isinstance(answer, Placement) and answer.nodes == 2  # four whole ones are left on each
        return
    assert isinstance(answer, Refusal)
    assert reason in answer.reason and suggestion in answer.suggestion
