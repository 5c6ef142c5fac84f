"""What a change of a cloud site replaces, and what it costs to be wrong about it."""

from __future__ import annotations

from typing import Any

import pytest
from plan.clouds import RESERVED, build_lustre, build_plan, build_pool, build_slurm

from supercloud.plan.publish.diff import Change, diff_plans

BASE: dict[str, Any] = {"storage": [build_lustre()], "pools": [build_pool(capacity=[RESERVED, {"kind": "on-demand"}])]}


def diff_clouds(**new: Any) -> dict[str, Change]:
    return {change.path: change for change in diff_plans(build_plan(**BASE), build_plan(**BASE | new))}


@pytest.mark.slow
def test_equal_clouds_have_no_differences() -> None:
    assert diff_clouds() == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "new, path, impact, word",
    [
        ({"network": {"cidr": "10.7.0.0/16"}}, "cloud.network.cidr", "replaces", "network"),
        (
            {"storage": [build_lustre(capacity="16800 GiB")]},
            "cloud.storage[scratch].capacity_bytes",
            "replaces",
            "shrink",
        ),
        ({"storage": [build_lustre(capacity="21600 GiB")]}, "cloud.storage[scratch].capacity_bytes", "changes", ""),
        (
            {"storage": [build_lustre(throughput_per_tib="500 MB/s")]},
            "cloud.storage[scratch].throughput_per_tib_mb_s",
            "changes",
            "place",
        ),
        ({"storage": [build_lustre(options={"efa": False})]}, "cloud.storage[scratch].options.efa", "replaces", "data"),
        (
            {"storage": [build_lustre(options={"compression": "NONE"})]},
            "cloud.storage[scratch].options.compression",
            "changes",
            "place",
        ),
        ({"scheduler": build_slurm(disk="500 GiB")}, "cloud.hosts[ctl1].disk_bytes", "changes", ""),
        ({"scheduler": build_slurm(state="10 GiB")}, "cloud.hosts[ctl1].state_bytes", "replaces", "shrink"),
        ({"scheduler": build_slurm(machine="m6i.8xlarge")}, "cloud.hosts[ctl1].machine", "changes", "stops"),
        (
            {"pools": [build_pool(capacity=[RESERVED], disk="1 TiB")]},
            "cloud.groups[train-reserved].disk_bytes",
            "changes",
            "after the change",
        ),
        (
            {"pools": [build_pool(capacity=[RESERVED], placement="cluster")]},
            "cloud.groups[train-reserved].placement_group",
            "replaces",
            "nodes",
        ),
        ({"pools": [build_pool(capacity=[RESERVED])]}, "cloud.groups[train-on-demand]", "removes", ""),
        (
            {"site": {"kind": "aws", "region": "us-east-2", "zones": ["us-east-2a"]}, "pools": [build_pool()]},
            "cloud.region",
            "replaces",
            "everything",
        ),
    ],
)
def test_each_change_has_its_impact(new: dict[str, Any], path: str, impact: str, word: str) -> None:
    found = diff_clouds(**new)
    assert path in found, sorted(found)
    assert (found[path].impact, word in found[path].why) == (impact, True)


def test_more_nodes_replace_nothing() -> None:
    found = diff_clouds(pools=[build_pool(nodes=5_000, capacity=[RESERVED, {"kind": "on-demand"}])])
    assert found["cloud.groups[train-reserved].nodes"].impact == "changes"
    assert {path for path, change in found.items() if change.impact == "replaces"} <= {"cloud.hosts[ctl1].machine"}
