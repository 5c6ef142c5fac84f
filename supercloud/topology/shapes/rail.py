"""Rail-optimized fabrics: NIC r of every node of a scalable unit (SU) goes to the same leaf, one switch away.

RA-11333-001 V11 (DGX H100), RA-11334-001 V08 (DGX B200): SU of 32 nodes, 8 rails, radix 64, pods of an SU.
RA-11338-001 V01 (GB200): SU of 144 trays, 4 rails, one leaf with 18 ports down per rail and rack, pods of one rail
of an SU.
"""

from __future__ import annotations

from typing import Literal

from ..errors import TopologyError, require
from ..graph import Axis, Fabric
from ..links import NodeLinks
from ..reserved import Reserved
from ..switched import assemble, check_fit, leaf_ports
from ..tiers import Oversubscription, Radix, Units, Upper, most_down, per_step, per_tier


def rail_optimized(
    nodes: int,
    *,
    rails: int,
    radix: Radix,
    unit: int | None = None,
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
    reserved: Reserved = 0,
    cage: int = 1,
    peers: int = 0,
) -> Fabric:
    """Wire nodes so that each rail of an SU has leaves of its own, all of them there even if the last SU is short.

    `radix` counts ports at link speed. Per plane a node has `rails * ports_per_rail` ports. `unit` is the nodes of
    an SU (as many as one leaf takes, unless given) and `units` the SUs built (as many as needed). `rails_per_leaf`
    neighbouring rails share a leaf: it divides `rails`, and all of them on one leaf is a fat-tree. A leaf has `down`
    ports for nodes and `uplinks` (half and half, unless given or oversubscribed). `tiers` is 1 (leaves and
    nothing else), 2 or 3, or the fewest that do. A pod holds all rails of `pod_units` SUs ("su") or one rail of
    them ("rail"): then rails meet in the core only, and with one SU not at all (`Fabric.rails_are_disjoint`).
    `spines` per pod and `pod_units` replace what the rules choose. `reserved` leaf ports per plane are kept for
    subnet managers and get links of their own; `cage` neighbouring ports share a cage, as far as they care.
    Where there are several leaves, each keeps `peers` ports for links to the other leaf of its pair.

    Raises TopologyError, with the numbers and what would fit.
    """
    require(1, nodes=nodes, rails=rails, unit=unit, units=units, down=down, uplinks=uplinks)
    require(1, ports_per_rail=ports_per_rail, planes=planes, tiers=tiers, rails_per_leaf=rails_per_leaf)
    require(1, cage=cage)
    require(0, peers=peers)
    if rails % rails_per_leaf:
        fitting = [number for number in range(1, rails + 1) if rails % number == 0]
        raise TopologyError(
            f"{rails} rails do not share leaves {rails_per_leaf} by {rails_per_leaf}",
            f"take {', '.join(map(str, fitting[:-1]))}{' or ' * (len(fitting) > 1)}{fitting[-1]} rails a leaf",
        )
    if pod not in ("su", "rail"):
        raise TopologyError(f"pod is {pod!r}", "a pod is of an 'su' or of a 'rail'")
    leaf_radix, spine_radix, core_radix = per_tier(radix)
    leaf_ratio, spine_ratio = per_step(oversubscription)
    by_hand = down is not None or uplinks is not None or spines is not None or tiers == 1
    sides, each = rails // rails_per_leaf, ports_per_rail * rails_per_leaf  # leaves of a node, its ports on one
    down, up = leaf_ports(
        leaf_radix,
        leaf_ratio,
        down=down,
        uplinks=uplinks,
        step=each,
        wanted=unit * each if unit else None,
        alone=tiers == 1,
    )
    asked = unit
    unit = unit or down // each
    block = min(unit, down // each)
    needed = -(-nodes // unit)
    units = units or needed
    if units < needed:
        raise TopologyError(f"{nodes} nodes do not fit {units} SU of {unit}", f"build {needed} SU")
    by_rail = pod == "rail" or tiers == 1
    sections = sides if by_rail else 1
    blocks = -(-unit // block)

    def limit(radix: int, ratio: float) -> int:
        """The most nodes at another radix and leaf oversubscription."""
        most = most_down(radix, ratio) // each
        size = asked or most
        if most < 1:
            return 0
        upper = Upper(radix, radix, spine_ratio, tiers, pod_units)
        return size * upper.max_units(tiers or 3, Units(1, -(-size // most) * sides // sections, sections, most))

    upper = Upper(spine_radix, core_radix, spine_ratio, tiers, pod_units, spines)
    leaves, nics = Units(units, blocks * sides // sections, sections, up), rails * ports_per_rail
    alternatives = []
    if not by_rail and upper.max_units(3, Units(units, blocks, sides, up)) >= units:
        alternatives.append("or pods of one rail")
    check_fit(nodes, nics, unit, leaves, upper, radix, None if by_hand else limit, *alternatives)
    layout = upper.lay_out(leaves)
    su, rail, leaf = Axis("su", units), Axis("rail", sides), Axis("leaf", blocks)
    hosts = NodeLinks(
        "node",
        "leaf",
        nodes=nodes,
        planes=planes,
        nics=nics,
        unit=unit,
        block=block,
        sides=sides,
        unit_stride=blocks if by_rail else sides * blocks,
        side_stride=units * blocks if by_rail else blocks,
        leaves=leaves.total,
    )
    meeting = {1: None, 2: None, 3: 5} if by_rail else {1: None, 2: 3, 3: 3}
    return assemble(
        "rail-optimized",
        hosts,
        layout,
        radix=radix,
        down=down,
        leaf_axes=(rail, su, leaf) if by_rail else (su, rail, leaf),
        unit_name="su",
        rails=rails,
        reserved=reserved,
        cage=cage,
        peers=peers,
        cross_rail_hops=meeting[layout.tiers] if sides > 1 else 1,
        rails_per_leaf=rails_per_leaf,
    )
