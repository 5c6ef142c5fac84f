"""Cores of storage clients are reserved, or reported."""

from __future__ import annotations

import pytest

import supercloud as sc
from supercloud.spec.loader import loads

SPEC = """
name: demo
site: {kind: onprem, location: stockholm}
scheduler: SCHEDULER
pools: [{name: train, machine: dgx-h100, nodes: 8, reserve: {cores: CORES}}]
storage:
  - {name: fast, kind: KIND, capacity: 1 PiB, mount: /fast}
"""


def list_findings(kind: str, cores: int, scheduler: str = "{kind: slurm, version: '24.11'}") -> list[tuple[str, str]]:
    text = SPEC.replace("KIND", kind).replace("CORES", str(cores)).replace("SCHEDULER", scheduler)
    plan = sc.resolve(loads(text))
    return [(item.path, item.hint) for item in plan.findings if item.check == "storage-client-cores"]


@pytest.mark.parametrize("cores", [0, 1])
def test_jobs_on_cores_of_a_storage_client_are_a_finding(cores: int) -> None:
    ((path, hint),) = list_findings("weka", cores)
    assert path == "pools[0].reserve.cores" and "{cores: 2}" in hint


def test_reserved_cores_are_enough() -> None:
    assert not list_findings("weka", 2)


def test_clients_in_the_kernel_need_no_cores() -> None:
    assert not list_findings("lustre", 0)


def test_kubernetes_has_the_operator() -> None:
    assert not list_findings("weka", 0, "{kind: kubernetes, version: '1.34'}")
