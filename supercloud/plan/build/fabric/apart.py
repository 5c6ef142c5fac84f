"""Leaves without a tier above, whose uplinks lead to an upstream fabric: usual for management networks."""

from __future__ import annotations

from ....topology import Fabric as Wiring
from ....topology import TopologyError
from ....topology.graph import Axis
from ....topology.links import NodeLinks
from ....topology.reserved import PortReservation, to_port_requests
from ....topology.switched import LeafTier, SwitchedShape, assemble_fabric
from ....topology.tiers import LeafUnits, TierLayout

__all__ = ["build_single_tier"]


def build_single_tier(
    nodes: int,
    *,
    nics: int,
    radix: int,
    down: int | None,
    reserved: PortReservation,
    max_leaf_nodes: int | None = None,
    peer_ports: int = 0,
) -> Wiring:
    """Place nodes and reserved links on as many leaves as they need, with all ports of a leaf facing down.

    ``down`` is the number of ports of a leaf for nodes; if empty, the nodes are spread evenly over the fewest leaves,
    with at most ``max_leaf_nodes`` nodes each. With several leaves, each keeps ``peer_ports`` ports for the other leaf
    of its pair. Raises TopologyError.
    """
    asked = sum(ask.ports for ask in to_port_requests(reserved))
    leaves = 1
    if down is None:
        leaves = max(-(-(nodes * nics + asked) // radix), -(-nodes // max_leaf_nodes) if max_leaf_nodes else 1)
        if leaves > 1 and peer_ports < radix:
            leaves = max(leaves, -(-(nodes * nics + asked) // (radix - peer_ports)))
        down = -(-nodes // leaves) * nics
    block = down // nics
    if block < 1 or down > radix:
        raise TopologyError(
            f"a leaf of {radix} ports cannot have {down} ports for nodes with {nics} links each",
            f"use between {nics} and {radix}",
        )
    leaves = max(leaves, -(-nodes // block))
    hosts = NodeLinks(
        "node",
        "leaf",
        nodes=nodes,
        planes=1,
        nics=nics,
        unit_nodes=block,
        block_nodes=block,
        leaves_per_block=1,
        unit_stride=1,
        side_stride=1,
        leaves=leaves,
    )
    layout = TierLayout(1, LeafUnits(leaves, 1, 1, 0), leaves)
    shape = SwitchedShape(nodes, radix=radix, reserved=reserved, peer_ports=peer_ports)
    return assemble_fabric(
        "fat-tree", shape, hosts, layout, LeafTier(down, (Axis("leaf", leaves),), "leaf", cross_rail_hops=3)
    )
