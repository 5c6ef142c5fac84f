"""What prevents that a part of a plan is built, each with its path, and a spec beside it without the problem."""

from __future__ import annotations

from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec

AWS: dict[str, Any] = {"site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]}, "fabrics": []}
CPU = {"name": "cpu", "machine": "m6i.8xlarge", "nodes": 2}
TORUS = {"name": "compute", "kind": "roce", "shape": "torus"}
MI300X = build_pools("mi300x-8gpu", 32)
COMPUTE = {"name": "compute", "kind": "infiniband"}
CLOS = {"name": "compute", "kind": "roce", "shape": "clos", "switch": "nvidia-sn5600"}
STORE = {"name": "scratch", "kind": "lustre", "capacity": "1 PiB"}
RATE = {"throughput_per_tib": "1 GB/s"}
TENANT = {"tenants": [{"name": "lab", "users": ["ada"]}]}

# check, level, path, spec with the problem, spec without it
CASES: list[tuple[str, str, str, dict[str, Any], dict[str, Any]]] = [
    (
        "fabric-dims",
        "error",
        "fabrics[0]",
        {"pools": MI300X, "fabrics": [TORUS]},
        {"pools": MI300X, "fabrics": [TORUS | {"dims": [4, 4, 2]}]},
    ),
    (
        "fabric-dims",
        "error",
        "fabrics[0].dims",
        {"pools": MI300X, "fabrics": [TORUS | {"dims": [4, 4, 4]}]},
        {"pools": MI300X, "fabrics": [TORUS | {"dims": [4, 8]}]},
    ),
    (
        "fabric-switch",
        "error",
        "fabrics[0]",
        {"fabrics": [COMPUTE]},
        {"fabrics": [COMPUTE | {"switch": "nvidia-qm9700"}]},
    ),
    (
        "fabric-switch",
        "error",
        "fabrics[0].switch",
        {"fabrics": [COMPUTE | {"switch": "nvidia-sn5600"}]},
        {"fabrics": [COMPUTE | {"switch": "nvidia-qm9700"}]},
    ),
    ("fabric-rack", "error", "fabrics[0]", {"fabrics": [CLOS]}, {"fabrics": [CLOS | {"su": 4}]}),
    (
        "fabric-rails",
        "error",
        "fabrics[0].leaf_rails",
        {"fabrics": [CLOS | {"su": 4, "leaf_rails": 2}]},
        {"fabrics": [CLOS | {"su": 4}]},
    ),
    (
        "storage-throughput",
        "error",
        "storage[0]",
        {"storage": [STORE | RATE | {"tier": "best"}]},
        {"storage": [STORE | RATE]},
    ),
    (
        "storage-throughput",
        "error",
        "storage[0].throughput_per_tib",
        {"storage": [{"name": "scratch", "kind": "lustre"} | RATE]},
        {"storage": [STORE | RATE]},
    ),
    (
        "subnet-license",
        "error",
        "fabrics[0].sharp",
        {"fabrics": [COMPUTE | {"switch": "nvidia-qm9700", "sharp": True}]},
        {"fabrics": [COMPUTE | {"switch": "nvidia-qm9700", "sharp": True, "subnet_manager": "nvidia"}]},
    ),
    (
        "subnet-license",
        "error",
        "fabrics[0].adaptive_routing",
        {"fabrics": [CLOS | {"su": 4, "adaptive_routing": True}]},
        {"fabrics": [CLOS | {"su": 4}]},
    ),
    (
        "suppress-unknown",
        "error",
        "suppress[0].check",
        {"suppress": [{"check": "power-hedroom", "reason": "typo"}]},
        {"suppress": [{"check": "power-headroom", "reason": "known"}]},
    ),
    (
        "user-tenant",
        "warning",
        "users[0].name",
        AWS | TENANT | {"pools": [CPU], "users": [{"name": "bob", "uid": 2001}]},
        AWS | TENANT | {"pools": [CPU], "users": [{"name": "ada", "uid": 2001}]},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_the_problem_is_reported_at_its_path_and_only_if_it_exists(
    case: tuple[str, str, str, dict[str, Any], dict[str, Any]],
) -> None:
    check, level, path, wrong, right = case
    found = [item for item in plan_spec(**wrong).findings if item.check == check]
    assert [(item.level, item.path) for item in found] == [(level, path)]
    assert all(item.problem and item.hint for item in found)
    assert not [item for item in plan_spec(**right).findings if item.check == check]
