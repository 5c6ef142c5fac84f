"""Installed cables that would have to move when a fabric grows or changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ...topology import Fabric as Wiring
from ...topology.links import NodeLinks, TierLinks
from ..build.fabric.node_numbers import compute_first_nodes
from ..model.fabric import FabricPlan
from ..model.plan import Plan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]

__all__ = ["MovedCables", "iter_moved_cables"]


class MovedCables(NamedTuple):
    """Cables of one kind that both plans have, and the number of them with another end in the new one."""

    fabric: str
    kind: str
    """``node_links``, ``service_links`` or ``uplinks``."""
    cable_count: int
    moved_count: int


def iter_moved_cables(old: Plan, new: Plan) -> Iterator[MovedCables]:
    """Count the cables of each fabric of both plans that move: links of nodes and of other machines that remain, and
    uplinks of leaves that remain.

    Leaves are compared by position, not by number, which may change if planes or rails come first.
    """
    after = {fabric.name: fabric for fabric in new.fabrics}
    for fabric in old.fabrics:
        other = after.get(fabric.name)
        if other is None:
            continue
        common = _match_hosts(old, fabric, new, other)
        same = all(first == start for first, start, _ in common) and fabric.services == other.services
        one, two = _find_node_links(fabric), _find_node_links(other)
        if same and other.wiring == fabric.wiring or one is None or two is None:
            continue
        if (one.nics, one.planes) != (two.nics, two.planes):
            continue
        cables, moved = _compare_node_links(common, one, two)
        if moved:
            yield MovedCables(fabric.name, "node_links", cables, moved)
        cables, moved = _compare_service_links(fabric, other)
        if moved:
            yield MovedCables(fabric.name, "service_links", cables, moved)
        cables, moved = _compare_uplinks(fabric, other)
        if moved:
            yield MovedCables(fabric.name, "uplinks", cables, moved)


def _find_node_links(fabric: FabricPlan) -> NodeLinks | None:
    group = fabric.wiring.link_groups[0] if isinstance(fabric.wiring, Wiring) and fabric.tiers else None
    return group if isinstance(group, NodeLinks) else None


def _match_hosts(old: Plan, old_fabric: FabricPlan, new: Plan, new_fabric: FabricPlan) -> list[tuple[int, int, int]]:
    """(first node in the old fabric, first in the new one, number) for the hosts that are in both."""
    found = []
    starts = compute_first_nodes(new_fabric, new.pools)
    for name, start in compute_first_nodes(old_fabric, old.pools).items():
        hosts = old.get_pool(name).hosts
        if name in starts:
            other = new.get_pool(name).hosts
            if common := hosts.count_common(other):
                found.append((start, starts[name], common))
    return found


def _compare_node_links(
    common: list[tuple[int, int, int]], old_links: NodeLinks, new_links: NodeLinks
) -> tuple[int, int]:
    import numpy as np

    nic = np.arange(old_links.nics, dtype=np.int64)
    cables = moved = 0
    for first, other, count in common:
        nodes = np.arange(count, dtype=np.int64)[:, None]
        ends = zip(
            _compute_leaf_ends(old_links, first + nodes, nic),
            _compute_leaf_ends(new_links, other + nodes, nic),
            strict=True,
        )
        moved += int(np.logical_or.reduce([a != b for a, b in ends]).sum()) * old_links.planes
        cables += count * old_links.nics * old_links.planes
    return cables, moved


def _compute_leaf_ends(node_links: NodeLinks, node: Ints, nic: Ints) -> tuple[Ints, Ints, Ints]:
    """Side, leaf of that side and port that each link of each node ends at."""
    per_unit = -(-node_links.unit_nodes // node_links.block_nodes)
    unit, place = node // node_links.unit_nodes, node % node_links.unit_nodes
    leaf = unit * per_unit + place // node_links.block_nodes + 0 * nic
    port = place % node_links.block_nodes * node_links.nics_per_leaf + nic % node_links.nics_per_leaf
    return nic // node_links.nics_per_leaf + 0 * node, leaf, port


def _compare_service_links(before: FabricPlan, after: FabricPlan) -> tuple[int, int]:
    """Links of servers and services that exist in both, and the number of those that move."""
    one, two = _collect_service_ends(before), _collect_service_ends(after)
    both = one.keys() & two.keys()
    return len(both), sum(one[link] != two[link] for link in both)


def _collect_service_ends(fabric: FabricPlan) -> dict[tuple[str, int, int], tuple[int, ...]]:
    """Service, machine and port of it -> plane, side and number of the leaf, port of that, and end of a splitter."""
    from ..build.fabric.service_links import (
        build_service_links,  # loads numpy, which planning does not need
    )

    hosts, ends = _find_node_links(fabric), build_service_links(fabric)
    if hosts is None or ends is None:
        return {}
    return {
        (fabric.services[service].name, machine, port): (*_locate_leaf(hosts, leaf), leaf_port, lane)
        for service, machine, port, leaf, leaf_port, lane, _ in zip(*(item.tolist() for item in ends), strict=True)
    }


def _locate_leaf(hosts: NodeLinks, leaf: int) -> tuple[int, int, int]:
    """Plane and side of a leaf, and its number among the leaves of that side."""
    plane, local = divmod(leaf, hosts.leaves)
    if hosts.side_stride > hosts.unit_stride:
        return plane, *divmod(local, hosts.side_stride)
    unit, rest = divmod(local, hosts.unit_stride)
    side, block = divmod(rest, hosts.side_stride)
    return plane, side, unit * -(-hosts.unit_nodes // hosts.block_nodes) + block


def _compare_uplinks(old_fabric: FabricPlan, new_fabric: FabricPlan) -> tuple[int, int]:
    """Uplinks of leaves that exist in both, and the number of those that move; with three tiers spines are not
    compared.
    """
    if _count_spine_tiers(old_fabric) > 1 and _count_spine_tiers(new_fabric) > 1:
        return 0, 0
    one, two = _find_leaf_uplinks(old_fabric), _find_leaf_uplinks(new_fabric)
    if _count_spine_tiers(old_fabric) != _count_spine_tiers(new_fabric):
        cables = sum(len(ends) for ends in one.values())
        return cables, cables
    leaves = set(one) & set(two)
    cables = sum(len(one[leaf]) for leaf in leaves)
    return cables, sum(end != two[leaf].get(port) for leaf in leaves for port, end in one[leaf].items())


def _count_spine_tiers(fabric: FabricPlan) -> int:
    return len(fabric.tiers) - 1


def _find_leaf_uplinks(fabric: FabricPlan) -> dict[tuple[int, int, int], dict[int, tuple[int, int]]]:
    """Plane, side and number of each leaf -> uplink port -> spine of the plane, and port of that."""
    wiring, hosts = fabric.wiring, _find_node_links(fabric)
    assert isinstance(wiring, Wiring) and hosts is not None
    group = next((item for item in wiring.link_groups if isinstance(item, TierLinks)), None)
    if group is None:
        return {}
    spines = wiring.get_tier("spine").count // wiring.planes
    found: dict[tuple[int, int, int], dict[int, tuple[int, int]]] = {}
    for link in group:
        found.setdefault(_locate_leaf(hosts, link.source), {})[link.source_port] = (
            link.target % spines,
            link.target_port,
        )
    return found
