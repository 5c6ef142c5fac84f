"""A Python function as a job on Kubernetes: the command of its pods runs on this machine; KWOK serves its output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs import called
from kube_pods import run
from kube_world import World

from supercloud.jobs.executor import Executor, FunctionJob, RemoteTracebackError
from supercloud.jobs.store.store import Store

PODS = "/api/v1/namespaces/llm/pods"


@pytest.fixture
def executor(cluster: World, tmp_path: Path) -> Iterator[Executor]:
    cluster_log = cluster.lab.folder / "pod.log"
    kept = cluster_log.read_text()
    fields = {"image": "registry.example.com/python:3", "tenant": "llm", "accelerators": {"type": "h100", "count": 16}}
    with Store(tmp_path / "state") as store:
        yield Executor(cluster.plan, engine="kubernetes", store=store, **fields)
    cluster_log.write_text(kept)


@pytest.fixture
def call(cluster: World, executor: Executor) -> Callable[..., FunctionJob]:
    """Call a function: its pods are created, their command is run, and its output is the log of all pods."""

    def run_function(function: Any, *args: Any) -> FunctionJob:
        there = executor.submit(function, *args)
        pods = cluster.lab.wait_until(lambda: len(found := list(cluster.lab.api.iter_items(PODS))) == 2 and found)
        printed = "".join(run(pod, check=False) for pod in pods)
        lines = [
            f"2026-01-01T00:00:{number:02d}.000000000Z stdout F {line}\n"
            for number, line in enumerate(printed.splitlines())
        ]
        (cluster.lab.folder / "pod.log").write_text("".join(lines))
        return there

    return run_function


def test_results_of_a_function_are_returned(call: Callable[..., FunctionJob]) -> None:
    there = call(called.add, 40)
    assert there.result(60) == 42
    assert set("".join(there.logs()).splitlines()) == {"adding on rank 0", "adding on rank 1"}


def test_exceptions_of_a_function_are_returned(call: Callable[..., FunctionJob]) -> None:
    there = call(called.fail, "missing")
    with pytest.raises(KeyError, match="missing") as caught:
        there.result(60)
    assert isinstance(caught.value.__cause__, RemoteTracebackError)
