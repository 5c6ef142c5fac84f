"""Trees, blocks and boxes, in the one file that the release reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from slurm_plans import (
    build_gb200_pool,
    build_h100_pool,
    build_plan,
    build_tree,
    build_variant,
    get_setting,
    list_records,
    parse_records,
)

from supercloud.plan.model.plan import Group, Level, Locality, Plan
from supercloud.primitives.nodes import HostSet, expand
from supercloud.targets import render
from supercloud.targets.schedulers.slurm.topology import fold_names
from supercloud.targets.schedulers.slurm.topology_yaml import validate_topologies


def test_releases_before_25_05_have_a_tree() -> None:
    bundle = render(build_plan("24.11"), "slurm")
    assert bundle["topology.conf"].splitlines()[1:] == [
        "SwitchName=su1 Nodes=train-[0001-0032]",
        "SwitchName=su2 Nodes=train-[0033-0064]",
        "SwitchName=su3 Nodes=train-[0065-0096]",
        "SwitchName=su4 Nodes=train-[0097-0127]",
        "SwitchName=compute Switches=su[1-4]",
    ]
    assert get_setting(bundle["slurm.conf"], "TopologyPlugin") == "topology/tree"
    assert "topology.yaml" not in bundle


def test_a_tree_has_every_node_once_and_one_root() -> None:
    for found in (build_plan(), build_variant("22.05", "mixed"), build_variant("22.05", "nvl72")):
        switches = parse_records(render(found, "slurm")["topology.conf"])
        nodes = [node for item in switches if "nodes" in item for node in expand(item["nodes"])]
        assert sorted(nodes) == sorted(node for pool in found.pools for node in pool.hosts)
        inner = [name for item in switches if "switches" in item for name in expand(item["switches"])]
        roots = {item["switchname"] for item in switches} - set(inner)
        assert len(roots) == 1 and len(inner) == len(set(inner))


def test_blocks_depend_on_the_release() -> None:
    for release, key, values in (("23.11", "BlockLevels", "0,1,2"), ("24.05", "BlockSizes", "18,36,72")):
        text = render(build_plan(release, [build_gb200_pool()]), "slurm")
        assert text["topology.conf"].splitlines()[1:] == [
            "BlockName=nvl-d1 Nodes=nvl-[0001-0018]",
            "BlockName=nvl-d2 Nodes=nvl-[0019-0036]",
            "BlockName=nvl-d3 Nodes=nvl-[0037-0054]",
            "BlockName=nvl-d4 Nodes=nvl-[0055-0072]",
            f"{key}={values}",
        ]
        assert get_setting(text["slurm.conf"], "TopologyPlugin") == "topology/block"


def test_a_tree_is_rendered_without_blocks() -> None:
    text = render(build_variant("22.05", "nvl72"), "slurm")
    assert get_setting(text["slurm.conf"], "TopologyPlugin") == "topology/tree"


def test_incomplete_blocks_are_rendered_only_for_releases_with_support() -> None:
    """23.11 to 24.11 die of one: there the tree takes over."""
    text = render(build_variant("24.11", "short-domain"), "slurm")
    assert get_setting(text["slurm.conf"], "TopologyPlugin") == "topology/tree"
    new = yaml.safe_load(render(build_variant("25.11", "short-domain"), "slurm")["topology.yaml"])
    assert new[0]["block"]["blocks"][-1] == {"block": "nvl-d4", "nodes": "nvl-[0055-0070]"}


def test_releases_from_25_05_have_several_topologies() -> None:
    """Blocks do not cover the other pool: its partition has the tree, which is the cluster's."""
    bundle = render(build_variant("25.11", "nvl72"), "slurm")
    found = yaml.safe_load(bundle["topology.yaml"])
    assert {item["topology"]: item["cluster_default"] for item in found} == {
        "scale-up": False,
        "fabric": True,
        "flat": False,
    }
    chosen = {
        item["partitionname"]: item.get("topology") for item in list_records(bundle["slurm.conf"], "PartitionName")
    }
    assert chosen == {"nvl": "scale-up", "train": None}
    assert get_setting(bundle["slurm.conf"], "TopologyPlugin") is None


def test_partitions_select_a_topology() -> None:
    partitions: list[dict[str, Any]] = [
        {"name": "near", "pools": ["nvl"]},
        {"name": "wide", "pools": ["nvl"], "topology": "tree"},
        {"name": "any", "pools": ["nvl"], "topology": "flat"},
    ]
    text = render(build_plan("25.05", [build_gb200_pool()], scheduler={"partitions": partitions}), "slurm")[
        "slurm.conf"
    ]
    found = {item["partitionname"]: item.get("topology") for item in list_records(text, "PartitionName")}
    assert found == {"near": None, "wide": "fabric", "any": "flat"}


def _add_torus(found: Plan) -> Plan:
    hosts = found.pools[0].hosts.slice(0, 16)
    torus = Locality("pod", "torus3d", (Level("torus", (Group("pod", HostSet((hosts,))),)),), dims=(4, 2, 2))
    return replace(found, localities=(*found.localities, torus))


def test_releases_from_26_05_have_a_torus() -> None:
    """Nodes run along the last dimension of the plan, and along x in Slurm (measured on 26.05)."""
    found = yaml.safe_load(render(_add_torus(build_plan("26.05")), "slurm")["topology.yaml"])
    torus = next(item for item in found if "torus3d" in item)["torus3d"]["toruses"][0]
    assert torus["dims"] == {"x": 2, "y": 2, "z": 4}
    sizes = [item["dims"]["x"] * item["dims"]["y"] * item["dims"]["z"] for item in torus["placements"]]
    assert sizes == [16, 8, 4, 2, 1]
    older = yaml.safe_load(render(_add_torus(build_plan("25.11")), "slurm")["topology.yaml"])
    assert not any("torus3d" in item for item in older)


BLOCK = {"block_sizes": [18, 36], "blocks": [{"block": "b", "nodes": "n1"}]}
GOOD: list[dict[str, Any]] = [
    {"topology": "a", "cluster_default": True, "block": BLOCK},
    {"topology": "b", "cluster_default": False, "tree": {"switches": [{"switch": "s", "nodes": "n1"}]}},
    {"topology": "c", "cluster_default": False, "flat": True},
]


def _change_topology(index: int, **change: Any) -> list[dict[str, Any]]:
    return [{**item, **change} if number == index else item for number, item in enumerate(GOOD)]


@pytest.mark.parametrize(
    "bad",
    [
        _change_topology(0, block={**BLOCK, "blok_sizes": [18]}),
        _change_topology(0, block={**BLOCK, "block_sizes": [18, 54]}),
        _change_topology(0, block={**BLOCK, "blocks": []}),
        _change_topology(0, cluster_defualt=True),
        _change_topology(1, cluster_default=True),
        _change_topology(0, cluster_default=False),
        _change_topology(1, topology="a"),
        _change_topology(1, flat=True),
        _change_topology(1, tree={"switches": [{"switch": "s"}]}),
        _change_topology(1, tree={"switches": [{"switch": "s", "nodes": "n1", "children": "t"}]}),
        _change_topology(1, tree={"switches": [{"switch": "s", "node": "n1"}]}),
    ],
)
def test_the_schema_rejects_invalid_topologies(bad: list[dict[str, Any]]) -> None:
    validate_topologies(GOOD)
    with pytest.raises(ValueError):
        validate_topologies(bad)


def test_consecutive_names_are_folded() -> None:
    assert fold_names(["su1", "su2", "su3"]) == "su[1-3]"
    assert fold_names(["su9", "su10", "su12", "root"]) == "su[9-10],su12,root"
    assert fold_names(["a01", "a02"]) == "a01,a02"
    assert fold_names(["8", "9"]) == "[8-9]"
    assert fold_names([]) == ""


@pytest.mark.slow
def test_each_group_is_one_line() -> None:
    small = build_plan("22.05", [build_h100_pool(nodes=128)])
    counts = []
    for nodes in (12512, 1564 * 32):
        pool = replace(
            small.pools[0],
            nodes=nodes,
            hosts=replace(small.pools[0].hosts, last=nodes, width=5),
            addresses=replace(small.pools[0].addresses, count=nodes),
        )
        big = replace(small, pools=(pool,), localities=(build_tree(nodes, 32, width=5),))
        bundle = render(big, "slurm")
        counts.append(
            (
                len(list_records(bundle["slurm.conf"], "NodeName")),
                len(list_records(bundle["topology.conf"], "SwitchName")),
            )
        )
        assert max(map(len, bundle["slurm.conf"].splitlines())) < 300
    assert counts == [(391, 392), (1564, 1565)]
