from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from supercloud.errors import SpecError
from supercloud.jobs.job_rules import _check_stages, require_valid_job
from supercloud.spec import JobSpec


@pytest.mark.parametrize(
    "check, field, value",
    [
        ("job-array", "array", 0),
        ("job-image", "image", "pytorch --privileged"),
        ("job-image", "image", "a,b"),
        ("job-support", "preemptible", False),
        ("job-env", "env", {"SLURM_JOB_ID": "1"}),
        ("job-env", "env", {"SUPERCLOUD_RUN": "x"}),
        ("job-command", "command", ["-c", "x"]),
        ("job-command", "command", [""]),
        ("job-script", "script", "#!/usr/bin/env python3\nprint()"),
        ("job-script", "script", "a\x00b"),
        ("job-secret", "secrets", [{"env": "A", "name": "../a"}]),
        ("job-retries", "retry_rules", [{"exit_codes": [1], "action": "retry"}]),
    ],
)
def test_unsupported_fields_are_rejected(job: Callable[..., JobSpec], check: str, field: str, value: Any) -> None:
    with pytest.raises(SpecError) as caught:
        require_valid_job(job(**{field: value}))
    assert caught.value.findings[0].check == check
    assert caught.value.findings[0].path.startswith(field)
    assert caught.value.findings[0].hint


def test_all_problems_are_reported_together(job: Callable[..., JobSpec]) -> None:
    with pytest.raises(SpecError) as caught:
        require_valid_job(job(array=0, image="x y", preemptible=False))
    assert len(caught.value.findings) == 3


def test_ordinary_jobs_are_accepted(job: Callable[..., JobSpec]) -> None:
    require_valid_job(job())
    require_valid_job(job(script="#!/bin/bash -e\ntrue"))
    require_valid_job(job(script="true"))


def test_stages_with_different_numbers_of_layers_are_a_warning(
    job: Callable[..., JobSpec], caplog: pytest.LogCaptureFixture
) -> None:
    """Llama 3 was trained so, with fewer layers on its first and last stage; Megatron-LM must be told."""
    model = {"parameters": "405B", "layers": 126}
    require_valid_job(job(parallelism={"pipeline": 14}, model=model))
    require_valid_job(job(parallelism={"pipeline": 16}))
    assert not caplog.records
    require_valid_job(job(parallelism={"pipeline": 16}, model=model))
    (warning,) = caplog.messages
    assert warning.startswith("warning: parallelism.pipeline: 16 stages do not divide the 126 layers of the model")
    assert "use 14 or 18, or set the layers of the first and the last stage" in warning
    assert [finding.check for finding in _check_stages(job(parallelism={"pipeline": 16}, model=model))] == [
        "job-stages"
    ]
