"""Licenses: those of a cluster, how Slurm gets them, and which engines cannot count them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from supercloud.errors import EngineError, SpecError
from supercloud.jobs import api
from supercloud.jobs.placement.place import Placement, Refusal, place, why_not
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.loader import loads

Make = Callable[..., JobSpec]
SPEC = """
name: pod
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11", options: {Licenses: "solver:3,mesher,viewer=7"}}
pools: [{name: train, machine: dgx-h100, nodes: 2}]
"""
PLAN = resolve(loads(SPEC))


@pytest.mark.parametrize(
    "wanted, expected",
    [
        ({"solver": 2}, "solver:2"),
        ({"viewer": 7, "mesher": 1}, "mesher:1,viewer:7"),
        ({"far@server": 9, "solver": 3}, "far@server:9,solver:3"),
        ({}, ""),
    ],
)
def test_licenses_of_the_cluster_are_requested(job: Make, wanted: dict[str, int], expected: str) -> None:
    at = place(job(licenses=wanted), PLAN)
    assert isinstance(at, Placement) and isinstance(at.request, SlurmRequest)
    assert at.request.licenses == expected
    assert Placement.from_json(at.to_json()).request == at.request


@pytest.mark.parametrize(
    "wanted, reason, suggestion",
    [
        ({"solver": 4}, "the job needs 4 of license solver, the cluster has 3", "request at most 3"),
        ({"mesher": 2}, "the cluster has 1", "request at most 1"),
        ({"solvr": 1}, "unknown license 'solvr'", "solver"),
        ({"xyz": 5}, "unknown license 'xyz'", "Licenses: xyz:5"),
    ],
)
def test_unknown_licenses_are_refused(job: Make, wanted: dict[str, int], reason: str, suggestion: str) -> None:
    answer = why_not(job(licenses=wanted), PLAN)["train"]
    assert isinstance(answer, Refusal) and reason in answer.reason and suggestion in answer.suggestion


@pytest.mark.parametrize("wanted", [{"a b": 1}, {"a;b": 1}, {"$(x)": 1}, {"a": 0}, {"a": -1}, {"": 1}, {"a@": 1}])
def test_names_and_counts_are_checked(job: Make, wanted: dict[str, int]) -> None:
    with pytest.raises(SpecError, match="licenses"):
        job(licenses=wanted)


def test_only_slurm_counts_licenses(job: Make, plan: Plan, tmp_path: Path) -> None:
    _, submission = api.prepare(job(licenses={"solver": 2}), PLAN, engine="slurm")
    assert "--licenses=solver:2" in submission.argv
    with pytest.raises(EngineError, match="needs licenses .solver:2., which the local engine does not support"):
        api.prepare(job(licenses={"solver": 2}), PLAN, engine="local")
