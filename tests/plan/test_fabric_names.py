"""Names in a fabric are checked whether or not a pool uses the fabric, and whatever else is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec

COMPUTE = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}


@pytest.mark.parametrize(
    "changes, path",
    [
        ({"switch": "nvidia-qm970"}, "fabrics[1].switch"),
        ({"switch": None, "switches": {"leaf": "nvidia-qm970"}}, "fabrics[1].switches.leaf"),
        ({"switch": "nvidia-sn5600"}, "fabrics[1].switch"),  # an Ethernet switch
        ({"cabling": {"nodes": "nvidia-mfp7e1"}}, "fabrics[1].cabling.nodes"),
    ],
)
@pytest.mark.parametrize("used", [[], ["other"]])
def test_names_of_every_fabric_are_checked_at_once(changes: dict[str, Any], path: str, used: list[str]) -> None:
    """The machine has no adapter for the second fabric: both problems are reported."""
    other = COMPUTE | {"name": "other", "role": "management"} | changes
    pools = [pool | {"fabrics": ["compute", *used]} for pool in build_pools("dgx-h100", 4)]
    plan = plan_spec(pools=pools, fabrics=[COMPUTE, {key: value for key, value in other.items() if value}])
    assert [item.path for item in plan.errors].count(path) == 1
    assert bool(used) == any(item.check == "fabric-adapters" for item in plan.errors)
