"""Top-of-rack Clos fabrics: a leaf is a rack, and every tier has its own oversubscription.

Meta's 24k GPU cluster (arXiv 2407.21783 section 3.3.1; uplinks from summaries of its SIGCOMM 2024 paper): racks of 2
servers with 8 GPUs, 18 uplinks for 16 GPUs (1:1.125, so that two of 18 spines may fail), pods of 192 racks, 8 pods
joined at 1:7.
"""

from __future__ import annotations

from ..errors import TopologyError, require
from ..graph import Axis, Fabric
from ..links import NodeLinks
from ..reserved import Reserved
from ..switched import assemble, check_fit, leaf_ports
from ..tiers import Oversubscription, Radix, Units, Upper, per_step, per_tier


def clos(
    nodes: int,
    *,
    nics: int,
    rack: int,
    radix: Radix,
    racks: int | None = None,
    uplinks: int | None = None,
    pod: int | None = None,
    planes: int = 1,
    tiers: int | None = None,
    spines: int | None = None,
    oversubscription: Oversubscription = 1.0,
    reserved: Reserved = 0,
    cage: int = 1,
    peers: int = 0,
) -> Fabric:
    """Wire racks of `rack` nodes, each node with `nics` ports per plane to the rack's leaf of that plane.

    `racks` is the number built (as many as needed, unless given), `pod` the racks of a pod (as many as the spines
    can join, evenly shared out, unless given); pods meet in the core. `oversubscription` is that of the rack, or of
    rack and spine: (1, 7) gives a pod full bandwidth and a seventh of it to the outside. `uplinks` of a rack replace
    the first. `radix`, `spines` and `reserved` are those of `rail_optimized`.

    Raises TopologyError, with the numbers and what would fit.
    """
    require(1, nodes=nodes, nics=nics, rack=rack, racks=racks, uplinks=uplinks, pod=pod, planes=planes, tiers=tiers)
    require(1, cage=cage)
    require(0, peers=peers)
    leaf_radix, spine_radix, core_radix = per_tier(radix)
    rack_ratio, spine_ratio = per_step(oversubscription)
    down = rack * nics
    needed = -(-nodes // rack)
    racks = racks or needed
    if racks < needed:
        raise TopologyError(f"{nodes} nodes do not fit {racks} racks of {rack}", f"build {needed} racks")
    if tiers is None and racks == 1:
        tiers = 1
    down, up = leaf_ports(leaf_radix, rack_ratio, down=down, uplinks=uplinks, step=nics, alone=tiers == 1)
    upper = Upper(spine_radix, core_radix, spine_ratio, tiers, pod, spines, large_pods=True)
    units = Units(racks, 1, 1, up)
    check_fit(nodes, nics, rack, units, upper, radix)
    hosts = NodeLinks(
        "node",
        "leaf",
        nodes=nodes,
        planes=planes,
        nics=nics,
        unit=rack,
        block=rack,
        sides=1,
        unit_stride=1,
        side_stride=1,
        leaves=racks,
    )
    return assemble(
        "clos",
        hosts,
        upper.lay_out(units),
        radix=radix,
        down=down,
        leaf_axes=(Axis("rack", racks),),
        unit_name="rack",
        reserved=reserved,
        cage=cage,
        peers=peers,
    )
