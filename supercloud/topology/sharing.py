"""Rails that share a leaf: the possible arrangements of a small rail-optimized fabric, those with the fewest switches
first.

With a leaf for each rail a fabric of eight rails has eight leaves, even for few nodes. NVIDIA DGX BasePOD (RA-11127-001
V5) connects up to eight DGX H100 with one switch of 64 ports. All counts are of one plane and of at most two tiers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .errors import require_at_least
from .tiers import compute_uplinks, spread_uplinks

__all__ = ["LeafArrangement", "LeafRequirements", "compute_arrangements"]


@dataclass(frozen=True, slots=True)
class LeafRequirements:
    """The required ports of the leaves of one plane, and the radix of their switches."""

    leaf_radix: int
    spine_radix: int
    oversubscription: float = 1.0  # ports down per port up of a leaf
    reserved: int = 0  # leaf ports for devices other than nodes
    links: int = 0  # further links on the topmost switches
    peers: int = 0  # ports of each of several leaves for the other leaf of its pair


@dataclass(frozen=True, slots=True)
class LeafArrangement:
    """Leaves of one size under the minimum number of spines that joins them."""

    rails_per_leaf: int
    unit_nodes: int  # nodes on the same leaves
    uplinks: int  # of a leaf; 0 for a single leaf without a tier above
    leaves: int
    spines: int

    @property
    def switch_count(self) -> int:
        """Number of switches of one plane."""
        return self.leaves + self.spines


def compute_arrangements(
    nodes: int, rails: int, ports: LeafRequirements, *, domain_nodes: int = 1, rails_per_leaf: int | None = None
) -> list[LeafArrangement]:
    """All arrangements of the rails of the nodes, best first: few switches, few rails per leaf, few leaves.

    The `domain_nodes` of a scale-up domain are not spread over different leaves. `rails_per_leaf` selects only those
    with this number of rails per leaf. Uplinks are at least those that the oversubscription requires, and spread evenly
    over the spines.

    Raises TopologyError for numbers below 1.
    """
    require_at_least(
        1, nodes=nodes, rails=rails, leaf_radix=ports.leaf_radix, spine_radix=ports.spine_radix, domain=domain_nodes
    )
    require_at_least(1, rails_per_leaf=rails_per_leaf)
    found: list[LeafArrangement] = []
    if rails_per_leaf in (None, rails) and nodes * rails + ports.reserved + ports.links <= ports.leaf_radix:
        found.append(LeafArrangement(rails, ports.leaf_radix // rails, 0, 1, 0))
    for sharing in range(1, rails + 1):
        if rails % sharing == 0 and rails_per_leaf in (None, sharing):
            found += _iter_two_tiers(nodes, rails, sharing, ports, domain_nodes)
    return sorted(found, key=lambda item: (item.switch_count, item.rails_per_leaf, item.leaves, -item.unit_nodes))


def _iter_two_tiers(
    nodes: int, rails: int, rails_per_leaf: int, ports: LeafRequirements, domain_nodes: int
) -> Iterator[LeafArrangement]:
    """Leaves with a number of rails: for each number of leaves the largest unit, and smaller ones that need fewer
    spines.

    A large unit allows growth without moving a cable.
    """
    most = _compute_max_unit(nodes, rails_per_leaf, ports, domain_nodes)
    if most < 1:
        return
    for units in range(-(-nodes // most), nodes + 1):
        least = -(-nodes // units)
        if domain_nodes > 1 and units > 1:
            least = -(-least // domain_nodes) * domain_nodes
        if -(-nodes // least) != units:
            continue  # same result as with fewer units
        leaves = units * rails // rails_per_leaf
        largest = most if units == -(-nodes // most) else -(-nodes // (units - 1)) - 1
        step = domain_nodes if domain_nodes > 1 and units > 1 else 1
        fewest: int | None = None
        for unit in range(largest // step * step, least - 1, -step):
            upper = _compute_spines(leaves, nodes * rails, unit * rails_per_leaf, ports)
            if upper and (fewest is None or upper[0] < fewest):
                fewest = upper[0]
                yield LeafArrangement(rails_per_leaf, unit, upper[1], leaves, upper[0])


def _compute_max_unit(nodes: int, rails_per_leaf: int, ports: LeafRequirements, domain_nodes: int) -> int:
    """Maximum number of nodes on the same leaves: whole domains, unless all nodes fit."""
    room = ports.leaf_radix - ports.peers
    down = room
    while down > 0 and down + compute_uplinks(down, ports.oversubscription) > room:
        down -= 1
    most = down // rails_per_leaf
    if domain_nodes > 1 and not nodes <= most < domain_nodes:
        return most // domain_nodes * domain_nodes
    return most


def _compute_spines(leaves: int, links: int, down: int, ports: LeafRequirements) -> tuple[int, int] | None:
    """Minimum number of spines for leaves with these ports down, and the uplinks of a leaf; None if no number is
    possible.
    """
    least = compute_uplinks(down, ports.oversubscription)
    radix = ports.leaf_radix - ports.peers
    most = min(radix - down, (leaves * radix - links - ports.reserved) // leaves)
    return spread_uplinks(leaves, least, most, ports.spine_radix, links=ports.links)
