"""Rail-optimized fabrics: NIC r of every node of a scalable unit (SU) connects to the same leaf.

RA-11333-001 V11 (DGX H100), RA-11334-001 V08 (DGX B200): SU of 32 nodes, 8 rails, radix 64, pods of an SU.
RA-11338-001 V01 (GB200): SU of 144 trays, 4 rails, one leaf with 18 ports down per rail and rack, pods of one rail
of an SU.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from ..errors import TopologyError, require_at_least
from ..graph import Axis, Fabric
from ..links import NodeLinks
from ..switched import FitContext, LeafTier, SwitchedShape, assemble_fabric, compute_leaf_ports
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
    """Neighboring rails that share a leaf: a divisor of `rails`. With all on one leaf the fabric is a fat-tree."""
    pod: Literal["su", "rail"] = "su"
    """Whether a pod contains all rails of its SUs or one rail of them: then rails are joined by the core only, and with
    one SU not at all (`Fabric.has_disjoint_rails`)."""
    pod_units: int | None = None
    """SUs of a pod; the default is as many as the spines can join, evenly divided."""

    @property
    def nics(self) -> int:
        """Ports of a node in a plane."""
        return self.rails * self.ports_per_rail

    @property
    def is_pod_of_rail(self) -> bool:
        """Whether the core alone joins rails; so it is with leaves only."""
        return self.pod == "rail" or self.tiers == 1

    @property
    def has_fixed_ports(self) -> bool:
        """Whether the ports of a leaf are specified."""
        return self.tiers == 1 or any(item is not None for item in (self.down, self.uplinks, self.spines))


# (whether a pod is of one rail) -> number of tiers -> switches between two rails; None: no path joins them.
_CROSS_RAIL_HOPS: dict[bool, dict[int, int | None]] = {True: {1: None, 2: None, 3: 5}, False: {1: None, 2: 3, 3: 3}}


def build_rail_optimized(shape: RailOptimized) -> Fabric:
    """Wire nodes so that each rail of an SU has separate leaves, all of them built even if the last SU is short.

    Raises TopologyError, with the values and numbers that would fit.
    """
    _require_valid(shape)
    leaf_radix, spine_radix, core_radix = expand_radix(shape.radix)
    leaf_ratio, spine_ratio = expand_oversubscription(shape.oversubscription)
    sides, each = shape.rails // shape.rails_per_leaf, shape.ports_per_rail * shape.rails_per_leaf
    down, up = compute_leaf_ports(
        leaf_radix,
        leaf_ratio,
        down=shape.down,
        uplinks=shape.uplinks,
        multiple=each,
        max_down=shape.unit_nodes * each if shape.unit_nodes else None,
        is_alone=shape.tiers == 1,
    )
    unit_nodes = shape.unit_nodes or down // each
    block = min(unit_nodes, down // each)
    units, blocks = _count_units(shape, unit_nodes), -(-unit_nodes // block)
    sections = sides if shape.is_pod_of_rail else 1
    leaves = LeafUnits(units, blocks * sides // sections, sections, up)
    upper = UpperTiers(spine_radix, core_radix, spine_ratio, shape.tiers, shape.pod_units, shape.spines)
    can_split = not shape.is_pod_of_rail and upper.compute_max_units(3, LeafUnits(units, blocks, sides, up)) >= units
    FitContext(
        nodes=shape.nodes,
        nics=shape.nics,
        unit_nodes=unit_nodes,
        units=leaves,
        upper_tiers=upper,
        radix=shape.radix,
        compute_max_nodes=None if shape.has_fixed_ports else partial(_compute_max_nodes, shape),
        alternatives=("or pods of one rail",) if can_split else (),
    ).require_fit()
    layout = upper.build_layout(leaves)
    hosts = NodeLinks(
        "node",
        "leaf",
        nodes=shape.nodes,
        planes=shape.planes,
        nics=shape.nics,
        unit_nodes=unit_nodes,
        block_nodes=block,
        leaves_per_block=sides,
        unit_stride=blocks if shape.is_pod_of_rail else sides * blocks,
        side_stride=units * blocks if shape.is_pod_of_rail else blocks,
        leaves=leaves.leaf_count,
    )
    su, rail, leaf = Axis("su", units), Axis("rail", sides), Axis("leaf", blocks)
    tier = LeafTier(
        down,
        (rail, su, leaf) if shape.is_pod_of_rail else (su, rail, leaf),
        "su",
        rails=shape.rails,
        cross_rail_hops=_CROSS_RAIL_HOPS[shape.is_pod_of_rail][layout.tiers] if sides > 1 else 1,
        rails_per_leaf=shape.rails_per_leaf,
    )
    return assemble_fabric("rail-optimized", shape, hosts, layout, tier)


def _require_valid(shape: RailOptimized) -> None:
    """Raise TopologyError for a count below its minimum, or rails that cannot be divided among leaves."""
    shape.require_valid_counts()
    require_at_least(1, rails=shape.rails, unit=shape.unit_nodes, units=shape.units, down=shape.down)
    require_at_least(1, ports_per_rail=shape.ports_per_rail, rails_per_leaf=shape.rails_per_leaf)
    if shape.rails % shape.rails_per_leaf:
        fitting = [number for number in range(1, shape.rails + 1) if shape.rails % number == 0]
        raise TopologyError(
            f"{shape.rails} rails cannot be divided into groups of {shape.rails_per_leaf} per leaf",
            f"use {', '.join(map(str, fitting[:-1]))}{' or ' * (len(fitting) > 1)}{fitting[-1]} rails per leaf",
        )
    if shape.pod not in ("su", "rail"):
        raise TopologyError(f"pod is {shape.pod!r}", "pod must be 'su' or 'rail'")


def _count_units(shape: RailOptimized, unit_nodes: int) -> int:
    """Number of SUs that are built. Raises TopologyError if the requested ones are too few."""
    needed = -(-shape.nodes // unit_nodes)
    units = shape.units or needed
    if units < needed:
        raise TopologyError(f"{shape.nodes} nodes do not fit into {units} SU of {unit_nodes}", f"build {needed} SU")
    return units


def _compute_max_nodes(shape: RailOptimized, radix: int, ratio: float) -> int:
    """Maximum number of nodes at another radix and leaf oversubscription."""
    most = compute_max_down(radix, ratio) // (shape.ports_per_rail * shape.rails_per_leaf)
    size = shape.unit_nodes or most
    if most < 1:
        return 0
    sides = shape.rails // shape.rails_per_leaf
    sections = sides if shape.is_pod_of_rail else 1
    upper = UpperTiers(radix, radix, expand_oversubscription(shape.oversubscription)[1], shape.tiers, shape.pod_units)
    units = LeafUnits(1, -(-size // most) * sides // sections, sections, most)
    return size * upper.compute_max_units(shape.tiers or 3, units)
