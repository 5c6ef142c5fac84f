"""Specs constructed in Python report their problems as files do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import supercloud as sc
from supercloud.spec import Pool


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


@pytest.mark.parametrize("convert", [lambda data: data, json.dumps], ids=["values", "json"])
def test_values_of_yaml_have_the_errors_of_the_constructor(convert: Callable[[object], Any]) -> None:
    """The documented form raised the errors of Pydantic, which have no hints and are not errors of this package."""
    data = {"name": "a", "commands": ["x"], "accelerators": "9"}
    validate: Any = sc.JobSpec.model_validate_json if convert is json.dumps else sc.JobSpec.model_validate
    with pytest.raises(sc.SpecError) as caught:
        validate(convert(data))
    with pytest.raises(sc.SpecError) as constructed:
        sc.JobSpec(**data)  # type: ignore[arg-type]
    assert caught.value.findings == constructed.value.findings and "pydantic" not in str(caught.value)
    assert validate(convert({"name": "a", "command": ["x"]})) == sc.JobSpec(name="a", command=("x",))


@pytest.mark.parametrize("wrong", [None, 5, "name: a", ["a"]])
def test_what_is_not_a_mapping_has_one_problem(wrong: object) -> None:
    with pytest.raises(sc.SpecError, match="1 problem in ClusterSpec"):
        sc.ClusterSpec.model_validate(wrong)


def test_text_that_is_not_json_has_one_problem() -> None:
    with pytest.raises(sc.SpecError, match="1 problem in JobSpec"):
        sc.JobSpec.model_validate_json("{")


def test_duplicate_names_are_reported() -> None:
    """They are found in the document, not by the model: the error had "0 problems"."""
    pool = {"name": "a", "machine": "dgx-h100", "nodes": 1}
    fields: dict[str, Any] = {
        "name": "b",
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": {"kind": "slurm", "version": "25.11"},
    }
    for pools in ([pool, pool], [Pool.model_validate(pool)] * 2):
        with pytest.raises(sc.SpecError, match="1 problem in ClusterSpec") as caught:
            sc.ClusterSpec(**fields, pools=pools)
        assert "duplicate" in caught.value.findings[0].problem
