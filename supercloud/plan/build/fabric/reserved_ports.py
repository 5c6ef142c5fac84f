"""Leaves that have ports left for what is no node (managers, services), where the spec leaves their size open.

The rules of shapes and of reference designs fill leaves with nodes and uplinks. Where nodes fill all of them, smaller
units on more leaves make room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ....spec import Fabric
from ....topology import Fabric as Wiring
from ....topology import NoFreePorts, TopologyError
from ....topology.tiers import most_down

__all__ = ["Sizes", "build_with_reserved_ports"]

# So many numbers of units are tried, from the fewest that hold the nodes. More units take more switches.
_MORE_UNITS = 6
# Ports down are tried in multiples of these, too: as many uplinks spread evenly over few spines.
_STEPS = (1, 2, 4, 8, 16)
# So many whole domains fewer are tried for the hint.
_FEWER = 64


@dataclass(frozen=True)
class Sizes:
    """What the leaves of a fabric are filled with."""

    nodes: int
    domain: int
    """Nodes of a scale-up domain, which stay on one leaf."""
    ports: int
    """Ports of a node on one leaf."""
    room: int
    """Ports of a leaf that nodes may have at most."""

    @classmethod
    def of(cls, fabric: Fabric, nodes: int, rails: int, radix: int, domain: int) -> Sizes:
        """Those of a declared fabric with leaves of so many ports."""
        ports = rails if fabric.shape == "fat-tree" else fabric.leaf_rails or 1
        room = radix - fabric.peer_links - (fabric.leaf_up or 0)
        open_ = fabric.leaf_up or fabric.tiers == 1
        room = room if open_ else most_down(max(room, 0), float(fabric.oversubscription.leaf))
        return cls(nodes, domain if domain * ports <= room else 1, ports, room)

    def smaller(self) -> list[int]:
        """Nodes of a unit that are worth trying: what shares the nodes evenly, and round numbers; whole domains."""
        most = self.room // (self.ports * self.domain)
        if most < 1:
            return []
        domains = -(-self.nodes // self.domain)
        least = -(-domains // most)
        even = {-(-domains // units) for units in range(least, least + _MORE_UNITS)}
        # a port is left only where a unit is smaller than a leaf's room for nodes, or the last unit is not full
        found = even | {most - 1} | {most // step * step for step in _STEPS}
        return [size * self.domain for size in sorted(found) if 0 < size <= most]


def build_with_reserved_ports(build: Callable[[Fabric, int], Wiring], fabric: Fabric, sizes: Sizes) -> Wiring:
    """What ``build(fabric, nodes)`` makes; where nodes leave no ports for reserved links, the wiring with the fewest
    switches among those with smaller units, of equal ones that with the largest units.

    Units whose size the spec gives stay as they are. Raises TopologyError, with a size or a number of nodes that fits.
    """
    try:
        return build(fabric, sizes.nodes)
    except NoFreePorts as error:
        if fabric.joins or fabric.shape == "clos":
            raise
        refusal = error
    given = "su" if fabric.su else "leaf_down"
    found = list(_smaller(build, fabric, sizes, given))
    best = min(found, key=lambda item: (sum(item[1].switch_counts.values()), -item[0]), default=None)
    if best and not (fabric.su or fabric.leaf_down):
        return best[1]
    cures = [f"set {given}: {best[0]}"] if best else []
    cures += [f"take {fewer} nodes" for fewer in _fewer(build, fabric, sizes, refusal)]
    raise TopologyError(refusal.problem, ", or ".join(cures) or refusal.hint)


def _smaller(
    build: Callable[[Fabric, int], Wiring], fabric: Fabric, sizes: Sizes, given: str
) -> Iterator[tuple[int, Wiring]]:  # fmt: skip
    """Wirings with smaller units, each with the value of the field that gives it."""
    for size in sizes.smaller():
        value = size if given == "su" else size * sizes.ports
        try:
            yield value, build(fabric.model_copy(update={given: value}), sizes.nodes)
        except TopologyError:
            continue


def _fewer(build: Callable[[Fabric, int], Wiring], fabric: Fabric, sizes: Sizes, refusal: NoFreePorts) -> Iterator[int]:
    """The most whole domains that fit as the spec has the fabric, from those on that may leave enough ports."""
    whole = (sizes.nodes - -(-refusal.lacking // refusal.per_node)) // sizes.domain
    for domains in range(whole, max(whole - _FEWER, 0), -1):
        try:
            build(fabric, domains * sizes.domain)
        except TopologyError:
            continue
        yield domains * sizes.domain
        return
