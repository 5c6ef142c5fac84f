"""Specs constructed in Python report their problems as files do."""

from __future__ import annotations

import pytest

import supercloud as sc


def test_all_problems_are_reported_with_hints() -> None:
    with pytest.raises(sc.SpecError) as caught:
        sc.JobSpec(name="a", commands=["x"], accelerators="9")
    problems = {finding.path: (finding.problem, finding.hint) for finding in caught.value.findings}
    assert problems["commands"] == ("unknown field 'commands'", "did you mean command?")
    assert "{count: 9}" in problems["accelerators"][1]
    assert "pydantic" not in str(caught.value)


def test_a_cluster_and_a_fleet_name_what_is_missing() -> None:
    for model, field in ((sc.ClusterSpec, "pools"), (sc.FleetSpec, "clusters")):
        with pytest.raises(sc.SpecError, match=f"in {model.__name__}") as caught:
            model(name="a")
        assert field in {finding.path for finding in caught.value.findings}


def test_a_valid_document_is_constructed_once() -> None:
    job = sc.JobSpec(name="a", command=["x"])
    assert type(job) is sc.JobSpec and job.command == ("x",)
