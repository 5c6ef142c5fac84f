"""Leaves with free ports for the other leaf of their pair (``peer_links``), if the spec does not fix their size.

The rules of shapes and of reference designs use all ports of a leaf for nodes and uplinks. If they leave none for the
links of a pair, leaves with fewer ports for nodes are used instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....spec import Fabric
from ....topology import Fabric as Wiring
from ....topology import TopologyError
from ....topology.tiers import compute_max_down

__all__ = ["build_with_peer_ports"]

# Ports down are tried in multiples of these: their uplinks spread evenly over few spines, while a prime number of
# them would need a spine each.
_ROUND_SIZES = (1, 2, 4, 8, 16)


def build_with_peer_ports(
    build: Callable[[Fabric], Wiring], fabric: Fabric, radix: int, rails: int, domain_nodes: int
) -> Wiring:
    """The result of ``build``; if its leaves have no ports for ``peer_links``, the wiring with the fewest switches
    among those with smaller leaves, and among equal ones that with the largest leaves.

    ``radix`` is that of a leaf, ``domain_nodes`` the nodes of a scale-up domain, which stay on one leaf. Leaves of a
    size that the spec fixes are kept. Raises TopologyError.
    """
    try:
        return build(fabric)
    except TopologyError:
        if not fabric.peer_links or fabric.su or fabric.leaf_down or fabric.upstream or fabric.shape == "clos":
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
