"""Plans with every storage product."""

from __future__ import annotations

from typing import Any

from plan.sized_storage import GIVES, plan_storage

from supercloud.catalog import Catalog
from supercloud.plan.model.plan import Plan

FLASH = {"machine": "flash-24", "throughput": GIVES}


STORAGE_FABRIC = {"name": "storage", "kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700"}


def build_plan(catalog: Catalog, *stores: dict[str, Any], **changes: Any) -> Plan:
    plan = plan_storage(catalog, *({"servers": FLASH} | store for store in stores), **changes)
    assert not plan.errors, plan.errors
    return plan


EVERY: list[dict[str, Any]] = [
    {"capacity": "2 PiB", "tier": "best", "interface": "ens1"},
    {"name": "fast", "kind": "weka", "capacity": "1 PiB", "tier": "good", "mount": "/fast", "interface": "ens1"},
    {"name": "proj", "kind": "storage-scale", "capacity": "1 PiB", "tier": "good", "mount": "/proj"},
    {
        "name": "home",
        "kind": "nfs",
        "capacity": "100 TiB",
        "mount": "/home",
        "throughput": {"read": "10 GB/s", "write": "5 GB/s"},
    },
    {"name": "data", "kind": "object", "capacity": "2 PiB", "mount": None},
]
