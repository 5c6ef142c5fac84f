"""Rail-optimized fabrics: NIC r of every node of a scalable unit (SU) connects to the same leaf.

RA-11333-001 V11 (DGX H100), RA-11334-001 V08 (DGX B200): SU of 32 nodes, 8 rails, radix 64, pods of an SU.
RA-11338-001 V01 (GB200): SU of 144 trays, 4 rails, one leaf with 18 ports down per rail and rack, pods of one rail
of an SU.
"""

from __future__ import annotations

from typing import Literal

from ..errors import TopologyError, require_at_least
from ..graph import Axis, Fabric
from ..links import NodeLinks
from ..reserved import PortReservation
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


def build_rail_optimized(
    nodes: int,
    *,
    rails: int,
    radix: Radix,
    unit_nodes: int | None = None,
    units: int | None = None,
    down: int | None = None,
    uplinks: int | None = None,
    ports_per_rail: int = 1,
    rails_per_leaf: int = 1,
    planes: int = 1,
    tiers: int | None = None,
    pod: Literal["su", "rail"] = "su",
    pod_units: int | None = None,
    spines: int | None = None,
    oversubscription: Oversubscription = 1.0,
    reserved: PortReservation = 0,
    cage_ports: int = 1,
    peer_ports: int = 0,
) -> Fabric:
    """Wire nodes so that each rail of an SU has separate leaves, all of them built even if the last SU is short.

    `radix` counts ports at link speed. Per plane a node has `rails * ports_per_rail` ports. `unit_nodes` is the number
    of nodes of an SU (default: as many as one leaf connects) and `units` the number of SUs built (default: as many as
    required). `rails_per_leaf` neighbouring rails share a leaf: it divides `rails`, and with all of them on one leaf
    the fabric is a fat-tree. A leaf has `down` ports for nodes and `uplinks` (default: half each, or by the
    oversubscription). `tiers` is 1 (leaves only), 2 or 3; the default is the minimum. A pod contains all rails of
    `pod_units` SUs ("su") or one rail of them ("rail"): then rails are joined by the core only, and with one SU not at
    all (`Fabric.has_disjoint_rails`). `spines` per pod and `pod_units` replace the values of the rules. `reserved` leaf
    ports per plane are kept for subnet managers and get separate links; `cage_ports` neighbouring ports share a cage,
    for requests that need cages. With several leaves, each keeps `peer_ports` ports for links to the other leaf of its
    pair.

    Raises TopologyError, with the values and numbers that would fit.
    """
    require_at_least(1, nodes=nodes, rails=rails, unit=unit_nodes, units=units, down=down, uplinks=uplinks)
    require_at_least(1, ports_per_rail=ports_per_rail, planes=planes, tiers=tiers, rails_per_leaf=rails_per_leaf)
    require_at_least(1, cage=cage_ports)
    require_at_least(0, peers=peer_ports)
    if rails % rails_per_leaf:
        fitting = [number for number in range(1, rails + 1) if rails % number == 0]
        raise TopologyError(
            f"{rails} rails cannot be divided into groups of {rails_per_leaf} per leaf",
            f"use {', '.join(map(str, fitting[:-1]))}{' or ' * (len(fitting) > 1)}{fitting[-1]} rails per leaf",
        )
    if pod not in ("su", "rail"):
        raise TopologyError(f"pod is {pod!r}", "pod must be 'su' or 'rail'")
    leaf_radix, spine_radix, core_radix = expand_radix(radix)
    leaf_ratio, spine_ratio = expand_oversubscription(oversubscription)
    by_hand = down is not None or uplinks is not None or spines is not None or tiers == 1
    sides, each = rails // rails_per_leaf, ports_per_rail * rails_per_leaf  # leaves of a node, its ports on a leaf
    down, up = compute_leaf_ports(
        leaf_radix,
        leaf_ratio,
        down=down,
        uplinks=uplinks,
        multiple=each,
        max_down=unit_nodes * each if unit_nodes else None,
        is_alone=tiers == 1,
    )
    asked = unit_nodes
    unit_nodes = unit_nodes or down // each
    block = min(unit_nodes, down // each)
    needed = -(-nodes // unit_nodes)
    units = units or needed
    if units < needed:
        raise TopologyError(f"{nodes} nodes do not fit into {units} SU of {unit_nodes}", f"build {needed} SU")
    by_rail = pod == "rail" or tiers == 1
    sections = sides if by_rail else 1
    blocks = -(-unit_nodes // block)

    def compute_max_nodes(radix: int, ratio: float) -> int:
        """Maximum number of nodes at another radix and leaf oversubscription."""
        most = compute_max_down(radix, ratio) // each
        size = asked or most
        if most < 1:
            return 0
        upper = UpperTiers(radix, radix, spine_ratio, tiers, pod_units)
        return size * upper.compute_max_units(
            tiers or 3, LeafUnits(1, -(-size // most) * sides // sections, sections, most)
        )

    upper = UpperTiers(spine_radix, core_radix, spine_ratio, tiers, pod_units, spines)
    leaves, nics = LeafUnits(units, blocks * sides // sections, sections, up), rails * ports_per_rail
    alternatives = []
    if not by_rail and upper.compute_max_units(3, LeafUnits(units, blocks, sides, up)) >= units:
        alternatives.append("or pods of one rail")
    require_fit(nodes, nics, unit_nodes, leaves, upper, radix, None if by_hand else compute_max_nodes, *alternatives)
    layout = upper.build_layout(leaves)
    su, rail, leaf = Axis("su", units), Axis("rail", sides), Axis("leaf", blocks)
    hosts = NodeLinks(
        "node",
        "leaf",
        nodes=nodes,
        planes=planes,
        nics=nics,
        unit_nodes=unit_nodes,
        block_nodes=block,
        leaves_per_block=sides,
        unit_stride=blocks if by_rail else sides * blocks,
        side_stride=units * blocks if by_rail else blocks,
        leaves=leaves.leaf_count,
    )
    meeting = {1: None, 2: None, 3: 5} if by_rail else {1: None, 2: 3, 3: 3}
    return assemble_fabric(
        "rail-optimized",
        hosts,
        layout,
        radix=radix,
        down=down,
        leaf_axes=(rail, su, leaf) if by_rail else (su, rail, leaf),
        unit_name="su",
        rails=rails,
        reserved=reserved,
        cage_ports=cage_ports,
        peer_ports=peer_ports,
        cross_rail_hops=meeting[layout.tiers] if sides > 1 else 1,
        rails_per_leaf=rails_per_leaf,
    )
