"""Which cables that are laid would have to move, where a fabric grows or changes."""

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

__all__ = ["Moved", "compute_moved_cables"]


class Moved(NamedTuple):
    """Cables of one kind that both plans have, and how many of them end elsewhere in the new one."""

    fabric: str
    what: str
    """``node_links``, ``service_links`` or ``uplinks``."""
    cables: int
    moved: int


def compute_moved_cables(old: Plan, new: Plan) -> Iterator[Moved]:
    """The cables of each fabric of both plans that move: links of nodes and of other machines that stay, and uplinks
    of leaves that stay.

    Leaves are compared by their place, not by their number, which may change where planes or rails come first.
    """
    after = {fabric.name: fabric for fabric in new.fabrics}
    for fabric in old.fabrics:
        other = after.get(fabric.name)
        if other is None:
            continue
        common = _common(old, fabric, new, other)
        same = all(first == start for first, start, _ in common) and fabric.services == other.services
        one, two = _hosts(fabric), _hosts(other)
        if same and other.wiring == fabric.wiring or one is None or two is None:
            continue
        if (one.nics, one.planes) != (two.nics, two.planes):
            continue
        cables, moved = _node_links(common, one, two)
        if moved:
            yield Moved(fabric.name, "node_links", cables, moved)
        cables, moved = _service_links(fabric, other)
        if moved:
            yield Moved(fabric.name, "service_links", cables, moved)
        cables, moved = _uplinks(fabric, other)
        if moved:
            yield Moved(fabric.name, "uplinks", cables, moved)


def _hosts(fabric: FabricPlan) -> NodeLinks | None:
    group = fabric.wiring.link_groups[0] if isinstance(fabric.wiring, Wiring) and fabric.tiers else None
    return group if isinstance(group, NodeLinks) else None


def _common(old: Plan, before: FabricPlan, new: Plan, after: FabricPlan) -> list[tuple[int, int, int]]:
    """(first node in the old fabric, first in the new one, how many) for the hosts that are in both."""
    found = []
    starts = compute_first_nodes(after, new.pools)
    for name, start in compute_first_nodes(before, old.pools).items():
        hosts = old.pool(name).hosts
        if name in starts:
            other = new.pool(name).hosts
            if (hosts.prefix, hosts.first, hosts.width) == (other.prefix, other.first, other.width):
                found.append((start, starts[name], min(len(hosts), len(other))))
    return found


def _node_links(common: list[tuple[int, int, int]], one: NodeLinks, two: NodeLinks) -> tuple[int, int]:
    import numpy as np

    nic = np.arange(one.nics, dtype=np.int64)
    cables = moved = 0
    for first, other, count in common:
        nodes = np.arange(count, dtype=np.int64)[:, None]
        ends = zip(_places(one, first + nodes, nic), _places(two, other + nodes, nic), strict=True)
        moved += int(np.logical_or.reduce([a != b for a, b in ends]).sum()) * one.planes
        cables += count * one.nics * one.planes
    return cables, moved


def _places(hosts: NodeLinks, node: Ints, nic: Ints) -> tuple[Ints, Ints, Ints]:
    """Side, leaf of that side and port that each link of each node ends at."""
    per_unit = -(-hosts.unit // hosts.block)
    unit, place = node // hosts.unit, node % hosts.unit
    leaf = unit * per_unit + place // hosts.block + 0 * nic
    port = place % hosts.block * hosts.nics_per_side + nic % hosts.nics_per_side
    return nic // hosts.nics_per_side + 0 * node, leaf, port


def _service_links(before: FabricPlan, after: FabricPlan) -> tuple[int, int]:
    """Links of servers and services that both have, and how many of them move."""
    one, two = _service_ends(before), _service_ends(after)
    both = one.keys() & two.keys()
    return len(both), sum(one[link] != two[link] for link in both)


def _service_ends(fabric: FabricPlan) -> dict[tuple[str, int, int], tuple[int, ...]]:
    """Service, machine and port of it -> plane, side and number of the leaf, port of that, and end of a splitter."""
    from ..build.network.service_links import service_links  # numpy is loaded where links are counted out, not to plan

    hosts, ends = _hosts(fabric), service_links(fabric)
    if hosts is None or ends is None:
        return {}
    return {
        (fabric.services[service].name, machine, port): (*_leaf_place(hosts, leaf), leaf_port, lane)
        for service, machine, port, leaf, leaf_port, lane, _ in zip(*(item.tolist() for item in ends), strict=True)
    }


def _leaf_place(hosts: NodeLinks, leaf: int) -> tuple[int, int, int]:
    """Plane and side of a leaf, and its number among the leaves of that side."""
    plane, local = divmod(leaf, hosts.leaves)
    if hosts.side_stride > hosts.unit_stride:
        return plane, *divmod(local, hosts.side_stride)
    unit, rest = divmod(local, hosts.unit_stride)
    side, block = divmod(rest, hosts.side_stride)
    return plane, side, unit * -(-hosts.unit // hosts.block) + block


def _uplinks(before: FabricPlan, after: FabricPlan) -> tuple[int, int]:
    """Uplinks of leaves that both have and how many of them move; in three tiers spines are not compared."""
    if _spine_tiers(before) > 1 and _spine_tiers(after) > 1:
        return 0, 0
    one, two = _leaf_uplinks(before), _leaf_uplinks(after)
    if _spine_tiers(before) != _spine_tiers(after):
        cables = sum(len(ends) for ends in one.values())
        return cables, cables
    leaves = set(one) & set(two)
    cables = sum(len(one[leaf]) for leaf in leaves)
    return cables, sum(end != two[leaf].get(port) for leaf in leaves for port, end in one[leaf].items())


def _spine_tiers(fabric: FabricPlan) -> int:
    return len(fabric.tiers) - 1


def _leaf_uplinks(fabric: FabricPlan) -> dict[tuple[int, int, int], dict[int, tuple[int, int]]]:
    """Plane, side and number of each leaf -> uplink port -> spine of the plane, and port of that."""
    wiring, hosts = fabric.wiring, _hosts(fabric)
    assert isinstance(wiring, Wiring) and hosts is not None
    group = next((item for item in wiring.link_groups if isinstance(item, TierLinks)), None)
    if group is None:
        return {}
    spines = wiring.tier("spine").count // wiring.planes
    found: dict[tuple[int, int, int], dict[int, tuple[int, int]]] = {}
    for link in group:
        found.setdefault(_leaf_place(hosts, link.source), {})[link.source_port] = (
            link.target % spines,
            link.target_port,
        )
    return found
