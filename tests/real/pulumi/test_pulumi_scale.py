"""A cluster of 100,000 accelerators has a few hundred resources: none is per node."""

from __future__ import annotations

import json
from collections.abc import Callable

from engine import Engine
from subjects import CLUSTER, EXAMPLE, edit

NODES = 12_500
MOST_RESOURCES = 500


def test_a_preview_of_a_hundred_thousand_accelerators(start: Callable[..., Engine]) -> None:
    engine = start(CLUSTER)
    edit(EXAMPLE, "nodes: 127\n", f"nodes: {NODES}\n")(engine)
    result = engine.run("preview", "--json")
    created = json.loads(result.out)["changeSummary"]["create"]
    assert created <= MOST_RESOURCES
    sizes = [
        step["newState"]["inputs"]["maxSize"]
        for step in json.loads(result.out)["steps"]
        if step["newState"]["type"] == "aws:autoscaling/group:Group"
    ]
    assert NODES in sizes, "all of them in one group"
