"""Leaves whose uplinks, and possibly size, the spec does not fix: those that need the fewest switches.

Uplinks spread evenly over spines, so that 31 of them need 31 spines, but 32 only two. A leaf has at least the uplinks
that the declared oversubscription requires, and more of them, or fewer nodes, if that reduces the number of spines.
Among equal numbers of switches the largest leaves are selected, which allow growth without moving a cable, and the
fewest uplinks.

The size of leaves that follows from the number of nodes changes as nodes are added, which moves cables and addresses.
Without oversubscription the shape's own size spreads well over spines (half the ports of a leaf, usually a power of
two) and is kept, unless it needs more than twice the spines that the links fill.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from ....topology import Fabric as Wiring
from ....topology import TopologyError
from ....topology.tiers import compute_uplinks, spread_uplinks

__all__ = ["Demand", "compute_even_uplinks", "select_leaves"]

_TWO_TIERS = 2
# Up to this multiple of the spines that their links fill, the size of leaves is kept.
_MAX_OVERSIZE = 2
# With three tiers, nodes of a leaf are tried in multiples of these.
_LEAF_COUNT_FACTORS = (1, 2, 4, 8, 16)

Build = Callable[[int | None, int | None, int | None, int | None], Wiring]


@dataclass(frozen=True)
class Demand:
    """The requirements of the leaves and spines of one plane."""

    ratio: float
    """Maximum number of used ports down per uplink of a leaf."""
    peers: int = 0
    """Ports of a leaf for the other leaf of its pair."""
    reserved: tuple[int, ...] = ()
    """Leaf ports of each device other than a node; those of one device are spread over the leaves."""
    links: int = 0
    """Further links to the topmost switches, total of all of them."""
    spines: int | None = None
    """Requested number of spines."""
    step: int | None = None
    """Nodes of a leaf may be reduced by multiples of this; None if their number is fixed."""
    least: int = 1
    """Minimum number of units."""


class _LeafChoice(NamedTuple):
    """One candidate; candidates are sorted best first."""

    switches: int
    is_larger: bool
    """Compared with the result so far: the rule of the shape is replaced only for fewer switches."""
    smaller: int
    """Nodes of a leaf, negative."""
    uplinks: int
    spines: int
    size: int | None
    """Nodes of a leaf; None for the result so far."""


def select_leaves(build: Build, found: Wiring, units: int | None, demand: Demand) -> Wiring:
    """The wiring with the fewest switches from ``build(units, size, uplinks, spines)``.

    ``found`` is the result for the largest leaves with the minimum of uplinks, in a number of ``units``. Raises
    TopologyError if the requested spines join no leaves.
    """
    if len(found.tiers) < _TWO_TIERS:
        return found
    if len(found.tiers) > _TWO_TIERS:
        return _select_under_cores(build, found, units, demand)
    choices = _list_choices(found, demand) or _list_choices(found, replace(demand, links=0))
    leaf, spine = found.tiers
    usual = next((choice for choice in choices if choice.size is None), None)
    if usual and demand.ratio <= 1 and usual.spines <= _MAX_OVERSIZE * _count_filled_spines(found, usual, demand):
        choices = [usual]
    for choice in choices:
        if choice.size is None and (choice.uplinks, choice.spines) == (leaf.up, spine.count // found.planes):
            return found
        wiring = _build_choice(build, found, units, choice, demand)
        if wiring:
            return wiring
    return build(units, None, None, demand.spines) if demand.spines else found


def _build_choice(build: Build, found: Wiring, units: int | None, choice: _LeafChoice, demand: Demand) -> Wiring | None:
    """The wiring with these leaves; None if it cannot be built, or if a leaf has too many used ports down."""
    try:
        count = units if choice.size is None else _count_units(found, choice.size, demand)
        wiring = build(count, choice.size or _find_open_size(found, demand), choice.uplinks, choice.spines)
    except TopologyError:
        return None  # for example reserved ports that need separate cages
    if choice.size is None and choice.uplinks >= found.tiers[0].up:
        return wiring
    return wiring if _is_kept(wiring, demand) else None


def compute_even_uplinks(wiring: Wiring, peers: int = 0) -> int | None:
    """The uplinks of a leaf of this size with which two tiers need the fewest spines; None if it has them already.

    ``peers`` ports of a leaf are for the other leaf of its pair.
    """
    if len(wiring.tiers) != _TWO_TIERS:
        return None
    leaf, spine = wiring.tiers
    most = max(leaf.up, leaf.radix - leaf.down - peers)
    found = spread_uplinks(leaf.count // wiring.planes, leaf.up, most, spine.radix)
    return found[1] if found and found[0] < spine.count // wiring.planes else None


def _list_choices(found: Wiring, demand: Demand) -> list[_LeafChoice]:
    """Leaves of all sizes with the fewest spines for each, best first."""
    best: int | None = None
    choices = []
    for size, leaves, down, filled in _list_sizes(found, demand):
        if best is not None and leaves + 1 > best:
            break  # smaller leaves are more
        leaf, hosts = found.tiers[0], found.node_links
        used = hosts.nodes * hosts.nics + sum(demand.reserved)
        most = min(leaf.radix - demand.peers - down, (leaves * (leaf.radix - demand.peers) - used) // leaves)
        least = compute_uplinks(filled + sum(-(-ports // leaves) for ports in demand.reserved), demand.ratio)
        if size is None:
            least = min(least, leaf.up)  # the rule of the shape
        even = spread_uplinks(leaves, least, most, found.tiers[1].radix, spines=demand.spines, links=demand.links)
        if even:
            nodes = hosts.block_nodes if size is None else size
            choices.append(_LeafChoice(leaves + even[0], nodes > hosts.block_nodes, -nodes, even[1], even[0], size))
            best = min(best or choices[-1].switches, choices[-1].switches)
    return sorted(choices, key=lambda item: item[:4])  # the result so far before the same size


def _list_sizes(found: Wiring, demand: Demand) -> Iterator[tuple[int | None, int, int, int]]:
    """Nodes of a leaf (None: as built), leaves, ports for nodes of a leaf, and used ports of the fullest leaf."""
    leaf, hosts = found.tiers[0], found.node_links
    each = hosts.nics_per_leaf
    yield None, leaf.count // found.planes, leaf.down, min(hosts.nodes, hosts.unit_nodes, hosts.block_nodes) * each
    if demand.step is None or _find_open_size(found, demand) is None:
        return
    step = demand.step if hosts.block_nodes % demand.step == 0 else 1
    room = leaf.radix - demand.peers
    for size in range(room // (each * step) * step, 0, -step):
        units = _count_units(found, size, demand)
        if size * each + compute_uplinks(size * each, demand.ratio) <= room:
            yield size, units * hosts.leaves_per_block, size * each, min(hosts.nodes, size) * each


def _count_filled_spines(found: Wiring, choice: _LeafChoice, demand: Demand) -> int:
    """Number of spines of a plane that its links fill, with leaves as built."""
    leaf, spine = found.tiers
    return -(-(leaf.count // found.planes * choice.uplinks + demand.links) // spine.radix)


def _is_kept(wiring: Wiring, demand: Demand) -> bool:
    """Whether no leaf has more used ports down than the oversubscription allows, with the ports of other devices."""
    if not demand.reserved:
        return True
    leaf = wiring.tiers[0]
    used: Counter[int] = Counter()
    for group in wiring.link_groups:
        if group.target_kind == leaf.name:
            used.update(group.build_columns().target.tolist())
    return compute_uplinks(max(used.values()), demand.ratio) <= leaf.up


def _find_open_size(found: Wiring, demand: Demand) -> int | None:
    """Nodes of a leaf as built, if others may be tried."""
    hosts = found.node_links
    return hosts.block_nodes if demand.step is not None and hosts.unit_nodes == hosts.block_nodes else None


def _count_units(found: Wiring, size: int, demand: Demand) -> int:
    """Number of units of a number of nodes that are built."""
    return max(-(-found.nodes // size), demand.least)


def _select_under_cores(build: Build, found: Wiring, units: int | None, demand: Demand) -> Wiring:
    """The same for three tiers, by trial."""
    best = build(units, None, None, demand.spines) if demand.spines else found
    leaf, hosts = found.tiers[0], found.node_links
    for size in (None, *_list_smaller_sizes(found, demand)):
        down = leaf.down if size is None else size * hosts.nics_per_leaf
        least = compute_uplinks(down, demand.ratio)
        most = leaf.radix - demand.peers - down
        count = units if size is None else _count_units(found, size, demand)
        for uplinks in range(least, most + 1):
            try:
                other = build(count, size or _find_open_size(found, demand), uplinks, demand.spines)
            except TopologyError:
                continue
            fewer = sum(other.switch_counts.values()) < sum(best.switch_counts.values())
            if fewer and (size is None or _is_kept(other, demand)):
                best = other
    return best


def _list_smaller_sizes(found: Wiring, demand: Demand) -> list[int]:
    """Numbers of nodes of a leaf that are tried under core switches, in descending order."""
    if demand.step is None or demand.ratio <= 1 or not _find_open_size(found, demand):
        return []
    whole = found.node_links.block_nodes
    sizes = {whole // (factor * demand.step) * factor * demand.step for factor in _LEAF_COUNT_FACTORS}
    return sorted(sizes - {0, whole}, reverse=True)
