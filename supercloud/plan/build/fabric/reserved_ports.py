"""Leaves with free ports for other devices than nodes (managers, services), if the spec does not fix their size.

The rules of shapes and of reference designs fill leaves with nodes and uplinks. If nodes fill all of them, smaller
units on more leaves provide free ports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ....spec import Fabric
from ....topology import Fabric as Wiring
from ....topology import NoFreePortsError, TopologyError
from ....topology.tiers import compute_max_down

__all__ = ["LeafSizing", "build_with_reserved_ports"]

# Number of unit counts that are tried, from the minimum for the nodes. More units need more switches.
_EXTRA_UNITS = 6
# Ports down are tried in multiples of these, too: their uplinks spread evenly over few spines.
_ROUND_SIZES = (1, 2, 4, 8, 16)
# Number of smaller counts of whole domains that are tried for the hint.
_MAX_TRIED_REDUCTIONS = 64


@dataclass(frozen=True)
class LeafSizing:
    """The parameters that determine how leaves are filled."""

    nodes: int
    domain_nodes: int
    """Nodes of a scale-up domain, which stay on one leaf."""
    node_ports: int
    """Ports of a node on one leaf."""
    ports_for_nodes: int
    """Maximum number of a leaf's ports for nodes."""

    @classmethod
    def from_fabric(cls, fabric: Fabric, nodes: int, rails: int, radix: int, domain_nodes: int) -> LeafSizing:
        """The parameters of a declared fabric with leaves of this radix."""
        ports = rails if fabric.shape == "fat-tree" else fabric.leaf_rails or 1
        room = radix - fabric.peer_links - (fabric.leaf_up or 0)
        open_ = fabric.leaf_up or fabric.tiers == 1
        room = room if open_ else compute_max_down(max(room, 0), float(fabric.oversubscription.leaf))
        return cls(nodes, domain_nodes if domain_nodes * ports <= room else 1, ports, room)

    def list_smaller_units(self) -> list[int]:
        """Candidate unit sizes: those that divide the nodes evenly, and round numbers; whole domains."""
        most = self.ports_for_nodes // (self.node_ports * self.domain_nodes)
        if most < 1:
            return []
        domains = -(-self.nodes // self.domain_nodes)
        least = -(-domains // most)
        even = {-(-domains // units) for units in range(least, least + _EXTRA_UNITS)}
        # a port is free only if a unit is smaller than a leaf's capacity for nodes, or if the last unit is not full
        found = even | {most - 1} | {most // step * step for step in _ROUND_SIZES}
        return [size * self.domain_nodes for size in sorted(found) if 0 < size <= most]


def build_with_reserved_ports(build: Callable[[Fabric, int], Wiring], fabric: Fabric, sizing: LeafSizing) -> Wiring:
    """The result of ``build(fabric, nodes)``; if nodes leave no ports for reserved links, the wiring with the fewest
    switches among those with smaller units, and among equal ones that with the largest units.

    Units of a size that the spec fixes are kept. Raises TopologyError, with a size or a number of nodes that fits.
    """
    try:
        return build(fabric, sizing.nodes)
    except NoFreePortsError as error:
        if fabric.upstream or fabric.shape == "clos":
            raise
        refusal = error
    given = "su" if fabric.su else "leaf_down"
    found = list(_iter_smaller_units(build, fabric, sizing, given))
    best = min(found, key=lambda item: (sum(item[1].switch_counts.values()), -item[0]), default=None)
    if best and not (fabric.su or fabric.leaf_down):
        return best[1]
    suggestions = [f"set {given}: {best[0]}"] if best else []
    suggestions += [f"use {fewer} nodes" for fewer in _iter_fewer_nodes(build, fabric, sizing, refusal)]
    raise TopologyError(refusal.problem, ", or ".join(suggestions) or refusal.hint)


def _iter_smaller_units(
    build: Callable[[Fabric, int], Wiring], fabric: Fabric, sizing: LeafSizing, field_name: str
) -> Iterator[tuple[int, Wiring]]:
    """Wirings with smaller units, each with the value of the field that selects it."""
    for size in sizing.list_smaller_units():
        value = size if field_name == "su" else size * sizing.node_ports
        try:
            yield value, build(fabric.model_copy(update={field_name: value}), sizing.nodes)
        except TopologyError:
            continue


def _iter_fewer_nodes(
    build: Callable[[Fabric, int], Wiring], fabric: Fabric, sizing: LeafSizing, refusal: NoFreePortsError
) -> Iterator[int]:
    """The largest numbers of whole domains that fit the fabric as specified, from those that may leave enough ports."""
    whole = (sizing.nodes - -(-refusal.lacking // refusal.per_node)) // sizing.domain_nodes
    for domains in range(whole, max(whole - _MAX_TRIED_REDUCTIONS, 0), -1):
        try:
            build(fabric, domains * sizing.domain_nodes)
        except TopologyError:
            continue
        yield domains * sizing.domain_nodes
        return
