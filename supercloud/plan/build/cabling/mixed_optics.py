"""Cages in which a splitter and a straight fibre would share a module."""

from __future__ import annotations

from ....topology import Fabric as Wiring
from ....topology.reserved import ReservedLinks
from ...model.plan import FabricPlan

__all__ = ["find_mixed_ports"]


def find_mixed_ports(fabric: FabricPlan) -> dict[str, list[tuple[int, int]]]:
    """Service -> the leaf and port of each of its splitters that shares a cage with a link that is not split.

    Only the first plane is examined: the others have the same wiring.
    """
    wiring = fabric.wiring
    split = [item.name for item in fabric.services if item.split > 1]
    if not isinstance(wiring, Wiring) or not split or not fabric.tiers[0].switch.cages:
        return {}
    size = max(1, fabric.tiers[0].radix // (fabric.tiers[0].switch.cages or 1))
    owners = _find_port_owners(fabric, wiring)
    leaves = {leaf for leaf, _ in owners}
    leaf = wiring.tiers[0]
    straight = {place for place, owner in owners.items() if owner not in split}
    straight |= {(number, port) for number in leaves for port in range(leaf.radix - leaf.up, leaf.radix)}
    _, _, target, target_port, plane = wiring.link_groups[0].build_columns()
    for number in leaves:
        straight |= {(number, port) for port in target_port[(target == number) & (plane == 0)].tolist()}
    found: dict[str, list[tuple[int, int]]] = {}
    for (number, port), owner in owners.items():
        first = port // size * size
        if owner in split and any((number, other) in straight for other in range(first, first + size)):
            found.setdefault(owner, []).append((number, port))
    return found


def _find_port_owners(fabric: FabricPlan, wiring: Wiring) -> dict[tuple[int, int], str]:
    """(leaf, port) of the reserved links of the first plane -> the service that uses it."""
    places = next((group.leaf_ports for group in wiring.link_groups if isinstance(group, ReservedLinks)), ())
    found: dict[tuple[int, int], str] = {}
    start = 0
    for service in fabric.services:
        stop = start + service.count_leaf_ports_per_plane(max(1, fabric.planes))
        found |= dict.fromkeys(places[start:stop], service.name)
        start = stop
    return found
