"""Fat-trees: all NICs of a node on one leaf, pods of leaves, full bandwidth unless the leaves are oversubscribed.

With radix k, down = k/2 and a full tree this is the k-ary fat-tree of Al-Fares et al., SIGCOMM 2008: k pods, k*k/2
leaves and spines each, k*k/4 cores, k**3/4 ports.
"""

from __future__ import annotations

from ..errors import TopologyError, require_at_least
from ..graph import Axis, Fabric
from ..links import NodeLinks
from ..reserved import PortReservation, to_port_requests
from ..switched import assemble_fabric, compute_leaf_ports, require_fit
from ..tiers import (
    LeafUnits,
    Oversubscription,
    Radix,
    UpperTiers,
    compute_max_down,
    expand_oversubscription,
    expand_radix,
)


def build_fat_tree(
    nodes: int,
    *,
    nics: int,
    radix: Radix,
    leaves: int | None = None,
    down: int | None = None,
    uplinks: int | None = None,
    planes: int = 1,
    tiers: int | None = None,
    pod_leaves: int | None = None,
    spines: int | None = None,
    oversubscription: Oversubscription = 1.0,
    reserved: PortReservation = 0,
    cage_ports: int = 1,
    peer_ports: int = 0,
) -> Fabric:
    """Wire nodes with `nics` ports each per plane. A leaf connects whole nodes; there are no rails.

    A node with more NICs than a leaf has ports down uses as many whole leaves as it needs. Fabrics that fit one switch
    get one switch, unless `tiers` requests more; with three tiers pods have as many leaves as the spines can join
    without blocking, evenly divided, or `pod_leaves`. `leaves` is the number of leaves built (default: as many as
    required). The other numbers are those of `build_rail_optimized`.

    Raises TopologyError, with the values and numbers that would fit.
    """
    require_at_least(1, nodes=nodes, nics=nics, leaves=leaves, down=down, uplinks=uplinks)
    require_at_least(1, planes=planes, tiers=tiers, pod_leaves=pod_leaves)
    require_at_least(1, cage=cage_ports)
    require_at_least(0, peers=peer_ports)
    leaf_radix, spine_radix, core_radix = expand_radix(radix)
    leaf_ratio, spine_ratio = expand_oversubscription(oversubscription)
    by_hand = down is not None or uplinks is not None or spines is not None or leaves is not None
    if (
        tiers is None
        and not by_hand
        and nodes * nics + sum(ask.ports for ask in to_port_requests(reserved)) <= leaf_radix
    ):
        tiers = 1
    down, up = compute_leaf_ports(leaf_radix, leaf_ratio, down=down, uplinks=uplinks, multiple=1, is_alone=tiers == 1)
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
    pod_units = max(1, pod_leaves // sides) if pod_leaves else None
    upper = UpperTiers(spine_radix, core_radix, spine_ratio, tiers, pod_units, spines, has_large_pods=True)
    require_fit(nodes, nics, block, units, upper, radix, None if by_hand or tiers == 1 else compute_max_nodes)
    hosts = NodeLinks(
        "node",
        "leaf",
        nodes=nodes,
        planes=planes,
        nics=nics,
        unit_nodes=block,
        block_nodes=block,
        leaves_per_block=sides,
        unit_stride=sides,
        side_stride=1,
        leaves=units.leaf_count,
    )
    return assemble_fabric(
        "fat-tree",
        hosts,
        upper.build_layout(units),
        radix=radix,
        down=down,
        leaf_axes=(Axis("node", units.count), Axis("leaf", sides)) if sides > 1 else (Axis("leaf", units.count),),
        unit_name="leaf",
        rails=sides,
        reserved=reserved,
        cage_ports=cage_ports,
        peer_ports=peer_ports,
        cross_rail_hops=3 if sides > 1 else 1,
    )
