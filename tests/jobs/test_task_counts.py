"""Slurm refuses more tasks on a node than it has CPUs for jobs, so placement does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from supercloud.jobs.placement.place import Placement, Refusal, place, why_not
from supercloud.jobs.placement.suggestions import apply_change
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.loader import loads

Make = Callable[..., JobSpec]

SPEC = """
name: pod
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: {kind}, version: "{version}"}}
pools: [{{name: train, machine: dgx-h100, nodes: 4, reserve: {{cores: {reserved}}}}}]
"""


def build_refusal(job: JobSpec, kind: str, version: str, reserved: int = 0) -> Placement | Refusal:
    return why_not(job, resolve(loads(SPEC.format(kind=kind, version=version, reserved=reserved))))["train"]


@pytest.mark.parametrize("reserved, threads", [(0, 224), (2, 220)])
def test_a_node_has_a_cpu_for_each_task(job: Make, reserved: int, threads: int) -> None:
    """A DGX H100 has 112 cores with two threads, which are Slurm's CPUs."""
    asked = job(accelerators={"count": 8}, tasks_per_node=1000)
    refusal = build_refusal(asked, "slurm", "25.11", reserved)
    assert isinstance(refusal, Refusal)
    assert f"1000 tasks on each node, its nodes have {threads} CPUs for jobs" in refusal.reason
    assert refusal.suggestion == f"set tasks_per_node to at most {threads}"
    assert refusal.change == {"tasks_per_node": threads}
    most = apply_change(asked, refusal.change)
    assert isinstance(build_refusal(most, "slurm", "25.11", reserved), Placement)
    more = most.model_copy(update={"tasks_per_node": threads + 1})
    assert isinstance(build_refusal(more, "slurm", "25.11", reserved), Refusal)


def test_tasks_of_a_pod_share_its_cpus(job: Make) -> None:
    asked = job(accelerators={"count": 8}, tasks_per_node=300, image="a/b:1")
    assert isinstance(build_refusal(asked, "kubernetes", "1.36"), Placement)


def test_suggested_stages_divide_the_layers(job: Make) -> None:
    """Of fewer accelerators and of more: others need settings in the training program."""
    plan = resolve(loads(SPEC.format(kind="slurm", version="25.11", reserved=0)))
    model = {"parameters": "8B", "layers": 30, "hidden": 4096, "heads": 32, "sequence": 2048, "shard": "weights"}
    few = job(parallelism={"tensor": 8, "pipeline": 6}, model=model)  # 48 accelerators, the pool has 32
    refusal = why_not(few, plan)["train"]
    assert isinstance(refusal, Refusal) and refusal.change["parallelism.pipeline"] == 3, refusal
    own = job(parallelism={"tensor": 8, "pipeline": 4}, model=model)
    assert isinstance(place(own, plan), Placement), "the user's own stages are not refused"
