"""Top-of-rack Clos fabrics: a leaf is a rack, and every tier has a separate oversubscription.

Meta's 24k GPU cluster (arXiv 2407.21783 section 3.3.1; uplinks from summaries of its SIGCOMM 2024 paper): racks of 2
servers with 8 GPUs, 18 uplinks for 16 GPUs (1:1.125, so that two of 18 spines may fail), pods of 192 racks, 8 pods
joined at 1:7.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import TopologyError, require_at_least
from ..graph import Axis, Fabric
from ..links import NodeLinks
from ..switched import FitContext, LeafTier, SwitchedShape, assemble_fabric, compute_leaf_ports
from ..tiers import LeafUnits, UpperTiers, expand_oversubscription, expand_radix


@dataclass(frozen=True, kw_only=True)
class Clos(SwitchedShape):
    """Racks, each with a leaf per plane to which all its nodes are connected."""

    nics: int
    """Ports of a node in a plane."""
    rack_nodes: int
    """Nodes of a rack."""
    racks: int | None = None
    """Racks that are built; the default is as many as required."""
    racks_per_pod: int | None = None
    """Racks of a pod; the default is as many as the spines can join, evenly divided."""


def build_clos(shape: Clos) -> Fabric:
    """Wire racks of nodes, each node with all its ports of a plane to the rack's leaf of that plane.

    Pods are joined by the core. The oversubscription is that of the rack, or of rack and spine: (1, 7) gives a pod full
    bandwidth and a seventh of it to the outside. The uplinks of a rack replace the first.

    Raises TopologyError, with the values and numbers that would fit.
    """
    shape.require_valid_counts()
    nodes, nics, rack_nodes, tiers, racks = shape.nodes, shape.nics, shape.rack_nodes, shape.tiers, shape.racks
    require_at_least(1, nics=nics, rack=rack_nodes, racks=racks, pod=shape.racks_per_pod)
    leaf_radix, spine_radix, core_radix = expand_radix(shape.radix)
    rack_ratio, spine_ratio = expand_oversubscription(shape.oversubscription)
    down = rack_nodes * nics
    needed = -(-nodes // rack_nodes)
    racks = racks or needed
    if racks < needed:
        raise TopologyError(f"{nodes} nodes do not fit into {racks} racks of {rack_nodes}", f"build {needed} racks")
    if tiers is None and racks == 1:
        tiers = 1
    down, up = compute_leaf_ports(
        leaf_radix, rack_ratio, down=down, uplinks=shape.uplinks, multiple=nics, is_alone=tiers == 1
    )
    upper = UpperTiers(
        spine_radix, core_radix, spine_ratio, tiers, shape.racks_per_pod, shape.spines, has_large_pods=True
    )
    units = LeafUnits(racks, 1, 1, up)
    FitContext(
        nodes=nodes, nics=nics, unit_nodes=rack_nodes, units=units, upper_tiers=upper, radix=shape.radix
    ).require_fit()
    hosts = NodeLinks(
        "node",
        "leaf",
        nodes=nodes,
        planes=shape.planes,
        nics=nics,
        unit_nodes=rack_nodes,
        block_nodes=rack_nodes,
        leaves_per_block=1,
        unit_stride=1,
        side_stride=1,
        leaves=racks,
    )
    leaves = LeafTier(down, (Axis("rack", racks),), "rack")
    return assemble_fabric("clos", shape, hosts, upper.build_layout(units), leaves)
