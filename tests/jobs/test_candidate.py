"""Any job on any state of a cluster: an answer for every pool, and suggestions that help."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from supercloud.catalog import Catalog
from supercloud.errors import SpecError
from supercloud.jobs.fleet.state import Cluster, NodeState, WaitingJobs
from supercloud.jobs.placement.place import Placement, place, why_not
from supercloud.jobs.placement.suggestions import apply_change
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec

pytestmark = pytest.mark.slow

CATALOG = Catalog.load_default()
SMALL = st.sampled_from([1, 2, 3, 4, 8, 16])
ACCELERATORS = st.fixed_dictionaries(
    {"count": st.sampled_from([0, 1, 3, 7, 8, 12, 64, 256, 264, 992, 1000])},
    optional={
        "type": st.sampled_from(["h100", ">=a100", ["b200", "h100"], "a100", "x100"]),
        "memory": st.sampled_from(["40 GiB", "80 GiB", "100 GiB"]),
        "fraction": st.sampled_from([0.1, 0.5, 1.0]),
        "profile": st.sampled_from(["1g.10gb", "9g.99gb"]),
    },
)
JOB = st.fixed_dictionaries(
    {"accelerators": ACCELERATORS},
    optional={
        "nodes": st.sampled_from([1, 2, 4, 130]),
        "parallelism": st.fixed_dictionaries(
            {}, optional=dict.fromkeys(("tensor", "pipeline", "data", "context", "expert"), SMALL)
        ),
        "model": st.fixed_dictionaries(
            {"parameters": st.sampled_from([1e9, 7e10, 1e12])},
            optional={
                "layers": st.just(80),
                "hidden": st.just(8192),
                "sequence": st.just(8192),
                "heads": st.just(64),
                "shard": st.sampled_from(["nothing", "weights"]),
                "recompute": st.sampled_from(["nothing", "full"]),
            },
        ),
        "time_limit": st.sampled_from(["1 h", "30 h", "8 d"]),
        "deadline": st.sampled_from(["2 h", "40 h"]),
        "tenant": st.sampled_from(["llm", "vision", "none"]),
        "priority": st.sampled_from(["low", "high"]),
        "budget": st.sampled_from(["1 USD", "1000000 USD"]),
        "checkpoint": st.sampled_from([{"path": "/scratch/x"}, {"path": "/y", "size": "1 TB", "write": "0 s"}]),
        "place": st.fixed_dictionaries(
            {},
            optional={
                "near": st.sampled_from(["any", "scale-up", "leaf", "pod", "fabric"]),
                "nodes": st.sampled_from([["train-0001"], ["train-[0001-0008]"]]),
                "pools": st.sampled_from([["train"], ["old", "cpu"]]),
                "data": st.sampled_from([["scratch"], ["elsewhere"]]),
                "regions": st.sampled_from([["stockholm"], ["moon"]]),
                "carbon": st.just("prefer-low"),
            },
        ),
    },
)


def build_job_fields(**ways: int) -> dict[str, Any]:
    return {"accelerators": {"count": 0}, "parallelism": ways}


@pytest.mark.exhaustive
@settings(max_examples=400, deadline=None)
@example(
    fields=build_job_fields(expert=16, data=16, context=3), seed=0, queued=0
)  # 10 replicas of 3 hold no 16 experts
@example(fields=build_job_fields(expert=3, data=3, context=16), seed=0, queued=0)
@example(fields=build_job_fields(context=64), seed=0, queued=0)  # one replica is more than the smallest pool
@example(fields=build_job_fields(tensor=5, context=27, expert=9), seed=0, queued=0)
@given(fields=JOB, seed=st.integers(0, 50), queued=st.sampled_from([0, 0, 3]))
def test_every_pool_has_an_answer(plan: Plan, fields: dict[str, Any], seed: int, queued: int) -> None:
    try:
        job = JobSpec.model_validate({"name": "j", "command": ["x"]} | fields)
    except SpecError:
        return
    dice = random.Random(seed)
    where = Cluster.from_plan(plan)
    if seed:
        where = where.with_observations(
            [
                NodeState(
                    host, dice.choice(["up"] * 9 + ["down"]), dice.choice([0, 0, 0, 4, 8]), dice.choice([None, 9e2])
                )
                for pool in plan.pools
                for host in pool.hosts
            ],
            100.0,
            [WaitingJobs("batch", queued)],
        )
    answers = why_not(job, where, CATALOG)
    assert list(answers) == ["old", "train", "cpu"] and answers == why_not(job, where, CATALOG)
    chosen = place(job, where, CATALOG)
    if isinstance(chosen, tuple):
        assert chosen == tuple(answers.values())
    else:
        assert isinstance(answers[chosen.pool], Placement)
    for name, answer in answers.items():
        if isinstance(answer, Placement):
            assert Placement.from_json(answer.to_json()) == answer
            assert sum(count for _, count in answer.domains) in (0, answer.nodes)
            assert answer.fits_now or answer.wait is None or answer.wait > 0
            assert job.accelerators.fraction or answer.nodes * answer.accelerators_per_node == job.accelerator_count
            continue
        assert answer.reason and answer.suggestion, answer
        if answer.change:
            assert isinstance(why_not(apply_change(job, answer.change), where, CATALOG)[name], Placement), answer
