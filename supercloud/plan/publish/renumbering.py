"""Names and addresses that change for remaining devices, for values that the published plan has as rules only.

The published plan contains runs and rules. It does not show these differences: a node of a routed fabric on another
port, a switch with another number, a rack at another position in the hall.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..model.addressed_links import PoolLinks, RailAddresses
from ..model.network import SwitchRun
from ..model.plan import Plan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]

__all__ = ["Renumbering", "compute_moved_places", "compute_renumbered"]


class Renumbering(NamedTuple):
    """Equal devices in both plans, and the number of them with another name, address or position in the new one."""

    path: str
    things: int
    moved: int


def compute_renumbered(old: Plan, new: Plan) -> Iterator[Renumbering]:
    """Routed links of nodes with another address, and switches with another name, AS number or address.

    A switch is the same if it has the same position in its plane; nodes are identified by their names.
    """
    if old.networks is None or new.networks is None:
        return
    after = {(item.fabric, item.pool): item for item in new.networks.nodes}
    for item in old.networks.nodes:
        other = after.get((item.fabric, item.pool))
        if other:
            yield from _compare_links(item, other)
    runs = {(run.fabric, run.tier.name): run for run in new.networks.switches}
    for run in old.networks.switches:
        if (run.fabric, run.tier.name) in runs:
            yield from _compare_switches(run, runs[run.fabric, run.tier.name])


def compute_moved_places(old: Plan, new: Plan) -> Iterator[Renumbering]:
    """Devices in another rack, or at another height: nodes pool by pool, switches tier by tier, and all others."""
    before, after = _map_positions(old), _map_positions(new)
    things: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    for (of, number), place in before.items():
        other = after.get((of, number))
        if other:
            things[of] += 1
            moved[of] += place != other
    yield from (Renumbering(f"facility.places[{of}]", things[of], count) for of, count in moved.items() if count)


def _compare_links(one: PoolLinks, two: PoolLinks) -> Iterator[Renumbering]:
    if one.rails is None or two.rails is None or one.rails == two.rails and one.first == two.first:
        return
    hosts, others = one.rails.node_links, two.rails.node_links
    nodes = one.hosts.count_common(two.hosts)
    if not nodes or (hosts.nics, hosts.planes) != (others.nics, others.planes):
        return
    if (
        _list_first_nodes(one) != _list_first_nodes(two)
        and _list_first_nodes(one).keys() == _list_first_nodes(two).keys()
    ):
        return  # the published plan shows it
    before, after = _compute_addresses(one, one.rails, nodes), _compute_addresses(two, two.rails, nodes)
    moved = int((before != after).sum())
    if moved:
        yield Renumbering(f"networks.nodes[{one.fabric}/{one.pool}].addresses", before.size, moved)


def _list_first_nodes(links: PoolLinks) -> dict[str, str]:
    return {item.name: links.get_first_address(number) for number, item in enumerate(links.subnets)}


def _compute_addresses(links: PoolLinks, rails: RailAddresses, nodes: int) -> Ints:
    """The address of each port of a pool's first nodes, as a number."""
    import numpy as np

    hosts = rails.node_links
    grid: tuple[Any, ...] = np.ix_(*(np.arange(count) for count in (nodes, hosts.nics, hosts.planes)))
    _, _, leaf, port, _ = hosts.compute_ends(hosts.compute_number(links.first + grid[0], grid[1], grid[2]))
    plane, side, number = rails.find_leaf_position(leaf)
    bases = np.array([int(block.network_address) for block in rails.blocks])
    return np.asarray(bases[plane * hosts.leaves_per_block + side] + number * rails.leaf_addresses + 2 * port)


def _compare_switches(one: SwitchRun, two: SwitchRun) -> Iterator[Renumbering]:
    """Compare switches by position. Another start of a run is shown by the published plan."""
    if one.planes != two.planes:
        return
    index = {two.find_position(number): number for number in range(two.tier.count)}
    both = [(number, index[place]) for number in range(one.tier.count) if (place := one.find_position(number)) in index]
    values: dict[str, Callable[[SwitchRun, int], object]] = {"names": SwitchRun.format_name}
    if one.management.block == two.management.block:
        values["management_addresses"] = SwitchRun.get_management_address
    if one.loopbacks and two.loopbacks and one.loopbacks.block == two.loopbacks.block:
        values["loopback_addresses"] = SwitchRun.get_loopback
    if one.as_numbers == two.as_numbers:
        values["as_numbers"] = SwitchRun.get_as_number
    for what, value in values.items():
        moved = sum(value(one, a) != value(two, b) for a, b in both)
        if moved:
            yield Renumbering(f"networks.switches[{one.fabric}/{one.tier.name}].{what}", len(both), moved)


def _map_positions(plan: Plan) -> dict[tuple[str, int], tuple[str, int]]:
    """(Pool, tier or kind, number) -> rack, and its unit in it."""
    return {
        (item.group if item.kind in ("node", "switch", "server") else item.kind, item.first + number): (
            rack.name,
            item.unit + number * item.height,
        )
        for rack in (plan.layout.racks if plan.layout else ())
        for item in rack.items
        for number in range(item.count)
    }
