"""The links that ought to be there, in the words of what is read back, each with the labels the installer sees."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import InputError
from ....plan.build.cabling.cabled import fabrics_cabled, network_of
from ....plan.build.cabling.cables import cables_of
from ....plan.build.cabling.ends import Spots
from ....plan.model.cables import CableTable
from ....plan.model.plan import Plan
from .netlist import ends_of
from .readers import Seen, SeenEnd
from .table import end_names, labels, lane_names

__all__ = ["Planned", "planned_for"]


@dataclass
class Planned:
    """Links by number; ends are a device and a port as the network names them."""

    ends: list[tuple[SeenEnd, SeenEnd]] = field(default_factory=list)
    labels: list[tuple[str, str]] = field(default_factory=list)
    """Of both ends: device and port as they are printed."""
    cables: list[str] = field(default_factory=list)
    """Number of the cable in the list for the floor."""
    machines: set[str] = field(default_factory=set)
    """Devices whose ports LLDP calls by names of the operating system, not by those on the back."""
    fabrics: list[str] = field(default_factory=list)
    aliases: dict[SeenEnd, SeenEnd] = field(default_factory=dict)
    """Ports by the names that operating systems and neighbours have for them."""
    ports: dict[str, Sequence[str]] = field(default_factory=dict)
    """InfiniBand: names of a switch's ports, from number 1."""


def planned_for(plan: Plan, seen: Seen) -> Planned:
    """The links of every fabric that the output says something of. Raises InputError where that is none."""
    found = Planned()
    spots = Spots(plan)
    candidates = [item for item in fabrics_cabled(plan) if network_of(item) == seen.network]
    for fabric in candidates:
        table = cables_of(plan, fabric, spots)
        switches = {name for item in table.devices if item.side == "switch" for name in item.names}
        nodes = {name for item in table.devices if item.side == "machine" for name in item.names}
        known = switches & seen.devices.keys()
        if known or (seen.network == "ethernet" and nodes & seen.reporting):
            found.fabrics.append(fabric.name)
            _add(table, found, known if seen.network == "infiniband" else set(), seen.devices)
    if not found.fabrics:
        names = ", ".join(sorted(seen.devices)[:3])
        known_names = ", ".join(f"{item.name}-leaf-001" for item in candidates) or "none"
        raise InputError(f"no device in the output belongs to a network of the plan: it names {names}; "
                         f"switches of the plan are called {known_names} …")  # fmt: skip
    return found


def _add(table: CableTable, found: Planned, switches: set[str], seen: Container[str]) -> None:
    rows = np.arange(table.count)
    building = next((number for number, item in enumerate(table.devices) if item.kind == "building"), -1)
    if building >= 0:
        rows = rows[table.other_set != building]
    one, other = table.names("one"), table.names("other")
    printed = list(zip(*labels(table), strict=True))
    if switches:
        halved = bool(table.lane.any())
        for item in table.devices:
            if item.side == "switch":
                named = [str(port) for port in item.ports]
                if halved and item.kind == "leaf":
                    named = [
                        f"{port}/{lane}" for port in named for lane in (1, 2)
                    ]  # a port of InfiniBand has two halves
                found.ports |= dict.fromkeys(item.names, named)
        ends = ends_of(table)
        if len(_parts(ends.one, ends.other, len(ends.names))) > 1:
            rows = _seen_parts(table, ends.one, ends.other, ends.names, switches)
        pairs = [
            ((a, str(a_port)), (b, str(b_port)))
            for a, a_port, b, b_port in zip(ends.names[ends.one], ends.one_port.tolist(), ends.names[ends.other],
                                            ends.other_port.tolist(), strict=True)
        ]  # fmt: skip
    else:
        found.machines |= {name for item in table.devices if item.side == "machine" for name in item.names}
        found.aliases |= dict(_aliases(table, seen)) | dict(_lane_aliases(table))
        pairs = [
            ((a, a_port), (b, b_port))
            for a, a_port, b, b_port in zip(one, table.ports("one"), other, end_names(table, "other"), strict=True)
        ]
    width, name = max(5, len(str(table.cables))), table.fabric.name
    for row in rows.tolist():
        found.ends.append(pairs[row])
        found.labels.append(printed[row])
        found.cables.append(f"{name}-{int(table.cable[row]) + 1:0{width}d}")


def _aliases(table: CableTable, seen: Container[str]) -> Iterator[tuple[SeenEnd, SeenEnd]]:
    """Other names of the ports of switches that were seen; what a system calls a port comes before what is printed."""
    for item in table.devices:
        for names in (item.aliases, item.system) if item.side == "switch" else ():
            known = [(given, str(port)) for given, port in zip(names, item.ports, strict=True) if given]
            yield from (
                ((device, given), (device, port)) for device in item.names if device in seen for given, port in known
            )


def _lane_aliases(table: CableTable) -> Iterator[tuple[SeenEnd, SeenEnd]]:
    """Names of the ends of ports that are split: they come before those of whole ports, which are not there."""
    names, ends = table.names("other"), end_names(table, "other")
    for row, system, alias in lane_names(table):
        for given in filter(None, (alias, system)):
            yield (names[row], given), (names[row], ends[row])


def _components(one: NDArray[Any], other: NDArray[Any], count: int) -> NDArray[Any]:
    """For every device the least number of a device that it is joined to."""
    label = np.arange(count)
    while True:
        least = np.minimum(label[one], label[other])
        before = label.copy()
        np.minimum.at(label, one, least)
        np.minimum.at(label, other, least)
        label = label[label]
        if (label == before).all():
            return label


def _parts(one: NDArray[Any], other: NDArray[Any], count: int) -> NDArray[Any]:
    return np.unique(_components(one, other, count)[one])


def _seen_parts(
    table: CableTable, one: NDArray[Any], other: NDArray[Any], names: NDArray[Any], switches: set[str]
) -> NDArray[Any]:
    """Links of the parts of the fabric (planes, rails that never meet) that the output is of: each is a subnet."""
    label = _components(one, other, len(names))
    there = {int(label[number]) for number, name in enumerate(names) if name in switches}
    return np.flatnonzero(np.isin(label[one], sorted(there)))
