"""Plans with networks that the tests of addresses, names and AS numbers share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from plan.test_resolve import build_pools, plan_spec

from supercloud.plan.model.network import NetworksPlan, Underlay
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load

ROCE = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}
CLOS = {"name": "compute", "kind": "roce", "shape": "clos", "switch": "nvidia-sn5600", "su": 2, "racks_per_pod": 8}


def get_networks(plan: Plan) -> NetworksPlan:
    assert plan.networks is not None
    return plan.networks


def find_underlay(**changes: Any) -> Underlay:
    nodes = changes.pop("nodes", 64)
    fabric = changes.pop("fabric", ROCE)
    (found,) = get_networks(plan_spec(pools=build_pools("dgx-h100", nodes), fabrics=[fabric | changes])).underlays
    return found


def list_problems(plan: Plan, check: str) -> list[tuple[str, str]]:
    return [(finding.path, finding.problem) for finding in plan.findings if finding.check == check]


def plan_file(folder: Path, **more: Any) -> Plan:
    spec = {
        "name": "pod1",
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": build_pools("dgx-h100", 64),
        "fabrics": [ROCE],
    } | more
    (folder / "cluster.yaml").write_text(yaml.safe_dump(spec))
    return resolve(load(folder / "cluster.yaml"))
