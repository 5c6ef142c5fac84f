"""Compute fabrics smaller than a scalable unit: rails share leaves if that needs fewer switches.

Only if the spec does not fix leaves and spines. Storage and in-band networks keep a leaf for each port of a node: there
the second port provides redundancy for the first leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....catalog.machine import ScalableUnit
from ....spec import Fabric
from ....topology import Fabric as Wiring
from ....topology import (
    LeafArrangement,
    LeafRequirements,
    RailOptimized,
    TopologyError,
    build_rail_optimized,
    compute_arrangements,
)
from ....topology.reserved import PortRequest
from ....topology.tiers import compute_max_down

__all__ = ["SmallFabric", "has_open_leaves", "is_small", "select_fewest_switches"]


@dataclass(frozen=True)
class SmallFabric:
    """The requirements of the fabric, and its switches."""

    nodes: int
    rails: int
    planes: int
    domain_nodes: int
    """Nodes of a scale-up domain."""
    radix: tuple[int, int, int]
    oversubscription: tuple[float, float]
    reserved: tuple[PortRequest, ...]
    """Reserved ports per plane."""
    cage_ports: int
    rails_per_leaf: int | None
    peer_ports: int = 0
    """Ports of a leaf for the other leaf of its pair."""
    links: int = 0
    """Further links to the topmost switches of one plane."""

    def list_arrangements(self) -> list[LeafArrangement]:
        """All arrangements with space for the nodes and the reserved ports, best first."""
        reserved = sum(ask.ports for ask in self.reserved)
        ports = LeafRequirements(
            self.radix[0], self.radix[1], self.oversubscription[0], reserved, self.links, self.peer_ports
        )
        return compute_arrangements(
            self.nodes, self.rails, ports, domain_nodes=self.domain_nodes, rails_per_leaf=self.rails_per_leaf
        )

    def build_wiring(self, arrangement: LeafArrangement, spines: int | None) -> Wiring:
        """The wiring of an arrangement, or the same with more spines. Raises TopologyError."""
        has_spines = arrangement.uplinks > 0
        return build_rail_optimized(
            RailOptimized(
                self.nodes,
                rails=self.rails,
                radix=self.radix,
                unit_nodes=arrangement.unit_nodes,
                down=arrangement.unit_nodes * arrangement.rails_per_leaf,
                uplinks=arrangement.uplinks or None,
                rails_per_leaf=arrangement.rails_per_leaf,
                planes=self.planes,
                tiers=2 if has_spines else 1,
                spines=spines if has_spines else None,
                oversubscription=self.oversubscription,
                reserved=self.reserved,
                cage_ports=self.cage_ports,
                peer_ports=self.peer_ports,
            )
        )


def has_open_leaves(fabric: Fabric, role: str) -> bool:
    """Whether the spec does not fix the number of rails per leaf."""
    declared = (fabric.su, fabric.leaf_down, fabric.leaf_up, fabric.tiers, fabric.pod, fabric.spines, fabric.upstream)
    return (
        fabric.shape in (None, "rail-optimized")
        and role == "compute"
        and fabric.leaf_rails != 1
        and all(item is None for item in declared)
    )


def is_small(nodes: int, reference_unit: ScalableUnit | None, leaf_radix: int, oversubscription: float) -> bool:
    """Whether nodes do not fill the scalable unit of the vendor, or of leaves with one rail each, at this
    oversubscription (ports down per port up).
    """
    return (
        nodes < reference_unit.nodes
        if reference_unit
        else nodes <= max(compute_max_down(leaf_radix, oversubscription), 1)
    )


def select_fewest_switches(
    small: SmallFabric, build_separate: Callable[[], Wiring], spines: int | None, min_leaves: int | None
) -> Wiring:
    """The arrangement with the fewest switches, with the requested number of spines and at least the requested number
    of leaves; the wiring of ``build_separate`` if no arrangement needs fewer. Raises TopologyError.
    """
    refusal: TopologyError | None = None
    usual: Wiring | None = None
    try:
        usual = build_separate()
    except TopologyError as error:
        refusal = error
    for chosen in small.list_arrangements():
        if usual and chosen.switch_count * small.planes >= sum(usual.switch_counts.values()):
            break
        if min_leaves and chosen.leaves < min_leaves:
            continue
        try:
            return small.build_wiring(chosen, spines)
        except TopologyError:
            continue  # for example cables that need a separate cage, if no leaf has one
    if usual is None:
        assert refusal is not None
        raise refusal
    return usual
