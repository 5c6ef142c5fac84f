"""Plans of one RoCE fabric, for each dialect."""

from __future__ import annotations

from typing import Any

from plan.test_resolve import build_pools, plan_spec

from supercloud.plan.model.plan import Plan

DIALECTS = ("eos", "frr", "nvue", "sonic")


ROCE = {
    "name": "compute",
    "kind": "roce",
    "shape": "rail-optimized",
    "switch": "nvidia-sn5600",
    "leaf_down": 8,
    "leaf_up": 8,
    "su": 8,
}


def build_plan(dialect: str, **changes: Any) -> Plan:
    plan = plan_spec(pools=build_pools("dgx-h100", 16), fabrics=[ROCE | {"os": dialect} | changes])
    assert not plan.errors, plan.errors
    return plan
