"""What a change of a cloud site replaces, and what it costs to be wrong about it."""

from __future__ import annotations

from typing import Any

import pytest
from plan.clouds import RESERVED, lustre, on_aws, pool, slurm

from supercloud.plan.publish.diff import Change, diff_plans

BASE: dict[str, Any] = {"storage": [lustre()], "pools": [pool(capacity=[RESERVED, {"kind": "on-demand"}])]}


def changes(**new: Any) -> dict[str, Change]:
    return {change.path: change for change in diff_plans(on_aws(**BASE), on_aws(**BASE | new))}


@pytest.mark.slow
def test_nothing() -> None:
    assert changes() == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "new, path, impact, word",
    [
        ({"network": {"cidr": "10.7.0.0/16"}}, "cloud.network.cidr", "replaces", "network"),
        ({"storage": [lustre(capacity="16800 GiB")]}, "cloud.storage[scratch].capacity_bytes", "replaces", "shrink"),
        ({"storage": [lustre(capacity="21600 GiB")]}, "cloud.storage[scratch].capacity_bytes", "changes", ""),
        (
            {"storage": [lustre(throughput_per_tib="500 MB/s")]},
            "cloud.storage[scratch].throughput_per_tib_mb_s",
            "changes",
            "place",
        ),
        ({"storage": [lustre(options={"efa": False})]}, "cloud.storage[scratch].options.efa", "replaces", "data"),
        (
            {"storage": [lustre(options={"compression": "NONE"})]},
            "cloud.storage[scratch].options.compression",
            "changes",
            "place",
        ),
        ({"scheduler": slurm(disk="500 GiB")}, "cloud.hosts[ctl1].disk_bytes", "changes", ""),
        ({"scheduler": slurm(state="10 GiB")}, "cloud.hosts[ctl1].state_bytes", "replaces", "shrink"),
        ({"scheduler": slurm(machine="m6i.8xlarge")}, "cloud.hosts[ctl1].machine", "changes", "stops"),
        (
            {"pools": [pool(capacity=[RESERVED], disk="1 TiB")]},
            "cloud.groups[train-reserved].disk_bytes",
            "changes",
            "after the change",
        ),
        (
            {"pools": [pool(capacity=[RESERVED], placement="cluster")]},
            "cloud.groups[train-reserved].placement_group",
            "replaces",
            "nodes",
        ),
        ({"pools": [pool(capacity=[RESERVED])]}, "cloud.groups[train-on-demand]", "removes", ""),
        (
            {"site": {"kind": "aws", "region": "us-east-2", "zones": ["us-east-2a"]}, "pools": [pool()]},
            "cloud.region",
            "replaces",
            "everything",
        ),
    ],
)
def test_impact(new: dict[str, Any], path: str, impact: str, word: str) -> None:
    found = changes(**new)
    assert path in found, sorted(found)
    assert (found[path].impact, word in found[path].why) == (impact, True)


def test_more_nodes_replace_nothing() -> None:
    found = changes(pools=[pool(nodes=5_000, capacity=[RESERVED, {"kind": "on-demand"}])])
    assert found["cloud.groups[train-reserved].nodes"].impact == "changes"
    assert {path for path, change in found.items() if change.impact == "replaces"} <= {"cloud.hosts[ctl1].machine"}
