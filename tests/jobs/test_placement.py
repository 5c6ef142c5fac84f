from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supercloud.catalog import Accelerator, Catalog
from supercloud.jobs.placement.place import Placement, Refusal, place, why_not
from supercloud.jobs.placement.requests.kubernetes import KubernetesRequest
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.jobs.placement.steps.accelerators import count_steps_above
from supercloud.jobs.placement.steps.locality import LocalityRequest
from supercloud.plan.model.plan import Group, Level, Locality, Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.nodes import HostSet
from supercloud.spec import JobSpec
from supercloud.spec.loader import loads

CATALOG = Catalog.load_default()
Make = Callable[..., JobSpec]


def place_job(job: JobSpec, plan: Plan) -> Placement:
    answer = place(job, plan, CATALOG)
    assert isinstance(answer, Placement), answer
    return answer


def get_refusal(job: JobSpec, plan: Plan, pool: str = "train") -> Refusal:
    answer = why_not(job, plan, CATALOG)[pool]
    assert isinstance(answer, Refusal), answer
    return answer


@pytest.mark.parametrize(
    "wish, accelerator, steps",
    [
        ("h100", "h100-sxm", 0),
        ("h100-sxm", "h100-sxm", 0),
        (">=h100", "h100-sxm", 0),
        (">= h100", "h200-sxm", 1),
        (">=h100", "b200", 2),
        (">=h100", "gb200", 3),
        (">=h100", "a100-80gb-sxm", None),
        ("h100", "h200-sxm", None),
        (">=h100", "mi300x", None),
        (">=mi300x", "mi355x", 2),
        (">=l4", "l40s", 1),
        ("H100", "h100-sxm", 0),
        (">= H100", "h200-sxm", 1),
        ("H100", "h200-sxm", None),
    ],
)
def test_accelerators_are_ordered_by_generation(wish: str, accelerator: str, steps: int | None) -> None:
    assert count_steps_above(wish, CATALOG.get(Accelerator, accelerator), CATALOG) == steps


@pytest.mark.parametrize(
    "accelerators, more, nodes, each",
    [
        ({"count": 1}, {}, 1, 1),
        ({"count": 8}, {}, 1, 8),
        ({"count": 9}, {}, 3, 3),
        ({"count": 12}, {}, 2, 6),
        ({"count": 64}, {}, 8, 8),
        ({"count": 64}, {"nodes": 16}, 16, 4),
        ({"count": 992}, {}, 124, 8),
        ({"count": 12}, {"parallelism": {"tensor": 4, "data": 3}}, 3, 4),
        ({"count": 0}, {"parallelism": {"tensor": 8, "pipeline": 4}}, 4, 8),
        ({}, {"parallelism": {"tensor": 8, "pipeline": 4}}, 4, 8),
    ],
)
def test_accelerators_of_a_job_become_nodes(
    job: Make, plan: Plan, accelerators: dict[str, Any], more: dict[str, Any], nodes: int, each: int
) -> None:
    at = place_job(job(accelerators={"type": "h100"} | accelerators, **more), plan)
    assert (at.pool, at.nodes, at.accelerators_per_node) == ("train", nodes, each)


@pytest.mark.parametrize(
    "fields, reason, suggestion",
    [
        ({"accelerators": {"count": 1000}}, "are 125 nodes, the pool has 124", "at most 992"),
        ({"accelerators": {"count": 13}}, "do not divide evenly", "12 or 14"),
        ({"accelerators": {"count": 64}, "nodes": 4}, "do not fit 4 nodes", "nodes to 8"),
        ({"accelerators": {"count": 8, "type": "b200"}}, "has h100-sxm", "add h100"),
        ({"accelerators": {"count": 8, "type": "h1000"}}, "unknown accelerator 'h1000'", "h100"),
        ({"accelerators": {"count": 8, "memory": "100 GiB"}}, "needs 100 GiB each", "at most 80 GiB"),
        ({"accelerators": {"count": 8}, "tenant": "lmm"}, "unknown tenant 'lmm'", "llm"),
        (
            {"accelerators": {"count": 8}, "tenant": "lmm", "model": {"parameters": 4.9e13}},
            "unknown tenant 'lmm'",
            "llm",
        ),
        ({"accelerators": {"count": 8}, "tenant": "vision", "priority": "high"}, "priority high", "to normal"),
        ({"accelerators": {"count": 512}, "tenant": "vision"}, "is limited to 256", "at most 256"),
        ({"accelerators": {"count": 8}, "tenant": "vision", "time_limit": "2 d"}, "of tenant vision", "at most 1 d"),
        ({"accelerators": {"count": 8}, "time_limit": "8 d"}, "7 d", "at most 7 d"),
        ({"accelerators": {"count": 264}, "place": {"near": "leaf"}}, "holds 32 of its nodes", "at most 256"),
        ({"accelerators": {"count": 16}, "place": {"near": "scale-up"}}, "near: scale-up", "8 accelerators"),
        ({"accelerators": {"count": 16}, "place": {"pools": ["old"]}}, "only run in pool old", "add train"),
        ({"accelerators": {"count": 16}, "place": {"pools": ["trian"]}}, "unknown pool", "train"),
        ({"accelerators": {"count": 16}, "place": {"clusters": ["other"]}}, "only run on cluster other", "add pod"),
        (
            {"accelerators": {"count": 16}, "place": {"nodes": ["train-[0001-0003]"]}},
            "pins 3, the job needs 2",
            "pin 2",
        ),
        (
            {"accelerators": {"count": 16}, "place": {"nodes": ["x-1", "x-2"]}},
            "'x-1' is not a node",
            "train-[0001-0127]",
        ),
        ({"accelerators": {"count": 16}, "place": {"nodes": ["x-[1"]}}, "not a valid list of hosts", "gpu-["),
        ({"accelerators": {"count": 16}, "place": {"data": ["scrtch"]}}, "not a storage", "scratch"),
    ],
)
def test_refusals_name_the_reason_and_the_smallest_change(
    job: Make, plan: Plan, fields: dict[str, Any], reason: str, suggestion: str
) -> None:
    refusal = get_refusal(job(**fields), plan)
    assert reason in refusal.reason
    assert suggestion in refusal.suggestion


def test_every_pool_has_an_answer(job: Make, plan: Plan) -> None:
    answers = why_not(job(accelerators={"count": 64, "type": ">=h100"}), plan, CATALOG)
    assert list(answers) == ["old", "train", "cpu"]
    assert isinstance(answers["train"], Placement)
    assert place(job(accelerators={"count": 4000}), plan, CATALOG) == tuple(
        why_not(job(accelerators={"count": 4000}), plan, CATALOG).values()
    )


def test_a_job_gets_the_least_sufficient_pool(job: Make, plan: Plan) -> None:
    assert place_job(job(accelerators={"count": 8}), plan).pool == "old"
    assert place_job(job(accelerators={"count": 8, "type": ">=a100"}), plan).pool == "old"
    assert place_job(job(accelerators={"count": 8, "type": ["h100", "a100"]}), plan).pool == "train"
    assert place_job(job(tenant="llm"), plan).pool == "cpu"


def test_the_partition_and_qos_follow_from_the_job(job: Make, plan: Plan) -> None:
    at = place_job(job(accelerators={"count": 8, "type": "h100"}), plan)
    assert isinstance(at.request, SlurmRequest)
    assert (at.request.partition, at.request.constraint, at.request.qos) == ("batch", "train", "normal")
    assert get_refusal(job(), plan, "cpu").reason == "partition cpus is for tenant llm"
    request = place_job(job(tenant="llm"), plan).request
    assert isinstance(request, SlurmRequest) and request.account == "llm"


def test_locality_in_a_tree_is_preferred_or_required(job: Make, plan: Plan) -> None:
    preferred = place_job(job(accelerators={"count": 64, "type": "h100"}), plan).locality
    assert (preferred.level, preferred.required, preferred.switches) == ("su", False, 1)
    insisted = place_job(job(accelerators={"count": 64, "type": "h100"}, place={"near": "leaf"}), plan).locality
    assert (insisted.required, insisted.switches) == (True, 1)
    assert place_job(job(accelerators={"count": 512, "type": "h100"}), plan).locality.switches == 2
    assert place_job(job(accelerators={"count": 8, "type": "h100"}), plan).locality.switches == 0
    assert (
        place_job(job(accelerators={"count": 64, "type": "h100"}, place={"near": "any"}), plan).locality.switches == 0
    )


BLOCKS = """
name: nvl
site: {kind: onprem, location: finland}
scheduler: {kind: slurm, version: "26.05"}
pools: [{name: train, machine: dgx-gb200, nodes: 72, fabrics: [compute]}]
fabrics: [{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}]
"""


def test_locality_in_blocks_has_a_segment(job: Make) -> None:
    nvl = resolve(loads(BLOCKS))
    inside = place_job(job(accelerators={"count": 64}), nvl).locality
    assert (inside.level, inside.segment) == ("scale-up", 16)
    assert place_job(job(accelerators={"count": 256}), nvl).locality.segment == 0
    grouped = job(parallelism={"tensor": 32, "data": 8})
    assert place_job(grouped, nvl).locality.segment == 8
    assert "holds 18" in get_refusal(job(accelerators={"count": 76}, place={"near": "scale-up"}), nvl).reason


def test_placements_are_stored_as_text(job: Make, plan: Plan) -> None:
    at = place_job(job(accelerators={"count": 16, "type": "h100"}, place={"nodes": ["train-[0001-0002]"]}), plan)
    assert at.hosts == ("train-0001", "train-0002")
    assert Placement.from_json(at.to_json()) == at
    assert str(at) == "2 nodes of pool train, 8 × h100-sxm each, within one su"


@pytest.mark.parametrize(
    "fields, request_",
    [
        (
            {"gres": "h100", "partition": "batch", "account": "llm", "qos": "high", "constraint": "train"},
            SlurmRequest("h100", "batch", "llm", "high", "train"),
        ),
        ({"gres": "h100", "licenses": "solver:2"}, SlurmRequest("h100", licenses="solver:2")),
        ({}, None),
        (
            {"gres": "h100", "pods": {"queue": "kueue", "resource": "nvidia.com/gpu", "volumes": [["fs", "/fs"]]}},
            KubernetesRequest("kueue", "nvidia.com/gpu", volumes=(("fs", "/fs"),)),
        ),
        ({"request": {"kind": "of a later version", "queue": "long"}}, None),
    ],
)
def test_a_placement_of_another_version_can_be_read(
    fields: dict[str, Any], request_: SlurmRequest | KubernetesRequest | None
) -> None:
    near = {"level": "leaf", "required": True, "switches": 2, "segment": 0}
    old = {"cluster": "pod", "pool": "train", "nodes": 2, "accelerators_per_node": 8, "near": near, "hosts": ["n1"]}
    at = Placement.from_json(json.dumps(old | fields))
    locality = LocalityRequest("leaf", True, 2)
    assert at == Placement("pod", "train", 2, 8, locality=locality, hosts=("n1",), request=request_)
    assert Placement.from_json(at.to_json()) == at


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 11), min_size=1, max_size=12),
    count=st.integers(0, 700),
    spares=st.integers(0, 5),
    near=st.sampled_from([None, "any", "leaf", "fabric"]),
)
def test_placement_in_uneven_groups_is_correct(
    plan: Plan, sizes: list[int], count: int, spares: int, near: str | None
) -> None:
    """What is placed fits, what is refused does not, and the same question has the same answer."""
    pool = plan.get_pool("train")
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    leaves = tuple(
        Group(f"leaf{n}", HostSet((pool.hosts.slice(start, start + size),)), 0)
        for n, (start, size) in enumerate(zip(starts, sizes, strict=True))
    )
    total = sum(sizes)
    hosts = pool.hosts.slice(0, total)
    tree = Locality("t", "tree", (Level("leaf", leaves), Level("fabric", (Group("all", HostSet((hosts,))),))))
    spares = min(spares, total - 1)
    small = replace(plan, pools=(replace(pool, nodes=total, spares=spares, hosts=hosts),), localities=(tree,))
    job = JobSpec.model_validate(
        {
            "name": "j",
            "command": ["x"],
            "accelerators": {"count": count},
            "place": {"near": near, "pools": ["train"]},
        }
    )
    answer = place(job, small, CATALOG)
    assert answer == place(job, small, CATALOG)
    if isinstance(answer, Placement):
        assert answer.nodes * answer.accelerators_per_node == count
        assert answer.accelerators_per_node <= 8
        assert 1 <= answer.nodes <= total - spares
        if near == "leaf":
            assert answer.nodes <= max(sizes)
        if answer.locality.switches:
            largest = sorted(sizes, reverse=True)
            assert (
                sum(largest[: answer.locality.switches]) >= answer.nodes > sum(largest[: answer.locality.switches - 1])
            )
    else:
        least = -(-count // 8) or 1
        even = [nodes for nodes in range(least, 2 * least + 1) if count % nodes == 0]
        most = min(total - spares, max(sizes)) if near == "leaf" else total - spares
        assert not even or even[0] > most, answer
        assert all(refusal.reason and refusal.suggestion for refusal in answer)


@pytest.mark.parametrize("fields", [{"type": "h100"}, {"memory": "80 GiB"}])
def test_a_type_without_a_count_is_rejected(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="accelerators.count is missing"):
        JobSpec.model_validate({"name": "j", "command": ["x"], "accelerators": fields})
