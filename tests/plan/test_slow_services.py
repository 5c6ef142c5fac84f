"""Links far slower than a leaf's ports: no splitter has so many ends, and no port gets two cables."""

from __future__ import annotations

import pytest
from plan.test_resolve import plan_spec

from supercloud.targets import render

STORAGE = {"name": "storage", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}


@pytest.mark.parametrize("speed, split", [("1 Mb/s", 1), ("40 Gb/s", 1), ("50 Gb/s", 8), ("200 Gb/s", 2)])
def test_slow_links_share_a_port_if_a_splitter_exists(speed: str, split: int) -> None:
    service = {"name": "home", "count": 3, "links": 31, "speed": speed}
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 32, "fabrics": ["storage"]}]
    plan = plan_spec(pools=pools, fabrics=[STORAGE | {"services": [service]}])
    assert plan.fabrics[0].services[0].split == split
    assert render(plan, "bom").files
