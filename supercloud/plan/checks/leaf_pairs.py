"""Checks of pairs of leaves: links between two leaves help machines only that have a port on each."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ...topology import Fabric as Wiring
from ..model.plan import FabricPlan, Plan

__all__ = ["CHECKS"]


def leaf_pairs(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Nodes whose links all go to one leaf of a pair, so that its failure disconnects them."""
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = next((item for item in plan.fabrics if item.name == declared.name and item.tiers), None)
        if not declared.peer_links or fabric is None:
            continue
        nodes, single = _count_nodes(fabric)
        if not single:
            continue
        pairs = fabric.count_switches("leaf") // 2
        links = f"the {declared.peer_links * pairs} links between leaves do not help" if pairs else "there is no pair"
        yield Finding(
            "leaf-pairs",
            "warning",
            f"fabrics[{index}].peer_links",
            f"{single} of {nodes} nodes of {fabric.name} have links to one leaf only: its failure disconnects them, "
            f"and {links}",
            "set shape: rail-optimized, where the links of a node go to different leaves, or omit peer_links",
        )


def _count_nodes(fabric: FabricPlan) -> tuple[int, int]:
    """Number of nodes, and of those without links to both leaves of a pair."""
    import numpy as np  # planning alone does without

    if not isinstance(fabric.wiring, Wiring):
        return 0, 0
    group = fabric.wiring.link_groups[0]
    if group.source_kind != "node" or group.target_kind != "leaf":
        return 0, 0
    columns = group.build_columns()
    leaves = np.unique(np.stack([columns.source, columns.target]), axis=1)
    pairs, counts = np.unique(np.stack([leaves[0], leaves[1] // 2]), axis=1, return_counts=True)
    nodes = np.unique(columns.source)
    return len(nodes), len(nodes) - len(np.unique(pairs[0][counts > 1]))


CHECKS = (leaf_pairs,)
