"""Top-of-rack Clos fabrics: a leaf is a rack, and every tier has a separate oversubscription.

Meta's 24k GPU cluster (arXiv 2407.21783 section 3.3.1; uplinks from summaries of its SIGCOMM 2024 paper): racks of 2
servers with 8 GPUs, 18 uplinks for 16 GPUs (1:1.125, so that two of 18 spines may fail), pods of 192 racks, 8 pods
joined at 1:7.
"""

from __future__ import annotations

from ..errors import TopologyError, require_at_least
from ..graph import Axis, Fabric
from ..links import NodeLinks
from ..reserved import PortReservation
from ..switched import assemble_fabric, compute_leaf_ports, require_fit
from ..tiers import LeafUnits, Oversubscription, Radix, UpperTiers, expand_oversubscription, expand_radix


def build_clos(
    nodes: int,
    *,
    nics: int,
    rack_nodes: int,
    radix: Radix,
    racks: int | None = None,
    uplinks: int | None = None,
    racks_per_pod: int | None = None,
    planes: int = 1,
    tiers: int | None = None,
    spines: int | None = None,
    oversubscription: Oversubscription = 1.0,
    reserved: PortReservation = 0,
    cage_ports: int = 1,
    peer_ports: int = 0,
) -> Fabric:
    """Wire racks of `rack_nodes` nodes, each node with `nics` ports per plane to the rack's leaf of that plane.

    `racks` is the number of racks built (default: as many as required), `racks_per_pod` the racks of a pod (default: as
    many as the spines can join, evenly divided); pods are joined by the core. `oversubscription` is that of the rack,
    or of rack and spine: (1, 7) gives a pod full bandwidth and a seventh of it to the outside. `uplinks` of a rack
    replace the first. `radix`, `spines` and `reserved` are those of `build_rail_optimized`.

    Raises TopologyError, with the values and numbers that would fit.
    """
    require_at_least(
        1,
        nodes=nodes,
        nics=nics,
        rack=rack_nodes,
        racks=racks,
        uplinks=uplinks,
        pod=racks_per_pod,
        planes=planes,
        tiers=tiers,
    )
    require_at_least(1, cage=cage_ports)
    require_at_least(0, peers=peer_ports)
    leaf_radix, spine_radix, core_radix = expand_radix(radix)
    rack_ratio, spine_ratio = expand_oversubscription(oversubscription)
    down = rack_nodes * nics
    needed = -(-nodes // rack_nodes)
    racks = racks or needed
    if racks < needed:
        raise TopologyError(f"{nodes} nodes do not fit into {racks} racks of {rack_nodes}", f"build {needed} racks")
    if tiers is None and racks == 1:
        tiers = 1
    down, up = compute_leaf_ports(
        leaf_radix, rack_ratio, down=down, uplinks=uplinks, multiple=nics, is_alone=tiers == 1
    )
    upper = UpperTiers(spine_radix, core_radix, spine_ratio, tiers, racks_per_pod, spines, has_large_pods=True)
    units = LeafUnits(racks, 1, 1, up)
    require_fit(nodes, nics, rack_nodes, units, upper, radix)
    hosts = NodeLinks(
        "node",
        "leaf",
        nodes=nodes,
        planes=planes,
        nics=nics,
        unit_nodes=rack_nodes,
        block_nodes=rack_nodes,
        leaves_per_block=1,
        unit_stride=1,
        side_stride=1,
        leaves=racks,
    )
    return assemble_fabric(
        "clos",
        hosts,
        upper.build_layout(units),
        radix=radix,
        down=down,
        leaf_axes=(Axis("rack", racks),),
        unit_name="rack",
        reserved=reserved,
        cage_ports=cage_ports,
        peer_ports=peer_ports,
    )
