"""Every cable of a switched network, as columns: both ends, its length from where racks stand, its kind.

Columnar all the way: links come as arrays from the topology, ends and lengths are arithmetic on them, kinds are
chosen for all cables between two sets of devices at once. ``cables_of`` is the only way in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..catalog import Cable
from ..errors import InputError
from ..spec import Fabric as Declared
from ..topology import Fabric as Wiring
from .cable_choice import choose
from .cable_ends import Devices, Spots, node_devices, outside, service_devices, switch_devices
from .model import FabricPlan, Plan

__all__ = ["CableTable", "cables_of", "fabrics_cabled"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CableTable:
    """The links of one fabric, each with its two ends; the end nearer to the nodes is the first."""

    fabric: FabricPlan
    devices: tuple[Devices, ...]
    one_set: Ints
    one: Ints
    one_port: Ints
    other_set: Ints
    other: Ints
    other_port: Ints
    lane: Ints
    """Which end of a splitter this is, from 1; 0 where the port is not split."""
    length: NDArray[np.float64]
    """Metres along trays and racks; NaN where the layout does not say."""
    kinds: tuple[Cable, ...]
    kind: Ints
    """Position in ``kinds``, -1 where the catalog has none that fits."""
    stock: NDArray[np.float64]
    """Length to order, in metres; NaN where it is not known."""
    cable: Ints
    """Number of the cable, from 0: links of one twin-port cable or splitter share it."""

    @property
    def count(self) -> int:
        """Links."""
        return len(self.one)

    @property
    def cables(self) -> int:
        """Pieces of cable."""
        return int(self.cable[-1]) + 1 if self.count else 0

    def names(self, side: str) -> NDArray[Any]:
        """Device at one side (``one``, ``other``) of every link."""
        return self._pick(side, lambda item: item.names, getattr(self, side))

    def ports(self, side: str) -> NDArray[Any]:
        """Name of the port at one side of every link."""
        return self._pick(side, lambda item: item.ports, getattr(self, f"{side}_port"))

    def racks(self, side: str) -> Ints:
        """Rack of the device at one side of every link, -1 where it is not known."""
        return self._pick(side, lambda item: item.rack, getattr(self, side)).astype(np.int64)

    def _pick(self, side: str, column: Any, index: Ints) -> NDArray[Any]:
        sets = getattr(self, f"{side}_set")
        found = np.empty(self.count, dtype=object)
        for number, item in enumerate(self.devices):
            here = sets == number
            if here.any():
                found[here] = column(item)[index[here]]
        return found


def fabrics_cabled(plan: Plan) -> tuple[FabricPlan, ...]:
    """The fabrics with switches of our own; a torus has cables of its maker's."""
    return tuple(item for item in plan.fabrics if isinstance(item.wiring, Wiring) and item.tiers)


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
            row = _service_links(fabric, len(nodes), sets["leaf"], target, target_port)
        else:
            row = (zero + sets[group.source_kind], source, source_port,
                   zero + sets[group.target_kind], target, target_port, zero)  # fmt: skip
        parts.append(row)
    parts += _more_links(plan, fabric, declared, wiring, devices, sets, spots)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    _refuse_shared(fabric, devices, columns, plan)
    return choose(plan, fabric, declared, tuple(devices), *columns)


def _service_links(fabric: FabricPlan, first: int, leaves: int, leaf: Ints, port: Ints) -> tuple[Ints, ...]:
    """The reserved ports handed out: link by link of all machines of a service, so that theirs lie on many leaves."""
    owners, machines, ports, rows, lanes = [], [], [], [], []
    start = 0
    for number, service in enumerate(fabric.services):
        link = np.arange(service.links)
        owners.append(np.full(service.links, first + number))
        machines.append(link % service.count)
        ports.append(link // service.count)
        rows.append(start + link // service.split)
        lanes.append(link % service.split + 1 if service.split > 1 else link * 0)
        start += service.ports
    row = np.concatenate(rows)
    return (np.concatenate(owners), np.concatenate(machines), np.concatenate(ports), row * 0 + leaves, leaf[row],
            port[row], np.concatenate(lanes))  # fmt: skip


def _more_links(
    plan: Plan, fabric: FabricPlan, declared: Declared, wiring: Wiring, devices: list[Devices], sets: dict[str, int],
    spots: Spots,
) -> Iterator[tuple[Ints, ...]]:  # fmt: skip
    """Links that the shape does not have: between the leaves of a pair, to the building, into another fabric."""
    leaf, top = wiring.tiers[0], wiring.tiers[-1]
    if declared.peer_links:
        pair, link = _pairs(leaf.count // 2, declared.peer_links)
        zero = pair * 0
        yield (zero + sets["leaf"], pair * 2, leaf.down + link, zero + sets["leaf"], pair * 2 + 1, leaf.down + link,
               zero)  # fmt: skip
    if declared.exits:
        link = np.arange(declared.exits)
        devices.append(outside(declared.exits, fabric.tiers[-1].switch.cage or ""))
        yield (link * 0 + sets[top.name], link % top.count, top.radix - 1 - link // top.count,
               link * 0 + len(devices) - 1, link * 0, link, link * 0)  # fmt: skip
    if declared.joins:
        upper = next((item for item in fabrics_cabled(plan) if item.name == declared.joins.fabric), None)
        if upper is None:
            raise InputError(f"fabrics: {fabric.name} joins {declared.joins.fabric!r}, which has no switches")
        switches = switch_devices(upper, upper.tiers[-1], spots)
        taken = next(item.exits for item in plan.spec.fabrics if item.name == upper.name)
        devices.append(switches)
        device, link = _pairs(leaf.count, declared.joins.links)
        number = np.arange(len(device))
        per_switch = -(-taken // switches.count)
        yield (number * 0 + sets["leaf"], device, leaf.radix + link, number * 0 + len(devices) - 1,
               number % switches.count, upper.tiers[-1].radix - 1 - per_switch - number // switches.count,
               number * 0)  # fmt: skip


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
        key = (device * len(item.ports) + port) * 8 + tail
        found, counts = np.unique(key, return_counts=True)
        if (counts > 1).any():
            worst = int(found[counts > 1][0]) // 8
            label = item.label(worst // len(item.ports), worst % len(item.ports))
            raise InputError(f"{where}: {int((counts > 1).sum())} ports of {fabric.name} would get two cables, "
                             f"the first is {label}; take larger switches or fewer links")  # fmt: skip
