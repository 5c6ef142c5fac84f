"""Cages in which a splitter and a straight fiber would share a module."""

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
    split = {item.name for item in fabric.services if item.split > 1}
    if not isinstance(wiring, Wiring) or not split or not fabric.tiers[0].switch.cages:
        return {}
    size = max(1, fabric.tiers[0].radix // fabric.tiers[0].switch.cages)
    owners = _find_port_owners(fabric, wiring)
    straight = {place for place, owner in owners.items() if owner not in split}
    straight |= _list_other_ports(wiring, {leaf for leaf, _ in owners})
    shared = {(leaf, port // size) for leaf, port in straight}
    found: dict[str, list[tuple[int, int]]] = {}
    for (leaf, port), owner in owners.items():
        if owner in split and (leaf, port // size) in shared:
            found.setdefault(owner, []).append((leaf, port))
    return found


def _list_other_ports(wiring: Wiring, leaves: set[int]) -> set[tuple[int, int]]:
    """(leaf, port) of all links of these leaves of the first plane to spines and nodes."""
    leaf = wiring.tiers[0]
    found = {(number, port) for number in leaves for port in range(leaf.radix - leaf.up, leaf.radix)}
    _, _, target, target_port, plane = wiring.link_groups[0].build_columns()
    for number in leaves:
        found |= {(number, port) for port in target_port[(target == number) & (plane == 0)].tolist()}
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
