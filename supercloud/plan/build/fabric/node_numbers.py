"""Numbers of the nodes in a fabric's wiring: pool by pool, without gaps, in the order in which they fill its leaves."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from ...model.plan import FabricPlan, PoolPlan

__all__ = ["compute_first_nodes"]


def compute_first_nodes(fabric: FabricPlan, pools: Iterable[PoolPlan]) -> dict[str, int]:
    """Pool -> number of its first node in the wiring of a fabric, in the order of the fabric's pools."""
    nodes = {pool.name: pool.nodes for pool in pools}
    return dict(zip(fabric.pools, accumulate((nodes[name] for name in fabric.pools), initial=0), strict=False))
