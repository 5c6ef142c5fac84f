"""All cables of a switched network as columns: both ends, length from rack positions, kind.

All steps use columns: links come as arrays from the topology, ends and lengths are computed from them, kinds are chosen
for all cables between two sets of devices at once. ``build_cable_table`` is the only entry point.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ....errors import InputError
from ....spec import Fabric as Declared
from ....topology import Fabric as Wiring
from ...model.cables import CableTable, LinkColumns
from ...model.devices import DeviceSet
from ...model.plan import FabricPlan, Plan
from ..fabric.service_links import build_service_links
from ..fabric.upstream import select_top_switches
from .cabled import list_cabled_fabrics
from .choice import select_cables
from .ends import DeviceLocator, build_external_device, build_node_devices, build_service_devices, build_switch_devices

__all__ = ["build_cable_table"]

Ints = NDArray[np.int64]


def build_cable_table(plan: Plan, fabric: FabricPlan, locator: DeviceLocator | None = None) -> CableTable:
    """All cables of one fabric. Raises InputError if two of them need the same port."""
    wiring = fabric.wiring
    assert isinstance(wiring, Wiring)
    locator = locator or DeviceLocator(plan)
    declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
    nodes = build_node_devices(plan, fabric, locator)
    services = [build_service_devices(plan, fabric.role, item, locator) for item in fabric.services]
    tiers = [build_switch_devices(fabric, tier, locator) for tier in fabric.tiers]
    devices = [*nodes, *services, *tiers]
    columns = _build_columns(plan, fabric, declared, wiring, devices, locator)
    _require_distinct_ports(fabric, devices, columns, plan)
    return select_cables(plan, fabric, declared, tuple(devices), columns)


def _build_columns(
    plan: Plan, fabric: FabricPlan, declared: Declared, wiring: Wiring, devices: list[DeviceSet], locator: DeviceLocator
) -> LinkColumns:
    """Both ends of every link: set of devices, device and port of each end, and the lane of a port.

    A separate function, so that the columns of the groups are released when it returns: they need as much memory again.
    """
    nodes = devices[: len(devices) - len(fabric.services) - len(fabric.tiers)]
    sets = {item.kind: number for number, item in enumerate(devices) if item.kind in ("leaf", "spine", "core")}
    parts: list[tuple[Ints, ...]] = []
    for group in wiring.link_groups:
        source, source_port, target, target_port, _ = group.build_columns()
        zero = np.zeros(len(source), dtype=np.int64)
        row: tuple[Ints, ...]
        if group.source_kind == "node":
            firsts = np.array([item.first_number for item in nodes])
            owner = np.searchsorted(firsts, source, side="right") - 1
            row = (owner, source - firsts[owner], source_port, zero + sets["leaf"], target, target_port, zero)
        elif group.source_kind == "reserved":
            found = build_service_links(fabric)
            assert found is not None
            row = (
                found.service + len(nodes),
                found.machine,
                found.port,
                found.service * 0 + sets["leaf"],
                found.leaf,
                found.leaf_port,
                found.lane,
            )
        else:
            row = (
                zero + sets[group.source_kind],
                source,
                source_port,
                zero + sets[group.target_kind],
                target,
                target_port,
                zero,
            )
        parts.append(row)
    parts += _iter_extra_links(plan, fabric, declared, wiring, devices, sets, locator)
    return LinkColumns(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _iter_extra_links(
    plan: Plan,
    fabric: FabricPlan,
    declared: Declared,
    wiring: Wiring,
    devices: list[DeviceSet],
    set_numbers: dict[str, int],
    locator: DeviceLocator,
) -> Iterator[tuple[Ints, ...]]:
    """Links that are not part of the shape: between the leaves or machines of a pair, to the building, into another
    fabric.
    """
    leaf, top = wiring.tiers[0], wiring.tiers[-1]
    for position, service in enumerate(fabric.services):
        if service.peer_links and fabric.role == "management" and service.count > 1:
            own = len(devices) - len(fabric.tiers) - len(fabric.services) + position
            pair, link = _number_links(service.count // 2, service.peer_links)
            at = link + -(-service.links // service.count)
            yield (pair * 0 + own, pair * 2, at, pair * 0 + own, pair * 2 + 1, at, pair * 0)
    if declared.peer_links:
        pair, link = _number_links(leaf.count // 2, declared.peer_links)
        zero = pair * 0
        yield (
            zero + set_numbers["leaf"],
            pair * 2,
            leaf.down + link,
            zero + set_numbers["leaf"],
            pair * 2 + 1,
            leaf.down + link,
            zero,
        )
    if declared.external_links:
        link = np.arange(declared.external_links)
        switch, port = _select_top_ports(plan, fabric, fabric, declared.external_links)
        devices.append(build_external_device(declared.external_links, fabric.tiers[-1].switch.cage or ""))
        yield (link * 0 + set_numbers[top.name], switch, port, link * 0 + len(devices) - 1, link * 0, link, link * 0)
    if declared.upstream:
        upper = next((item for item in list_cabled_fabrics(plan) if item.name == declared.upstream.fabric), None)
        if upper is None:
            raise InputError(
                f"fabrics: {declared.upstream.fabric!r}, the upstream fabric of {fabric.name}, has no switches"
            )
        _check_uplink_ports(plan, fabric, upper, leaf.radix, declared.upstream.links)
        devices.append(build_switch_devices(upper, upper.tiers[-1], locator))
        device, link = _number_links(leaf.count, declared.upstream.links)
        switch, port = _select_top_ports(plan, fabric, upper, len(device))
        yield (
            device * 0 + set_numbers["leaf"],
            device,
            leaf.radix + link,
            device * 0 + len(devices) - 1,
            switch,
            port,
            device * 0,
        )


def _check_uplink_ports(plan: Plan, fabric: FabricPlan, upper: FabricPlan, radix: int, links: int) -> None:
    """Leaves below an upstream fabric use separate uplink ports: all other ports face down."""
    switch = fabric.tiers[0].switch
    if switch.uplink_ports >= links:
        return
    index = [item.name for item in plan.spec.fabrics].index(fabric.name)
    suggestions = (
        [f"set upstream: {{fabric: {upper.name}, links: {switch.uplink_ports}}}"] if switch.uplink_ports else []
    )
    suggestions.append(f"use a switch with {links} of them (uplink_ports in the catalog)")
    if fabric.role == upper.role:  # a network of another role has other adapters: it cannot be omitted
        suggestions.append("connect the pools to the upstream fabric")
    raise InputError(
        f"fabrics[{index}]: each leaf of {fabric.name} has {links} links to {upper.name}, and {switch.name} has "
        f"{switch.uplink_ports or 'no'} uplink ports in addition to the {radix} for nodes; {', or '.join(suggestions)}"
    )


def _select_top_ports(plan: Plan, fabric: FabricPlan, upper: FabricPlan, links: int) -> tuple[Ints, Ints]:
    """The switch and port of a number of further links of ``fabric`` on the topmost switches of ``upper``.

    The switches alternate (``select_top_switches``), each uses its last free port. Links to the building come first,
    then those of other networks in the order of their declaration. Raises InputError if there are too few ports.
    """
    top, used = upper.require_wiring().tiers[-1], _find_used_top_ports(plan, upper)
    before = sum(-(-count // top.count) for count in _list_earlier_links(plan, fabric, upper))
    link = np.arange(links)
    switch, turn = select_top_switches(upper, links), link // top.count + before
    free = top.radix - used.sum(axis=1)
    lacking = int((turn >= free[switch]).sum())
    if lacking:
        names = [item.name for item in plan.spec.fabrics]
        raise InputError(
            f"fabrics[{names.index(fabric.name)}]: {lacking} of {links} links of {fabric.name} have no free port on "
            f"{upper.name}: its {top.count} {top.name} switches have {int(free.min())} of {top.radix} ports left; "
            f"use more or larger switches in {upper.name}"
        )
    order = np.argsort(used[:, ::-1], axis=1, kind="stable")  # free ports first, in descending order
    return switch, top.radix - 1 - order[switch, turn]


def _find_used_top_ports(plan: Plan, upper: FabricPlan) -> NDArray[np.bool_]:
    """For each topmost switch and port, whether it is in use by the wiring, or is for the other leaf of a pair."""
    wiring = upper.require_wiring()
    top = wiring.tiers[-1]
    used = np.zeros((top.count, top.radix), dtype=bool)
    for group in wiring.link_groups:
        columns = group.build_columns()
        if group.source_kind == top.name:
            used[columns.source, columns.source_port] = True
        if group.target_kind == top.name:
            used[columns.target, columns.target_port] = True
    if top is wiring.tiers[0]:
        peers = next(item.peer_links for item in plan.spec.fabrics if item.name == upper.name)
        used[: top.count // 2 * 2, top.down : top.down + peers] = True
    return used


def _list_earlier_links(plan: Plan, fabric: FabricPlan, upper: FabricPlan) -> list[int]:
    """Numbers of links to the topmost switches of ``upper`` that have their ports before those of ``fabric``."""
    if fabric is upper:
        return []
    found = [next(item.external_links for item in plan.spec.fabrics if item.name == upper.name)]
    leaves = {item.name: item.count_switches("leaf") for item in list_cabled_fabrics(plan)}
    for item in plan.spec.fabrics:
        if item.name == fabric.name:
            break
        if item.upstream and item.upstream.fabric == upper.name:
            found.append(leaves.get(item.name, 0) * item.upstream.links)
    return found


def _number_links(devices: int, links: int) -> tuple[Ints, Ints]:
    number = np.arange(devices * links)
    return number // links, number % links


def _require_distinct_ports(fabric: FabricPlan, devices: list[DeviceSet], columns: LinkColumns, plan: Plan) -> None:
    """Refuse two cables in one port, and a port that does not exist: they are never rendered."""
    one_set, one, one_port, other_set, other, other_port, lane = columns
    where = f"fabrics[{[item.name for item in plan.spec.fabrics].index(fabric.name)}]"
    for number, item in enumerate(devices):
        ends = [
            (one[one_set == number], one_port[one_set == number], lane[one_set == number] * 0),
            (other[other_set == number], other_port[other_set == number], lane[other_set == number]),
        ]
        device, port, tail = (np.concatenate(column) for column in zip(*ends, strict=True))
        beyond = np.flatnonzero((port >= len(item.ports)) | (port < 0) | (device >= item.count))
        if len(beyond):
            first = beyond[0]
            raise InputError(
                f"{where}: {len(beyond)} links of {fabric.name} have no port: {item.kind} "
                f"{int(device[first]) + 1} has {len(item.ports)} ports, not {int(port[first]) + 1}; "
                "use larger switches or fewer links"
            )
        ends_of_port = int(tail.max(initial=0)) + 1
        key = (device * len(item.ports) + port) * ends_of_port + tail
        twice = np.flatnonzero(np.bincount(key) > 1)
        if len(twice):
            worst = int(twice[0]) // ends_of_port
            label = item.format_label(worst // len(item.ports), worst % len(item.ports))
            raise InputError(
                f"{where}: {len(twice)} ports of {fabric.name} are used by two cables, "
                f"the first is {label}; use larger switches or fewer links"
            )
