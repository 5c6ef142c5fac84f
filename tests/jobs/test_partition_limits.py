"""Limits of partitions: in placement and in slurm.conf."""

from __future__ import annotations

import re

from supercloud.catalog import Catalog
from supercloud.jobs.placement.place import Placement, Refusal, why_not
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec, JobSpec
from supercloud.targets import render

CATALOG = Catalog()
PLAN = resolve(
    ClusterSpec.model_validate(
        {
            "name": "pod1",
            "site": {"kind": "onprem", "location": "stockholm"},
            "scheduler": {
                "kind": "slurm",
                "version": "25.11",
                "partitions": [{"name": "short", "pools": ["train"], "default": True, "max_time": "30 min"}],
            },
            "pools": [{"name": "train", "machine": "dgx-h100", "nodes": 4}],
        }
    ),
    CATALOG,
)


def test_a_time_limit_over_that_of_the_partition_is_refused() -> None:
    job = {"name": "j", "command": ["x"], "accelerators": {"count": 8}}
    answer = why_not(JobSpec.model_validate(job | {"time_limit": "2 h"}), PLAN, CATALOG)["train"]
    assert isinstance(answer, Refusal)
    assert "exceeds the maximum of partition short" in answer.reason and answer.change == {"time_limit": "30 min"}
    assert isinstance(
        why_not(JobSpec.model_validate(job | {"time_limit": "20 min"}), PLAN, CATALOG)["train"], Placement
    )


def test_the_default_time_is_at_most_the_maximum_of_the_partition() -> None:
    """Slurm would give jobs without a time limit one that the partition refuses."""
    (line,) = re.findall(r"^PartitionName=short .*$", render(PLAN, "slurm")["slurm.conf"], re.M)
    assert "MaxTime=00:30:00" in line and "DefaultTime=00:30:00" in line
