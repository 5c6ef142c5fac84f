"""Fat-trees: all NICs of a node on one leaf, pods of leaves, full bandwidth unless the leaves are oversubscribed.

With radix k, down = k/2 and a full tree this is the k-ary fat-tree of Al-Fares et al., SIGCOMM 2008: k pods, k*k/2
leaves and spines each, k*k/4 cores, k**3/4 ports.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import TopologyError, require_at_least
from ..graph import Axis, Fabric
from ..links import NodeLinks
from ..reserved import to_port_requests
from ..switched import FitContext, LeafTier, SwitchedShape, assemble_fabric, compute_leaf_ports
from ..tiers import (
    LeafUnits,
    UpperTiers,
    compute_max_down,
    expand_oversubscription,
    expand_radix,
)


@dataclass(frozen=True, kw_only=True)
class FatTree(SwitchedShape):
    """Nodes with all their ports of a plane on one leaf, or on as many whole leaves as they need."""

    nics: int
    """Ports of a node in a plane."""
    leaves: int | None = None
    """Leaves that are built; the default is as many as required."""
    down: int | None = None
    """Ports of a leaf for nodes."""
    pod_leaves: int | None = None
    """Leaves of a pod; the default is as many as the spines can join without blocking, evenly divided."""


def build_fat_tree(shape: FatTree) -> Fabric:
    """Wire nodes to leaves that connect whole nodes; there are no rails.

    A node with more NICs than a leaf has ports down uses as many whole leaves as it needs. Fabrics that fit one switch
    get one switch, unless `tiers` requests more.

    Raises TopologyError, with the values and numbers that would fit.
    """
    shape.require_valid_counts()
    nodes, nics, radix, tiers, leaves = shape.nodes, shape.nics, shape.radix, shape.tiers, shape.leaves
    require_at_least(1, nics=nics, leaves=leaves, down=shape.down, pod=shape.pod_leaves)
    leaf_radix, spine_radix, core_radix = expand_radix(radix)
    leaf_ratio, spine_ratio = expand_oversubscription(shape.oversubscription)
    by_hand = any(item is not None for item in (shape.down, shape.uplinks, shape.spines, leaves))
    if (
        tiers is None
        and not by_hand
        and nodes * nics + sum(ask.ports for ask in to_port_requests(shape.reserved)) <= leaf_radix
    ):
        tiers = 1
    down, up = compute_leaf_ports(
        leaf_radix, leaf_ratio, down=shape.down, uplinks=shape.uplinks, multiple=1, is_alone=tiers == 1
    )
    block, sides = max(1, down // nics), -(-nics // down)

    def compute_max_nodes(radix: int, ratio: float) -> int:
        """Maximum number of nodes at another radix and leaf oversubscription."""
        most = compute_max_down(radix, ratio)
        if most < 1:
            return 0
        upper = UpperTiers(radix, radix, spine_ratio, tiers, pod_units, has_large_pods=True)
        return max(1, most // nics) * upper.compute_max_units(tiers or 3, LeafUnits(1, -(-nics // most), 1, most))

    needed = -(-nodes // block)
    units = LeafUnits(leaves // sides if leaves else needed, sides, 1, up)
    if units.count < needed:
        raise TopologyError(f"{nodes} nodes do not fit on {leaves} leaves", f"build {needed * sides} leaves")
    pod_units = max(1, shape.pod_leaves // sides) if shape.pod_leaves else None
    upper = UpperTiers(spine_radix, core_radix, spine_ratio, tiers, pod_units, shape.spines, has_large_pods=True)
    FitContext(
        nodes=nodes,
        nics=nics,
        unit_nodes=block,
        units=units,
        upper_tiers=upper,
        radix=radix,
        compute_max_nodes=None if by_hand or tiers == 1 else compute_max_nodes,
    ).require_fit()
    hosts = NodeLinks(
        "node",
        "leaf",
        nodes=nodes,
        planes=shape.planes,
        nics=nics,
        unit_nodes=block,
        block_nodes=block,
        leaves_per_block=sides,
        unit_stride=sides,
        side_stride=1,
        leaves=units.leaf_count,
    )
    axes = (Axis("node", units.count), Axis("leaf", sides)) if sides > 1 else (Axis("leaf", units.count),)
    return assemble_fabric(
        "fat-tree",
        shape,
        hosts,
        upper.build_layout(units),
        LeafTier(down, axes, "leaf", rails=sides, cross_rail_hops=3 if sides > 1 else 1),
    )
