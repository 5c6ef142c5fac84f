"""Images of jobs on Kubernetes."""

from __future__ import annotations

import pytest

from supercloud.jobs.placement.place import Refusal, why_not
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec


@pytest.mark.parametrize(
    "image, reason",
    [
        (None, "the job has no image"),
        ("/images/a.sqsh", "image /images/a.sqsh is a file"),
        ("docker-archive:///images/a.tar", "image docker-archive:///images/a.tar is a file"),
    ],
)
def test_a_job_without_an_image_in_a_registry_has_no_place(kubernetes: Plan, image: str | None, reason: str) -> None:
    """A broker sent such jobs to Kubernetes, which refused them, while a cluster with Slurm was idle."""
    job = JobSpec(name="j", command=["x"], image=image, accelerators={"count": 8})
    answer = why_not(job, kubernetes)["train"]
    assert isinstance(answer, Refusal) and reason in answer.reason
    assert answer.change == {"image": "REGISTRY/NAME:TAG"}
