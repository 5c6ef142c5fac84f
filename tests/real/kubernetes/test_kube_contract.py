"""The contract of all engines with a real API server, and functions of this engine only."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs.engines import test_contract as contract
from jobs.engines.test_contract import (  # noqa: F401
    key,
    test_a_job_completes,
    test_a_job_fails_with_its_code,
    test_a_job_is_cancelled,
    test_a_key_finds_its_job,
    test_logs_are_read_from_an_offset,
    test_many_jobs_are_polled_together_without_unknown_references,
    test_prepare_is_pure_and_readable,
)
from jobs.waiting import wait_for
from kube_world import World

from supercloud.errors import EngineError
from supercloud.jobs.engines.base import RecallsJobs
from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.fleet.state import Cluster
from supercloud.jobs.placement.place import Placement, place
from supercloud.jobs.store.states import State
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

WORDS = {"fine": ["sh", "-c", "echo hello"], "bad": ["sh", "-c", "exit 3"], "long": ["sleep", "600"]}


def build_job(engine: object, what: str, **fields: Any) -> JobSpec:
    defaults = {
        "name": "job",
        "command": WORDS[what],
        "image": "registry.example.com/a:1",
        "tenant": "llm",
        "accelerators": {"type": "h100", "count": 2},
    }
    return JobSpec.model_validate(defaults | fields)


@pytest.fixture
def engine(cluster: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubernetesEngine]:
    monkeypatch.setenv("KUBECONFIG", str(cluster.lab.kubeconfig))
    monkeypatch.setattr(contract, "build_job", build_job)
    at = place(build_job(None, "fine"), cluster.plan)
    monkeypatch.setattr(contract, "AT", at)
    monkeypatch.setattr(contract.submit, "__defaults__", (at,))
    return KubernetesEngine(Connection(engine="kubernetes"), tmp_path)


def test_a_job_is_recalled_only_before_it_starts(engine: KubernetesEngine, cluster: World) -> None:
    assert isinstance(engine, RecallsJobs)
    runs = contract.submit(engine, "long", "runs")
    wait_for(contract.build_poll(engine, runs, State.RUNNING))
    engine.recall(runs)
    assert engine.poll([runs])[runs].state is State.RUNNING
    cluster.lab.api.patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/llm", {"spec": {"stopPolicy": "Hold"}})
    try:
        waits = contract.submit(engine, "long", "waits")
        wait_for(contract.build_poll(engine, waits, State.QUEUED))
        engine.recall(waits)
        status = engine.poll([waits])[waits]
        assert status.state is State.CANCELLED and status.started is None
    finally:
        cluster.lab.api.patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/llm", {"spec": {"stopPolicy": "None"}})


def test_free_nodes_are_listed(engine: KubernetesEngine, cluster: World) -> None:
    job = build_job(engine, "long", accelerators={"type": "h100", "count": 16}, time_limit="1 h")
    at = place(job, cluster.plan)
    assert isinstance(at, Placement)
    ref = engine.submit(engine.prepare(job, at, "seen"))
    wait_for(contract.build_poll(engine, ref, State.RUNNING))
    lost = next(node.host for node in engine.list_nodes() if not node.in_use and node.host.startswith("train"))
    cluster.lab.api.patch(f"/api/v1/nodes/{lost}", {"spec": {"unschedulable": True}})
    try:
        nodes = {node.host: node for node in engine.list_nodes()}
        assert sorted(nodes) == sorted(host for pool in cluster.plan.pools for host in pool.hosts)
        busy = [node for node in nodes.values() if node.in_use]
        assert [node.in_use for node in busy] == [8, 8]
        assert all(node.busy_until and time.time() < node.busy_until < time.time() + 3700 for node in busy)
        assert nodes[lost].state == "drained"
        seen = Cluster.from_plan(cluster.plan).with_observations(
            list(nodes.values()), time.time(), engine.list_waiting_jobs()
        )
        assert (seen.pools["train"].count_available(8, True), seen.pools["train"].count_available(8, False)) == (61, 63)
    finally:
        cluster.lab.api.patch(f"/api/v1/nodes/{lost}", {"spec": {"unschedulable": None}})


def test_an_unreachable_cluster_is_an_error(tmp_path: Path, cluster: World, monkeypatch: pytest.MonkeyPatch) -> None:
    text = cluster.lab.kubeconfig.read_text().replace(cluster.lab.server, "https://127.0.0.1:9")
    (tmp_path / "config").write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path)
    with pytest.raises(EngineError, match="is unreachable"):
        engine.poll(["jobset/llm/job-1/1795224003"])
