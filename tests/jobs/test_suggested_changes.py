"""Why-not suggests changes that make a job fit: on random jobs for fleets in any state."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supercloud.catalog import Catalog
from supercloud.errors import SpecError
from supercloud.jobs.fleet.state import Cluster, Fleet, NodeState
from supercloud.jobs.placement.place import Placement, Refusal, place, why_not
from supercloud.jobs.placement.suggestions import apply_change
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import FleetSpec, JobSpec
from supercloud.spec.fleet import FleetMember
from supercloud.spec.loader import loads

CATALOG = Catalog.load_default()
ONPREM = "site: {kind: onprem, location: stockholm}\n"
PLANS = [
    resolve(loads(text))
    for text in (
        f"""
name: trees
{ONPREM}
scheduler:
  kind: slurm
  version: "25.11"
  options: {{Licenses: "solver:3"}}
  partitions:
    - {{name: batch, pools: [train, old], default: true, max_time: 2 d}}
    - {{name: small, pools: [train], max_nodes: 3, max_time: 8 h}}
pools:
  - {{name: train, machine: dgx-h100, nodes: 40, spares: 1, fabrics: [compute]}}
  - {{name: old, machine: dgx-a100, nodes: 6}}
fabrics: [{{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700, su: 8}}]
tenants:
  - {{name: llm, share: 70, priority: high, limits: {{accelerators: 100, max_time: 1 d}}}}
  - {{name: vision, share: 30, priority: low, limits: {{nodes: 5, max_time: 90 min}}}}
""",
        f"""
name: sliced
{ONPREM}
scheduler: {{kind: kubernetes, version: "1.36"}}
pools:
  - {{name: nvl, machine: dgx-gb200, nodes: 36, fabrics: [compute]}}
  - {{name: dev, machine: dgx-h100, nodes: 4, slicing: {{mig: {{1g.10gb: 3, 2g.20gb: 2}}, accelerators: 4}}}}
  - {{name: shards, machine: dgx-a100, nodes: 3, slicing: {{shards: 7}}}}
fabrics: [{{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-q3400-ra}}]
storage: [{{name: scratch, kind: lustre, capacity: 1 PiB, tier: better, mount: /scratch}}]
tenants: [{{name: llm, share: 70, priority: high, limits: {{accelerators: 97}}}}]
""",
        f"""
name: mixed
{ONPREM}
scheduler: {{kind: slurm, version: "25.11"}}
pools:
  - {{name: nvl, machine: dgx-gb300, nodes: 33}}
  - {{name: amd, machine: mi300x-8gpu, nodes: 7}}
  - {{name: tiny, machine: cpu-6740e, nodes: 3}}
""",
    )
]


def build_cluster(plan: Plan, dice: random.Random) -> Cluster:
    """As planned, or with broken and busy nodes; with or without prices."""
    prices: dict[str, Any] = {pool.name: f"{dice.choice([9.87654, 20, 50])} USD/h" for pool in plan.pools}
    member = FleetMember(spec="-", prices=prices) if dice.random() < 0.5 else FleetMember(spec="-")
    where = Cluster.from_plan(plan, member)
    if dice.random() < 0.3:
        return where
    nodes = []
    for pool in plan.pools:
        broken = dice.choice([0.0, 0.1, 0.5, 0.95])
        for host in pool.hosts:
            there = "down" if dice.random() < broken else "up"
            nodes.append(NodeState(host, there, dice.choice([0, 0, pool.accelerators_per_node]), 5000.0))
    return where.with_observations(nodes, 0.0)


def draw_job(dice: random.Random) -> dict[str, Any]:
    """Any job, most of them ones that do not fit."""
    job: dict[str, Any] = {"name": "j", "command": ["x"]}
    counts = [1, 7, 8, 9, 13, 16, 17, 31, 33, 64, 100, 127, 128, 130, 144, 200, 288, 320, 1000]
    kind = dice.choice(["count", "count", "nodes", "parallel", "parallel", "none", "profile", "fraction"])
    accelerators: dict[str, Any] = {"count": dice.choice(counts)}
    if kind in ("nodes", "none"):
        job["nodes"] = dice.choice([1, 2, 3, 4, 8, 10, 16, 25, 40, 60])
    if kind == "parallel":
        job["parallelism"] = {
            "tensor": dice.choice([1, 2, 3, 4, 8, 12, 16, 32, 72]),
            "pipeline": dice.choice([1, 2, 3, 8]),
            "data": dice.choice([1, 2, 3, 5, 8, 16, 64]),
            "context": dice.choice([1, 1, 1, 2]),
        }
        accelerators["count"] = 0
    if kind in ("parallel", "count") and dice.random() < 0.3:
        job["model"] = {
            "parameters": dice.choice([7e9, 70e9, 405e9]),
            "layers": 80,
            "hidden": 8192,
            "heads": 64,
            "sequence": 8192,
            "micro_batch": dice.choice([1, 4]),
            "recompute": dice.choice(["nothing", "full"]),
        }
    if kind == "profile":
        accelerators["profile"] = dice.choice(["1g.10gb", "2g.20gb", "3g.40gb", "1g.5gb"])
    if kind == "fraction":
        accelerators["fraction"] = dice.choice([0.1, 0.25, 0.3, 0.5, 0.51, 1.0])
    if kind != "none":
        job["accelerators"] = accelerators
        if dice.random() < 0.3:
            accelerators["type"] = dice.choice(["h100", ">=h100", ">=a100", ["b200", "h100"], "gb200"])
        if dice.random() < 0.2:
            accelerators["memory"] = dice.choice(["40 GB", "100 GB", "200 GB"])
    some: dict[str, list[Any]] = {
        "tenant": ["llm", "vision"],
        "priority": ["low", "high"],
        "time_limit": ["10 min", "5 h", "1.5 d", "9 d"],
        "deadline": ["9 d"],
        "budget": ["10 USD", "1000 USD"],
        "licenses": [{"solver": 2}, {"solver": 5}],
    }
    place: dict[str, list[Any]] = {
        "near": ["any", "scale-up", "leaf", "pod", "fabric"],
        "pools": [["train"], ["nvl"]],
        "max_price": ["5 USD/h", "15 USD/h"],
        "nodes": [["train-[0001-0002]"], ["nvl-0001"]],
        "regions": [["moon"]],
    }
    job |= {field: dice.choice(values) for field, values in some.items() if dice.random() < 0.15}
    if where := {field: dice.choice(values) for field, values in place.items() if dice.random() < 0.1}:
        job["place"] = where
    return job


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_a_suggested_change_makes_the_job_fit(seed: int) -> None:
    dice = random.Random(seed)
    where = build_cluster(dice.choice(PLANS), dice)
    try:
        job = JobSpec.model_validate(draw_job(dice))
    except SpecError:
        return
    for pool, answer in why_not(job, where, CATALOG, now=0.0).items():
        if isinstance(answer, Placement):
            continue
        assert answer.reason and answer.suggestion, answer
        if answer.change:
            better = why_not(apply_change(job, answer.change), where, CATALOG, now=0.0)[pool]
            assert isinstance(better, Placement), (job, answer, better)
            other = re.search(r", or (set place\.near to ([\w-]+)|omit place.near)$", answer.suggestion)
            if other and "; then " not in answer.suggestion:  # by itself
                wider = why_not(apply_change(job, {"place.near": other[2]}), where, CATALOG, now=0.0)[pool]
                assert isinstance(wider, Placement), (job, answer, wider)


def place_refused_job(plan: Plan, pool: str, **fields: Any) -> Refusal:
    job = JobSpec.model_validate({"name": "j", "command": ["x"], "image": "a/b:1", **fields})
    answer = why_not(job, plan, CATALOG)[pool]
    assert isinstance(answer, Refusal), answer
    return answer


@pytest.mark.parametrize(
    "plan, pool, fields, change",
    [
        # as many as the tenant may have, not as many as the pool has
        (0, "train", {"accelerators": {"count": 1000}, "tenant": "llm"}, {"accelerators.count": 100}),
        # replicas go first: a count alone would not multiply out
        (0, "train", {"parallelism": {"tensor": 8, "pipeline": 4, "data": 16}}, {"parallelism.data": 9}),
        (
            0,
            "train",
            {"parallelism": {"tensor": 8, "pipeline": 4, "data": 16}, "tenant": "llm"},
            {"parallelism.data": 3},
        ),
        (0, "old", {"parallelism": {"tensor": 8, "pipeline": 16}}, {"parallelism.pipeline": 6}),
        # as many accelerators on fewer nodes, and nodes that do come out even
        (0, "old", {"accelerators": {"count": 16}, "nodes": 8}, {"nodes": 4}),
        (0, "train", {"accelerators": {"count": 9}, "nodes": 1}, {"nodes": 3}),
        (0, "train", {"accelerators": {"count": 1}, "nodes": 60}, {"nodes": 1}),
        (
            0,
            "train",
            {"accelerators": {"count": 300, "type": "b200"}, "tenant": "vision", "time_limit": "3 h"},
            {
                "accelerators.type": ["b200", "h100"],
                "accelerators.count": 40,
                "time_limit": "90 min",
                "priority": "low",
            },
        ),
        (
            1,
            "shards",
            {"accelerators": {"count": 1, "profile": "1g.10gb"}},
            {"accelerators.profile": None, "accelerators.fraction": 0.14},
        ),
    ],
)
def test_the_suggested_change_is_the_smallest(
    plan: int, pool: str, fields: dict[str, Any], change: dict[str, Any]
) -> None:
    assert place_refused_job(PLANS[plan], pool, **fields).change == change


@pytest.mark.parametrize(
    "count, near, is_enough",
    [
        (80, "leaf", True),  # ten nodes: more than a leaf has, fewer than the pool
        (1000, "leaf", False),  # more than the pool has, however far apart
        (16, "scale-up", True),
        (1000, "scale-up", False),
    ],
)
def test_a_wider_domain_is_suggested_only_if_it_is_enough(count: int, near: str, is_enough: bool) -> None:
    """For a pool that is too small "or set place.near to pod" was suggested as well, which was then refused."""
    refusal = place_refused_job(PLANS[0], "train", accelerators={"count": count}, place={"near": near})
    assert ("or set place.near to" in refusal.suggestion) == is_enough, refusal.suggestion


def test_one_more_than_suggested_does_not_fit() -> None:
    refusal = place_refused_job(PLANS[0], "train", accelerators={"count": 1000, "type": "h100"})
    assert refusal.change == {"accelerators.count": 312}
    place_refused_job(PLANS[0], "train", accelerators={"count": 313, "type": "h100"})


def test_a_refusal_that_no_change_fixes_follows_those_that_one_fixes() -> None:
    where = Cluster.from_plan(PLANS[0]).with_observations([], 0.0)  # nothing is in order
    job = JobSpec.model_validate({"name": "j", "command": ["x"], "accelerators": {"count": 9000, "type": "h100"}})
    refusal = why_not(job, where, CATALOG)["train"]
    assert isinstance(refusal, Refusal) and not refusal.change
    assert (
        "at most 312" in refusal.suggestion
        and "but then: the job needs 39 nodes, only 0 of 40 are healthy" in refusal.suggestion
    )


def test_a_fleet_is_reported_by_cluster() -> None:
    spec = FleetSpec.model_validate({"name": "f", "clusters": [{"spec": "a"}, {"spec": "b"}]})
    fleet = Fleet(spec, tuple(Cluster.from_plan(plan, FleetMember(spec="-"), CATALOG) for plan in PLANS[:2]))
    job = JobSpec.model_validate({"name": "j", "command": ["x"], "image": "a/b:1", "accelerators": {"count": 4000}})
    answers = why_not(job, fleet, now=0.0)
    assert {name: getattr(answer, "change", None) for name, answer in answers.items()} == {
        "trees/train": {"accelerators.count": 312},
        "trees/old": {"accelerators.count": 48},
        "sliced/nvl": {"accelerators.count": 144},
        "sliced/dev": {"accelerators.count": 16},
        "sliced/shards": {"accelerators.profile": None, "accelerators.fraction": 0.14, "accelerators.count": 3},
    }


@pytest.mark.parametrize(
    "spent, hours, change, waits",
    [
        (0.0, 30, {"time_limit": "1250 min"}, False),  # 240 USD/h against 5000 USD a day: no day has enough
        (4000.0, 10, {"time_limit": "250 min"}, True),
        (5000.0, 10, {}, True),
    ],
)
def test_a_budget_limits_the_suggested_size(spent: float, hours: int, change: dict[str, Any], waits: bool) -> None:
    budgets = [{"tenant": "llm", "per": "day", "limit": "5000 USD"}, {"tenant": "llm", "limit": "90000 USD"}]
    spec = FleetSpec.model_validate({"name": "f", "clusters": [{"spec": "a"}], "budgets": budgets})
    plan = resolve(
        loads(f"""
name: one
{ONPREM}
scheduler: {{kind: slurm, version: "25.11"}}
pools: [{{name: train, machine: dgx-h100, nodes: 8}}]
tenants: [{{name: llm}}]
""")
    )
    member = FleetMember.model_validate({"spec": "-", "prices": {"train": "30 USD/h"}})
    fleet = Fleet(spec, (Cluster.from_plan(plan, member, CATALOG),), {("llm", "day"): spent})
    job = JobSpec.model_validate(
        {"name": "j", "command": ["x"], "accelerators": {"count": 64}, "tenant": "llm", "time_limit": f"{hours} h"}
    )
    refusal = why_not(job, fleet, now=0.0)["one/train"]
    assert isinstance(refusal, Refusal) and refusal.change == change
    assert ("wait for the next day" in refusal.suggestion) == waits
    if change:
        assert isinstance(why_not(apply_change(job, change), fleet, now=0.0)["one/train"], Placement)


def test_without_suggestions_no_changes_are_tried() -> None:
    job = JobSpec.model_validate({"name": "j", "command": ["x"], "accelerators": {"count": 1000}, "tenant": "llm"})
    [train, *_] = [item for item in place(job, PLANS[0], CATALOG, with_suggestions=False) if isinstance(item, Refusal)]
    assert "the pool has 39" in train.reason and "at most 312" in train.suggestion and not train.change


def test_the_words_of_several_changes_are_their_end_state() -> None:
    """They were "use 112 accelerators: ...; then set ... 48 accelerators; then ...", unlike the fields."""
    model = {"parameters": "405B", "layers": 126, "hidden": 16384, "heads": 128, "sequence": 8192}
    refusal = place_refused_job(PLANS[2], "amd", parallelism={"tensor": 8, "data": 2}, model=model)
    assert refusal.change["accelerators.count"] == refusal.change["parallelism.pipeline"] * 8, refusal  # type: ignore[operator]
    assert "then" not in refusal.suggestion and "accelerators: " not in refusal.suggestion
    assert refusal.suggestion.count("accelerators") == 1 and "parallelism.tensor" not in refusal.suggestion, "as it was"
    for path in ("accelerators.count", "parallelism.pipeline", "parallelism.data", "model.recompute"):
        assert f"{path} to {refusal.change[path]}" in refusal.suggestion, refusal


def test_changes_of_different_subjects_keep_their_words() -> None:
    fields = {"accelerators": {"count": 300, "type": "b200"}, "time_limit": "9 d"}
    words = place_refused_job(PLANS[0], "old", **fields).suggestion
    assert words.count("; then ") == 2 and words.startswith("add a100"), words


@pytest.mark.parametrize(
    "change",
    [
        {"parallelism.tensor": 2, "accelerators.count": 2},
        {"model.parameters": 1e9, "model.shard": "weights"},
        {"checkpoint.path": "/scratch/a", "checkpoint.every": "1 h"},
    ],
)
def test_a_change_inside_a_field_that_is_written_empty_is_applied(change: dict[str, Any]) -> None:
    fields = {"name": "j", "command": ["true"], "accelerators": {"count": 2}}
    empty = {path.partition(".")[0]: None for path in change if "accelerators" not in path}
    changed = apply_change(JobSpec.model_validate(fields | empty), change)
    assert changed == apply_change(JobSpec.model_validate(fields), change)


def test_a_job_with_empty_parallelism_has_suggestions() -> None:
    fields = {"name": "j", "command": ["true"], "accelerators": {"count": 8}, "parallelism": None}
    job = JobSpec.model_validate(fields | {"model": {"parameters": 4e12}})
    assert why_not(job, PLANS[0])
