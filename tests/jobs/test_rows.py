"""why-not has a row with a reason and a suggestion for whatever a job may insist on, and the suggestion works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from supercloud.jobs.fleet.state import Cluster, Fleet, NodeState
from supercloud.jobs.placement.place import Placement, Refusal, why_not
from supercloud.plan.resolve import resolve
from supercloud.spec import FleetSpec, JobSpec
from supercloud.spec.loader import loads

Make = Callable[..., JobSpec]
NOW = 1_000_000.0
SPEC = """
name: pod
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools:
  - {name: whole, machine: dgx-h100, nodes: 2}
  - {name: mig, machine: dgx-h100, nodes: 2, slicing: {mig: {3g.40gb: 1, 1g.10gb: 2}}}
  - {name: shared, machine: dgx-a100, nodes: 2, slicing: {shards: 4}}
"""


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    """Pool ``whole`` is in use for another five hours, at 90 USD an hour."""
    plan = resolve(loads(SPEC))
    spec = FleetSpec.model_validate(
        {"name": "f", "clusters": [{"spec": "pod.yaml", "prices": {"whole": "90 USD/h", "shared": "30 USD/h"}}]}
    )
    nodes = [
        NodeState(host, "up", 8 if pool.name == "whole" else 0, NOW + 5 * 3600)
        for pool in plan.pools
        for host in pool.hosts
    ]
    return Fleet(spec, (Cluster.from_plan(plan, spec.clusters[0]).with_observations(nodes, NOW),))


@pytest.mark.parametrize(
    "pool, fields, reason, suggestion, better",
    [
        (
            "whole",
            {"deadline": "6 h", "time_limit": "2 h"},
            "could start in 5.0 h and would end after its deadline of 6 h",
            "set deadline to at least 8 h",
            {"deadline": "8 h", "time_limit": "2 h"},
        ),
        ("whole", {"deadline": "4 h"}, "after its deadline of 4 h", "at least 6 h", {"deadline": "6 h"}),
        (
            "whole",
            {"deadline": "5.5 h", "time_limit": "45 min"},
            "after its deadline",
            "at least 6 h",
            {"deadline": "6 h"},
        ),
        (
            "whole",
            {"place": {"max_price": "89.99 USD/h"}},
            "a node costs 90.00 USD/h",
            "set place.max_price to 90.00 USD/h",
            {"place": {"max_price": "90 USD/h"}},
        ),
        (
            "shared",
            {"place": {"max_price": "1 USD/h"}},
            "a node costs 30.00 USD/h",
            "30.00 USD/h",
            {"place": {"max_price": "30 USD/h"}},
        ),
        (
            "shared",
            {"budget": "10 USD", "time_limit": "1 h"},
            "would cost 30.00 USD",
            "set budget to 30.00 USD",
            {"budget": "30 USD", "time_limit": "1 h"},
        ),
        (
            "whole",
            {"accelerators": {"count": 1, "fraction": 0.5}},
            "are not sliced",
            "request whole accelerators",
            {"accelerators": {"count": 1}},
        ),
        (
            "mig",
            {"accelerators": {"count": 1, "fraction": 0.9}},
            "none of its instances (1g.10gb, 3g.40gb) is 0.9",
            "accelerators.profile: 3g.40gb",
            {"accelerators": {"count": 1, "profile": "3g.40gb"}},
        ),
        (
            "shared",
            {"accelerators": {"count": 65, "fraction": 0.25}},
            "the pool has 2",
            "at most 64 accelerators",
            {"accelerators": {"count": 64, "fraction": 0.25}},
        ),
        (
            "whole",
            {"accelerators": {"count": 1, "profile": "3g.40gb"}},
            "are not sliced",
            "request whole accelerators",
            {"accelerators": {"count": 8}},
        ),
        (
            "mig",
            {"accelerators": {"count": 1, "profile": "2g.20gb"}},
            "partitioned into 1g.10gb, 3g.40gb, not 2g.20gb",
            "accelerators.profile: 3g.40gb",
            {"accelerators": {"count": 1, "profile": "3g.40gb"}},
        ),
        (
            "shared",
            {"accelerators": {"count": 1, "profile": "1g.10gb"}},
            "shared in 4 shards, not partitioned into MIG instances",
            "accelerators.fraction: 0.25",
            {"accelerators": {"count": 1, "fraction": 0.25}},
        ),
    ],
)
def test_every_pool_has_a_row_with_a_suggestion_that_works(
    job: Make, fleet: Fleet, pool: str, fields: dict[str, Any], reason: str, suggestion: str, better: dict[str, Any]
) -> None:
    base = {"accelerators": {"count": 8}}
    answer = why_not(job(**{**base, **fields}), fleet, now=NOW)[f"pod/{pool}"]
    assert isinstance(answer, Refusal) and reason in answer.reason and suggestion in answer.suggestion
    assert isinstance(why_not(job(**{**base, **better}), fleet, now=NOW)[f"pod/{pool}"], Placement)
