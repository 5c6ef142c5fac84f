"""Names of hosts that exist: findings with the place in the file, differences, and placement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from plan.test_resolve import plan_spec

from supercloud.errors import SpecError
from supercloud.jobs.fleet.observations import NodeState
from supercloud.jobs.fleet.state import Cluster
from supercloud.plan.publish.diff import diff_plans
from supercloud.spec.loader import load


def build_pool(names: Any, nodes: int, **more: Any) -> dict[str, Any]:
    return {"name": "train", "machine": "dgx-h100", "nodes": nodes, "hosts": {"names": names}, **more}


@pytest.mark.parametrize(
    "pool, path, problem, hint",
    [
        (
            build_pool("gpu[1-3]", 4),
            "pools[0].hosts.names",
            "3 names, gpu1 to gpu3, but the pool has 4 nodes",
            "nodes to 3",
        ),
        (build_pool(["zeus", "zeus"], 2), "pools[0].hosts.names", "zeus is the name of two nodes", "one name"),
        (build_pool(["zeus", "GPU1"], 2), "pools[0].hosts.names[1]", "'GPU1' is not a host name", ""),
        (build_pool("gpu[1-", 2), "pools[0].hosts.names", "brackets and commas do not match", ""),
        (
            build_pool("gpu[1-2]", 2, hostname="gpu"),
            "pools[0].hostname",
            "the hosts have names of their own",
            "omit hostname",
        ),
    ],
)
def test_wrong_names_are_reported_with_their_line(
    tmp_path: Path, pool: dict[str, Any], path: str, problem: str, hint: str
) -> None:
    spec = {"name": "a", "site": {"kind": "onprem", "location": "stockholm"}}
    spec |= {"scheduler": {"kind": "slurm", "version": "25.11"}, "pools": [pool]}
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(spec))
    with pytest.raises(SpecError) as error:
        load(tmp_path / "cluster.yaml")
    (finding,) = error.value.findings
    assert finding.path == path and problem in finding.problem and hint in finding.hint
    assert finding.line > 1


def test_a_name_belongs_to_one_host() -> None:
    pools = [build_pool("gpu[1-4]", 4), build_pool("zeus,gpu[4-6]", 4) | {"name": "dev"}]
    found = [item for item in plan_spec(pools=pools).findings if item.check == "duplicate-name"]
    assert [(item.path, item.problem) for item in found] == [
        ("pools[1].hosts.names", "gpu4 would be the name of a node of dev and of a node of train"),
        (
            "pools[1].hosts.names",
            "bmc-gpu4 would be the name of the management port of dev and of the management port of train",
        ),
    ]
    pools = [build_pool("dev-[0001-0002]", 2), {"name": "dev", "machine": "dgx-h100", "nodes": 2}]
    found = [item for item in plan_spec(pools=pools).findings if item.check == "duplicate-name"]
    assert found[0].problem == "dev-0001 would be the name of a node of dev and of a node of train"


def test_names_may_be_like_those_of_other_pools() -> None:
    pools = [build_pool("gpu[01-04]", 4), build_pool("gpu[05-08]", 4) | {"name": "dev"}]
    plan = plan_spec(pools=pools)
    assert not plan.errors
    assert [str(pool.hosts) for pool in plan.pools] == ["gpu[01-04]", "gpu[05-08]"]


@pytest.mark.parametrize(
    "new, nodes, impact",
    [
        ("gpu[1-6],zeus", 7, "changes"),
        ("gpu[1-2]", 2, "removes"),
        ("gpu[2-5]", 4, "replaces"),
        ("gpu[1-4],hera", 5, "changes"),
    ],
)
def test_differences_of_names_have_their_impact(new: str, nodes: int, impact: str) -> None:
    old = plan_spec(pools=[build_pool("gpu[1-4]", 4)])
    found = {item.path: item.impact for item in diff_plans(old, plan_spec(pools=[build_pool(new, nodes)]))}
    assert found["pools[train].hosts"] == impact


def test_names_without_numbers_can_be_added() -> None:
    old = plan_spec(pools=[build_pool("zeus,hera", 2)])
    found = {item.path: item.impact for item in diff_plans(old, plan_spec(pools=[build_pool("zeus,hera,ares", 3)]))}
    assert found["pools[train].hosts"] == "changes"


def test_the_answer_of_the_scheduler_is_read_by_name() -> None:
    plan = plan_spec(pools=[build_pool("gpu[08-09,31],zeus", 4)])
    nodes = [NodeState("gpu31", "up"), NodeState("zeus", "up", in_use=3), NodeState("train-0001", "up")]
    state = Cluster.from_plan(plan).with_observations(nodes, 0.0).pools["train"]
    assert (list(state.healthy), list(state.free)) == ([0, 0, 8, 8], [0, 0, 8, 5])


def test_hosts_have_no_effect_on_a_cloud() -> None:
    pool = {"name": "train", "machine": "p5.48xlarge", "nodes": 2, "hosts": {"names": "gpu[1-2]"}}
    plan = plan_spec(site={"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]}, pools=[pool], fabrics=[])
    assert [item.path for item in plan.findings if item.check == "cloud-fields"] == ["pools[0].hosts"]
    assert str(plan.pools[0].hosts) == "train-[0001-0002]"
