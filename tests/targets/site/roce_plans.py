"""Plans of one RoCE fabric, for each dialect."""

from __future__ import annotations

from typing import Any

from plan.test_resolve import planned, train

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


def plan_of(dialect: str, **changes: Any) -> Plan:
    plan = planned(pools=train("dgx-h100", 16), fabrics=[ROCE | {"os": dialect} | changes])
    assert not plan.errors, plan.errors
    return plan
