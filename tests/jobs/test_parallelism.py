"""Derived groups against published runs, and the spans against counting rank by rank."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supercloud.catalog import Catalog
from supercloud.errors import SpecError
from supercloud.jobs.placement.parallelism import compute_block_sizes, compute_spans, list_communication_groups
from supercloud.jobs.placement.place import Placement, Refusal, place, why_not
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.job import Parallelism
from supercloud.spec.loader import loads

CATALOG = Catalog.load_default()

SPEC = """
name: {name}
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "26.05"}}
pools: [{{name: train, machine: {machine}, nodes: {nodes}, fabrics: [compute]}}]
fabrics: [{{name: compute, kind: {kind}, shape: {shape}}}]
"""


def build_plan(
    machine: str, nodes: int, kind: str = "roce", shape: str = "rail-optimized, switch: nvidia-sn5600"
) -> Plan:
    plan = resolve(loads(SPEC.format(name="c", machine=machine, nodes=nodes, kind=kind, shape=shape)))
    assert not plan.errors, plan.errors
    return plan


def place_job(job: JobSpec, plan: Plan) -> Placement:
    answer = place(job, plan, CATALOG)
    assert isinstance(answer, Placement), answer
    return answer


def test_llama_3_405b_is_placed_on_16384_h100(job: Callable[..., JobSpec]) -> None:
    """Table 4 of arXiv 2407.21783: TP 8, PP 16, DP 128; 24,576 H100 in the cluster."""
    plan = build_plan("dgx-h100", 3072)
    at = place_job(
        job(
            parallelism={"tensor": 8, "pipeline": 16, "data": 128},
            model={
                "parameters": 405e9,
                "layers": 126,
                "hidden": 16384,
                "heads": 128,
                "kv_heads": 8,
                "sequence": 8192,
                "feed_forward": 53248,
                "gated": True,
                "shard": "gradients",
                "micro_batches": 16,
            },
            checkpoint={"path": "/x", "write": "60 s"},
        ),
        plan,
    )
    assert (at.nodes, at.accelerators_per_node) == (2048, 8)
    by_axis = {span.axis: span for span in at.spans}
    assert (by_axis["tensor"].count, by_axis["tensor"].needs, by_axis["tensor"].worst) == (2048, "node", 1)
    assert (by_axis["pipeline"].count, by_axis["pipeline"].needs, by_axis["pipeline"].worst) == (1024, "su", 1)
    assert by_axis["data"].size == 128 and by_axis["data"].worst == len(at.domains)
    assert {count % 16 for _, count in at.domains} == {0}  # replicas of 16 nodes are not torn apart
    assert "75.0 GB" in at.memory
    assert at.checkpoint_every == 843  # Daly's formula at the rate of RSC-1


def test_gpt_3_175b_is_placed_on_1024_a100(job: Callable[..., JobSpec]) -> None:
    plan = build_plan("dgx-a100", 140, "infiniband", "rail-optimized, switch: nvidia-qm8700")
    shape = {"parameters": 175e9, "layers": 96, "hidden": 12288, "heads": 96, "sequence": 2048, "dropout": True}
    at = place_job(job(parallelism={"tensor": 8, "pipeline": 16, "data": 8}, model=shape), plan)
    assert (at.nodes, at.accelerators_per_node) == (128, 8)
    assert [(span.axis, span.size, span.count) for span in at.spans] == [
        ("tensor", 8, 128),
        ("pipeline", 16, 64),
        ("data", 8, 128),
    ]
    refused = why_not(job(parallelism={"tensor": 8, "data": 128}, model=shape), plan, CATALOG)["train"]
    assert isinstance(refused, Refusal)
    assert "the model needs 404.0 GB" in refused.reason and refused.suggestion == "set model.shard to gradients"


def test_a_mixture_of_experts_is_placed_on_nvl72(job: Callable[..., JobSpec]) -> None:
    """Groups of 64 experts communicate all to all: each is in one NVLink domain of 72, two trays stay free."""
    plan = build_plan("dgx-gb200", 72, "infiniband", "rail-optimized, switch: nvidia-qm9700")
    at = place_job(job(parallelism={"data": 256, "expert": 64}), plan)
    assert [count for _, count in at.domains] == [16, 16, 16, 16]
    assert at.locality.segment == 16
    expert = next(span for span in at.spans if span.axis == "expert")
    assert (expert.size, expert.count, expert.needs, expert.worst) == (64, 4, "scale-up", 1)
    torn = place_job(job(parallelism={"data": 288, "expert": 72}), plan)
    assert torn.locality.segment == 18 and {span.worst for span in torn.spans if span.axis == "expert"} == {1}


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"parallelism": {"tensor": 8, "data": 2}, "accelerators": {"count": 8}}, "= 16, but accelerators.count is 8"),
        ({"parallelism": {"data": 6, "expert": 4}}, "expert 4 does not divide data 6"),
        (
            {"parallelism": {"pipeline": 100}, "model": {"parameters": 1e9, "layers": 12}},
            "100 pipeline stages are more",
        ),
        (
            {"parallelism": {"tensor": 3}, "model": {"parameters": 1e9, "heads": 16}},
            "tensor 3 does not divide model.heads",
        ),
        ({"accelerators": {"count": 2, "fraction": 0.5}, "parallelism": {"data": 2}}, "whole accelerators"),
        ({"accelerators": {"count": 0, "fraction": 0.5}}, "count is 0"),
        ({"accelerators": {"count": 1, "fraction": 0.5, "profile": "1g.10gb"}}, "not both"),
        ({"time_limit": "2 h", "deadline": "1 h"}, "more than the deadline"),
        ({"model": {"parameters": 1e9, "expert_parameters": 2e9}}, "more than all parameters"),
    ],
)
def test_degrees_that_do_not_multiply_out_are_rejected(
    job: Callable[..., JobSpec], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        job(**fields)


POWERS = st.sampled_from([1, 2, 4])


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    tensor=POWERS,
    context=POWERS,
    pipeline=st.integers(1, 4),
    data=POWERS,
    expert=POWERS,
    cuts=st.lists(st.integers(1, 9), min_size=1, max_size=12),
)
def test_spans_match_a_count_of_ranks(
    tensor: int, context: int, pipeline: int, data: int, expert: int, cuts: list[int]
) -> None:
    if (data * context) % expert:
        expert = 1
    how = Parallelism(tensor=tensor, context=context, pipeline=pipeline, data=data, expert=expert)
    home = [domain for domain, count in enumerate(cuts) for _ in range(count)]
    if len(home) < how.total:
        cuts = [*cuts, how.total - len(home)]
        home += [len(cuts) - 1] * (how.total - len(home))
    inner = max(1, expert // context)
    groups: dict[str, dict[tuple[int, ...], set[int]]] = {}
    sizes: dict[str, set[int]] = {}
    counts: dict[tuple[str, tuple[int, ...]], int] = {}
    order = product(range(data // inner), range(pipeline), range(inner), range(context), range(tensor))
    for rank, (outer, stage, near, part, shard) in enumerate(order):
        keys = {
            "tensor": (outer, stage, near, part),
            "context": (outer, stage, near, shard),
            "pipeline": (outer, near, part, shard),
            "data": (stage, part, shard),
            "expert": (outer, stage, (near * context + part) // expert, shard),
        }
        for axis, key in keys.items():
            groups.setdefault(axis, {}).setdefault(key, set()).add(home[rank])
            counts[axis, key] = counts.get((axis, key), 0) + 1
    for (axis, _), count in counts.items():
        sizes.setdefault(axis, set()).add(count)
    for span in compute_spans(how, 1, cuts, [("leaf", max(cuts)), ("all", len(home))]):
        seen = [len(domains) for domains in groups[span.axis].values()]
        assert (span.worst, span.count) == (max(seen), len(seen))
        assert span.mean == pytest.approx(sum(seen) / len(seen), abs=1e-4)
        assert sizes[span.axis] == {span.size}


def test_communication_groups_have_their_extent() -> None:
    how = Parallelism(tensor=8, context=2, pipeline=4, data=8, expert=4)
    assert {group.axis: group.extent for group in list_communication_groups(how)} == {
        "tensor": 8,
        "context": 16,
        "expert": 32,
        "pipeline": 128,
        "data": 512,
    }
    assert compute_block_sizes(how, 8) == ([2, 4], [16])
    assert compute_block_sizes(None, 8) == ([], [])
