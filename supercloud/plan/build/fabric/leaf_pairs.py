"""Leaves that have ports left for the other leaf of their pair (``peer_links``), where the spec leaves their size open.

The rules of shapes and of reference designs use every port of a leaf for nodes and uplinks. Where they leave none for
the links of a pair, leaves with fewer ports for nodes take their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....spec import Fabric
from ....topology import Fabric as Wiring
from ....topology import TopologyError
from ....topology.tiers import compute_max_down

__all__ = ["build_with_peer_ports"]

# Ports down are tried in multiples of these: as many uplinks spread evenly over few spines, where a prime number of
# them would take a spine each.
_ROUND_SIZES = (1, 2, 4, 8, 16)


def build_with_peer_ports(
    build: Callable[[Fabric], Wiring], fabric: Fabric, radix: int, rails: int, domain_nodes: int
) -> Wiring:
    """What ``build`` makes of the fabric; where its leaves have no ports for ``peer_links``, the wiring with the fewest
    switches among those with smaller leaves, of equal ones that with the largest leaves.

    ``radix`` is that of a leaf, ``domain_nodes`` the nodes of a scale-up domain, which stay on one leaf. Leaves whose
    size the spec gives stay as they are. Raises TopologyError.
    """
    try:
        return build(fabric)
    except TopologyError:
        if not fabric.peer_links or fabric.su or fabric.leaf_down or fabric.joins or fabric.shape == "clos":
            raise
        found = list(_iter_smaller_leaves(build, fabric, radix, rails, domain_nodes))
        if not found:
            raise
    return min(found, key=lambda item: (sum(item.switch_counts.values()), -item.tiers[0].down))


def _iter_smaller_leaves(
    build: Callable[[Fabric], Wiring], fabric: Fabric, radix: int, rails: int, domain_nodes: int
) -> Iterator[Wiring]:
    """Wirings with smaller leaves."""
    room = radix - fabric.peer_links - (fabric.leaf_up or 0)
    most = (
        room
        if fabric.leaf_up or fabric.tiers == 1
        else compute_max_down(max(room, 0), float(fabric.oversubscription.leaf))
    )
    node = (fabric.leaf_rails or 1) if fabric.shape == "rail-optimized" else rails
    whole = node * domain_nodes if node * domain_nodes <= most else node
    for down in sorted({most // (step * whole) * step * whole for step in _ROUND_SIZES} - {0}):
        try:
            yield build(fabric.model_copy(update={"leaf_down": down}))
        except TopologyError:
            continue
