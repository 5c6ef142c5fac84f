"""Rail-optimized fabrics: NIC r of every node of a scalable unit (SU) connects to the same leaf.

RA-11333-001 V11 (DGX H100), RA-11334-001 V08 (DGX B200): SU of 32 nodes, 8 rails, radix 64, pods of an SU.
RA-11338-001 V01 (GB200): SU of 144 trays, 4 rails, one leaf with 18 ports down per rail and rack, pods of one rail
of an SU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..errors import TopologyError, require_at_least
from ..graph import Axis, Fabric
from ..links import NodeLinks
from ..switched import LeafTier, SwitchedShape, assemble_fabric, compute_leaf_ports, require_fit
from ..tiers import (
    LeafUnits,
    UpperTiers,
    compute_max_down,
    expand_oversubscription,
    expand_radix,
)


@dataclass(frozen=True, kw_only=True)
class RailOptimized(SwitchedShape):
    """Scalable units (SU) of nodes, each with separate leaves for each rail."""

    rails: int
    """Rails of a node in a plane."""
    unit_nodes: int | None = None
    """Nodes of an SU; the default is as many as one leaf connects."""
    units: int | None = None
    """SUs that are built; the default is as many as required."""
    down: int | None = None
    """Ports of a leaf for nodes; the default is half of the ports, or by the oversubscription."""
    ports_per_rail: int = 1
    """Ports of a node in each rail and plane."""
    rails_per_leaf: int = 1
    """Neighbouring rails that share a leaf: a divisor of `rails`. With all on one leaf the fabric is a fat-tree."""
    pod: Literal["su", "rail"] = "su"
    """Whether a pod contains all rails of its SUs or one rail of them: then rails are joined by the core only, and with
    one SU not at all (`Fabric.has_disjoint_rails`)."""
    pod_units: int | None = None
    """SUs of a pod; the default is as many as the spines can join, evenly divided."""


def build_rail_optimized(shape: RailOptimized) -> Fabric:
    """Wire nodes so that each rail of an SU has separate leaves, all of them built even if the last SU is short.

    Raises TopologyError, with the values and numbers that would fit.
    """
    shape.require_valid_counts()
    nodes, rails, radix, tiers = shape.nodes, shape.rails, shape.radix, shape.tiers
    unit_nodes, units, rails_per_leaf = shape.unit_nodes, shape.units, shape.rails_per_leaf
    require_at_least(1, rails=rails, unit=unit_nodes, units=units, down=shape.down)
    require_at_least(1, ports_per_rail=shape.ports_per_rail, rails_per_leaf=rails_per_leaf)
    if rails % rails_per_leaf:
        fitting = [number for number in range(1, rails + 1) if rails % number == 0]
        raise TopologyError(
            f"{rails} rails cannot be divided into groups of {rails_per_leaf} per leaf",
            f"use {', '.join(map(str, fitting[:-1]))}{' or ' * (len(fitting) > 1)}{fitting[-1]} rails per leaf",
        )
    if shape.pod not in ("su", "rail"):
        raise TopologyError(f"pod is {shape.pod!r}", "pod must be 'su' or 'rail'")
    leaf_radix, spine_radix, core_radix = expand_radix(radix)
    leaf_ratio, spine_ratio = expand_oversubscription(shape.oversubscription)
    by_hand = tiers == 1 or any(item is not None for item in (shape.down, shape.uplinks, shape.spines))
    sides, each = (
        rails // rails_per_leaf,
        shape.ports_per_rail * rails_per_leaf,
    )  # leaves of a node, its ports on a leaf
    down, up = compute_leaf_ports(
        leaf_radix,
        leaf_ratio,
        down=shape.down,
        uplinks=shape.uplinks,
        multiple=each,
        max_down=unit_nodes * each if unit_nodes else None,
        is_alone=tiers == 1,
    )
    unit_nodes = unit_nodes or down // each
    block = min(unit_nodes, down // each)
    needed = -(-nodes // unit_nodes)
    units = units or needed
    if units < needed:
        raise TopologyError(f"{nodes} nodes do not fit into {units} SU of {unit_nodes}", f"build {needed} SU")
    by_rail = shape.pod == "rail" or tiers == 1
    sections = sides if by_rail else 1
    blocks = -(-unit_nodes // block)

    def compute_max_nodes(radix: int, ratio: float) -> int:
        """Maximum number of nodes at another radix and leaf oversubscription."""
        most = compute_max_down(radix, ratio) // each
        size = shape.unit_nodes or most
        if most < 1:
            return 0
        upper = UpperTiers(radix, radix, spine_ratio, tiers, shape.pod_units)
        return size * upper.compute_max_units(
            tiers or 3, LeafUnits(1, -(-size // most) * sides // sections, sections, most)
        )

    upper = UpperTiers(spine_radix, core_radix, spine_ratio, tiers, shape.pod_units, shape.spines)
    leaves, nics = LeafUnits(units, blocks * sides // sections, sections, up), rails * shape.ports_per_rail
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
        planes=shape.planes,
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
        shape,
        hosts,
        layout,
        LeafTier(
            down,
            (rail, su, leaf) if by_rail else (su, rail, leaf),
            "su",
            rails=rails,
            cross_rail_hops=meeting[layout.tiers] if sides > 1 else 1,
            rails_per_leaf=rails_per_leaf,
        ),
    )
