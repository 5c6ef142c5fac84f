"""Nodes get the labels and taints of the rendered table."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from kube_specs import H100, build_plan, render_objects, select_kind
from samples import ROOT

from supercloud.plan.build.kubernetes.names import build_topology, format_level_label
from supercloud.plan.model.plan import Plan
from supercloud.targets.schedulers.kubernetes.labels import build_label_table


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("label_nodes", ROOT / "templates" / "kubernetes" / "label_nodes.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{}, {"pools": [{"name": "train", "machine": "dgx-gb200", "nodes": 72, "fabrics": ["compute"]}]}]
)
def test_every_node_gets_its_topology_labels(changes: dict[str, Any], tmp_path: Path) -> None:
    plan: Plan = build_plan(changes)
    (tmp_path / "table.txt").write_text("\n".join(build_label_table(plan)) + "\n")
    module = load_script()
    read = module.read_table(tmp_path)
    for pool in plan.pools:
        topology = build_topology(plan, pool)
        place = {
            host: {
                format_level_label(level.name): group.name
                for level in topology.levels
                for group in level.groups
                if host in set(group.hosts)
            }
            for host in pool.hosts
        }
        for host in pool.hosts:
            labels, taints = module.wanted(read, host)
            assert place[host].items() <= labels.items()
            assert labels["supercloud.dev/pool"] == pool.name and labels["supercloud.dev/rack"].startswith("r")
            assert taints == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert module.wanted(read, "cp1") == (None, None)
    assert module.wanted(read, "train-00001") == (None, None), "another width is another host"


def test_labels_are_changed_once() -> None:
    module = load_script()
    node = {
        "metadata": {"name": "train-0001", "resourceVersion": "7", "labels": {"theirs": "x"}},
        "spec": {"taints": [{"key": "theirs", "effect": "NoExecute"}]},
    }
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    patch = module.change(node, {"a": "b"}, [taint])
    assert patch["metadata"] == {"labels": {"a": "b"}, "resourceVersion": "7"}
    assert patch["spec"]["taints"] == [{"key": "theirs", "effect": "NoExecute"}, taint]
    node["metadata"]["labels"]["a"] = "b"  # type: ignore[index]
    node["spec"]["taints"].append(taint)  # type: ignore[attr-defined]
    assert module.change(node, {"a": "b"}, [taint]) is None


def test_a_large_table_is_split() -> None:
    facility = {"rack": {"type": "orv3-48u", "nodes": 2}}
    fabrics = [{"name": "compute", "kind": "roce", "shape": "clos", "switch": "nvidia-sn5600", "su": 1}]
    pools = [H100 | {"nodes": 600, "features": [f"f{number}" for number in range(40)]}]
    items = select_kind(render_objects({"facility": facility, "fabrics": fabrics, "pools": pools}), "ConfigMap")
    parts = [item["data"] for name, item in items.items() if name.startswith("supercloud-system/node-labels-")]
    assert all(len(text) < 1_000_000 for part in parts for text in part.values())
