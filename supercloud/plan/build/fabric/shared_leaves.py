"""Compute fabrics smaller than a scalable unit: rails share leaves where that takes fewer switches.

Only where the spec leaves the leaves and spines open. Storage and in-band networks keep a leaf for each port of a
node: there the second port is for when the first leaf fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....catalog.machine import ScalableUnit
from ....spec import Fabric
from ....topology import Arrangement, Ports, TopologyError, compute_arrangements, rail_optimized
from ....topology import Fabric as Wiring
from ....topology.reserved import Reserve
from ....topology.tiers import most_down

__all__ = ["SmallFabric", "is_open", "is_small", "select_fewest_switches"]


@dataclass(frozen=True)
class SmallFabric:
    """What must be joined, and the switches for it."""

    nodes: int
    rails: int
    planes: int
    domain: int
    """Nodes of a scale-up domain."""
    radix: tuple[int, int, int]
    ratio: tuple[float, float]
    reserved: tuple[Reserve, ...]
    """Of one plane."""
    cage: int
    leaf_rails: int | None
    peers: int = 0
    """Ports of a leaf for the other leaf of its pair."""
    links: int = 0
    """Further links on the topmost switches of one plane."""

    def arrangements(self) -> list[Arrangement]:
        """All that hold the nodes and the reserved ports, best first."""
        reserved = sum(ask.ports for ask in self.reserved)
        ports = Ports(self.radix[0], self.radix[1], self.ratio[0], reserved, self.links, self.peers)
        return compute_arrangements(
            self.nodes, self.rails, ports, domain=self.domain, rails_per_leaf=self.leaf_rails
        )  # fmt: skip

    def build(self, chosen: Arrangement, spines: int | None) -> Wiring:
        """The wiring of an arrangement, or the same with more spines. Raises TopologyError."""
        return rail_optimized(
            self.nodes, rails=self.rails, radix=self.radix, unit=chosen.unit,
            down=chosen.unit * chosen.rails_per_leaf, uplinks=chosen.uplinks or None,
            rails_per_leaf=chosen.rails_per_leaf, planes=self.planes, tiers=2 if chosen.uplinks else 1,
            spines=spines if chosen.uplinks else None, oversubscription=self.ratio, reserved=self.reserved,
            cage=self.cage, peers=self.peers,
        )  # fmt: skip


def is_open(fabric: Fabric, role: str) -> bool:
    """Whether the spec leaves it to us how many rails are on a leaf."""
    said = (fabric.su, fabric.leaf_down, fabric.leaf_up, fabric.tiers, fabric.pod, fabric.spines, fabric.joins)
    return (
        fabric.shape in (None, "rail-optimized") and role == "compute" and fabric.leaf_rails != 1
        and all(item is None for item in said)
    )  # fmt: skip


def is_small(nodes: int, unit: ScalableUnit | None, leaf_radix: int, ratio: float) -> bool:
    """Whether nodes do not fill the scalable unit of the maker, or of leaves with one rail each."""
    return nodes < unit.nodes if unit else nodes <= max(most_down(leaf_radix, ratio), 1)


def select_fewest_switches(
    small: SmallFabric, apart: Callable[[], Wiring], spines: int | None, least: int | None
) -> Wiring:
    """The arrangement with the fewest switches, with so many spines and at least so many leaves where that is asked;
    the wiring with rails ``apart`` where none takes fewer. Raises TopologyError."""
    refusal: TopologyError | None = None
    usual: Wiring | None = None
    try:
        usual = apart()
    except TopologyError as error:
        refusal = error
    for chosen in small.arrangements():
        if usual and chosen.switches * small.planes >= sum(usual.switch_counts.values()):
            break
        if least and chosen.leaves < least:
            continue
        try:
            return small.build(chosen, spines)
        except TopologyError:
            continue  # such as cables that need a cage to themselves, where no leaf has one
    if usual is None:
        assert refusal is not None
        raise refusal
    return usual
