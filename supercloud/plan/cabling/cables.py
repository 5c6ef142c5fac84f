"""Every cable of a switched network, as columns: both ends, its length from where racks stand, its kind.

Columnar all the way: links come as arrays from the topology, ends and lengths are arithmetic on them, kinds are
chosen for all cables between two sets of devices at once. ``cables_of`` is the only way in.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...spec import Fabric as Declared
from ...topology import Fabric as Wiring
from ..model import FabricPlan, Plan
from ..network.service_links import service_links
from .cabled import fabrics_cabled
from .choice import choose
from .ends import Devices, Spots, node_devices, outside, service_devices, switch_devices
from .table import CableTable

__all__ = ["cables_of"]

Ints = NDArray[np.int64]


def cables_of(plan: Plan, fabric: FabricPlan, spots: Spots | None = None) -> CableTable:
    """All cables of one fabric. Raises InputError where two of them want the same port."""
    wiring = fabric.wiring
    assert isinstance(wiring, Wiring)
    spots = spots or Spots(plan)
    declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
    nodes = node_devices(plan, fabric, spots)
    services = [service_devices(plan, fabric.role, item, spots) for item in fabric.services]
    tiers = [switch_devices(fabric, tier, spots) for tier in fabric.tiers]
    devices = [*nodes, *services, *tiers]
    columns = _columns(plan, fabric, declared, wiring, devices, spots)
    _refuse_shared(fabric, devices, columns, plan)
    return choose(plan, fabric, declared, tuple(devices), *columns)


def _columns(
    plan: Plan, fabric: FabricPlan, declared: Declared, wiring: Wiring, devices: list[Devices], spots: Spots
) -> list[Ints]:
    """Both ends of every link: set of devices, device and port of one end and of the other, and the lane of a port.

    In a function of its own, since the groups' columns would take as much memory again for as long as they are kept.
    """
    nodes = devices[: len(devices) - len(fabric.services) - len(fabric.tiers)]
    sets = {item.kind: number for number, item in enumerate(devices) if item.kind in ("leaf", "spine", "core")}
    parts: list[tuple[Ints, ...]] = []
    for group in wiring.link_groups:
        source, source_port, target, target_port, _ = group.columns()
        zero = np.zeros(len(source), dtype=np.int64)
        row: tuple[Ints, ...]
        if group.source_kind == "node":
            firsts = np.array([item.first for item in nodes])
            owner = np.searchsorted(firsts, source, side="right") - 1
            row = (owner, source - firsts[owner], source_port, zero + sets["leaf"], target, target_port, zero)
        elif group.source_kind == "reserved":
            found = service_links(fabric)
            assert found is not None
            row = (found.service + len(nodes), found.machine, found.port, found.service * 0 + sets["leaf"], found.leaf,
                   found.leaf_port, found.lane)  # fmt: skip
        else:
            row = (zero + sets[group.source_kind], source, source_port,
                   zero + sets[group.target_kind], target, target_port, zero)  # fmt: skip
        parts.append(row)
    parts += _more_links(plan, fabric, declared, wiring, devices, sets, spots)
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _more_links(
    plan: Plan, fabric: FabricPlan, declared: Declared, wiring: Wiring, devices: list[Devices], sets: dict[str, int],
    spots: Spots,
) -> Iterator[tuple[Ints, ...]]:  # fmt: skip
    """Links that the shape does not have: between the leaves or machines of a pair, to the building, into another
    fabric."""
    leaf, top = wiring.tiers[0], wiring.tiers[-1]
    for position, service in enumerate(fabric.services):
        if service.peer_links and fabric.role == "management" and service.count > 1:
            own = len(devices) - len(fabric.tiers) - len(fabric.services) + position
            pair, link = _pairs(service.count // 2, service.peer_links)
            at = link + -(-service.links // service.count)
            yield (pair * 0 + own, pair * 2, at, pair * 0 + own, pair * 2 + 1, at, pair * 0)
    if declared.peer_links:
        pair, link = _pairs(leaf.count // 2, declared.peer_links)
        zero = pair * 0
        yield (zero + sets["leaf"], pair * 2, leaf.down + link, zero + sets["leaf"], pair * 2 + 1, leaf.down + link,
               zero)  # fmt: skip
    if declared.exits:
        link = np.arange(declared.exits)
        switch, port = _top_ports(plan, fabric, fabric, declared.exits)
        devices.append(outside(declared.exits, fabric.tiers[-1].switch.cage or ""))
        yield (link * 0 + sets[top.name], switch, port, link * 0 + len(devices) - 1, link * 0, link, link * 0)
    if declared.joins:
        upper = next((item for item in fabrics_cabled(plan) if item.name == declared.joins.fabric), None)
        if upper is None:
            raise InputError(f"fabrics: {fabric.name} joins {declared.joins.fabric!r}, which has no switches")
        _check_uplink_ports(plan, fabric, leaf.radix, declared.joins.links)
        devices.append(switch_devices(upper, upper.tiers[-1], spots))
        device, link = _pairs(leaf.count, declared.joins.links)
        switch, port = _top_ports(plan, fabric, upper, len(device))
        yield (device * 0 + sets["leaf"], device, leaf.radix + link, device * 0 + len(devices) - 1, switch, port,
               device * 0)  # fmt: skip


def _check_uplink_ports(plan: Plan, fabric: FabricPlan, radix: int, links: int) -> None:
    """Leaves that join another network do so by uplink ports of their own: all others face down."""
    switch = fabric.tiers[0].switch
    if switch.uplink_ports < links:
        index = [item.name for item in plan.spec.fabrics].index(fabric.name)
        raise InputError(
            f"fabrics[{index}]: each leaf of {fabric.name} joins by {links} links, and {switch.name} has "
            f"{switch.uplink_ports or 'no'} uplink ports beside the {radix} for nodes; take a switch that has them "
            "(uplink_ports in the catalog), or put the pools onto the network that is joined"
        )


def _top_ports(plan: Plan, fabric: FabricPlan, upper: FabricPlan, links: int) -> tuple[Ints, Ints]:
    """The switch and port of each of so many further links of ``fabric`` on the topmost switches of ``upper``.

    The switches take turns, each gives its last free port. Links to the building come first, then those of other
    networks in the order they are declared. Raises InputError where ports run out.
    """
    wiring = upper.wiring
    assert isinstance(wiring, Wiring)
    top = wiring.tiers[-1]
    used = np.zeros((top.count, top.radix), dtype=bool)
    for group in wiring.link_groups:
        columns = group.columns()
        if group.source_kind == top.name:
            used[columns.source, columns.source_port] = True
        if group.target_kind == top.name:
            used[columns.target, columns.target_port] = True
    if top is wiring.tiers[0]:
        peers = next(item.peer_links for item in plan.spec.fabrics if item.name == upper.name)
        used[: top.count // 2 * 2, top.down : top.down + peers] = True
    before = 0
    if fabric is not upper:
        asking = [(upper.name, next(item.exits for item in plan.spec.fabrics if item.name == upper.name))]
        leaves = {item.name: item.switches("leaf") for item in fabrics_cabled(plan)}
        asking += [(item.name, leaves.get(item.name, 0) * item.joins.links) for item in plan.spec.fabrics
                   if item.joins and item.joins.fabric == upper.name]  # fmt: skip
        for name, count in asking:
            if name == fabric.name:
                break
            before += -(-count // top.count)
    link = np.arange(links)
    switch, turn = link % top.count, link // top.count + before
    free = top.radix - used.sum(axis=1)
    lacking = int((turn >= free[switch]).sum())
    if lacking:
        names = [item.name for item in plan.spec.fabrics]
        raise InputError(
            f"fabrics[{names.index(fabric.name)}]: {lacking} of {links} links of {fabric.name} find no port in "
            f"{upper.name}: its {top.count} {top.name} switches have {int(free.min())} of {top.radix} ports left; "
            f"give {upper.name} more or larger ones"
        )
    order = np.argsort(used[:, ::-1], axis=1, kind="stable")  # free ports first, the last of them in front
    return switch, top.radix - 1 - order[switch, turn]


def _pairs(devices: int, links: int) -> tuple[Ints, Ints]:
    number = np.arange(devices * links)
    return number // links, number % links


def _refuse_shared(fabric: FabricPlan, devices: list[Devices], columns: list[Ints], plan: Plan) -> None:
    """Two cables in one port, or a port that is not there, are never rendered."""
    one_set, one, one_port, other_set, other, other_port, lane = columns
    where = f"fabrics[{[item.name for item in plan.spec.fabrics].index(fabric.name)}]"
    for number, item in enumerate(devices):
        ends = [(one[one_set == number], one_port[one_set == number], lane[one_set == number] * 0),
                (other[other_set == number], other_port[other_set == number], lane[other_set == number])]  # fmt: skip
        device, port, tail = (np.concatenate(column) for column in zip(*ends, strict=True))
        beyond = np.flatnonzero((port >= len(item.ports)) | (port < 0) | (device >= item.count))
        if len(beyond):
            first = beyond[0]
            raise InputError(f"{where}: {len(beyond)} links of {fabric.name} have no port: {item.kind} "
                             f"{int(device[first]) + 1} has {len(item.ports)} ports, not {int(port[first]) + 1}; "
                             "take larger switches or fewer links")  # fmt: skip
        ends_of_port = int(tail.max(initial=0)) + 1
        key = (device * len(item.ports) + port) * ends_of_port + tail
        twice = np.flatnonzero(np.bincount(key) > 1)
        if len(twice):
            worst = int(twice[0]) // ends_of_port
            label = item.label(worst // len(item.ports), worst % len(item.ports))
            raise InputError(f"{where}: {len(twice)} ports of {fabric.name} would get two cables, "
                             f"the first is {label}; take larger switches or fewer links")  # fmt: skip
