"""The planned links with the names of discovery output, each with the installer's labels."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import InputError
from ....plan.build.cabling.cabled import get_cable_protocol, list_cabled_fabrics
from ....plan.build.cabling.cables import build_cable_table
from ....plan.build.cabling.ends import DeviceLocator
from ....plan.model.cables import CableTable
from ....plan.model.plan import Plan
from ....primitives.foreign_text import shorten_text
from .netlist import NumberedLinks, build_numbered_links
from .readers import DiscoveredLinks, LinkEnd
from .table import format_labels, iter_lane_names, list_end_names

__all__ = ["PlannedLinks", "build_planned_links"]


@dataclass
class PlannedLinks:
    """Links by number; ends are a device and a port with the names in the network."""

    ends: list[tuple[LinkEnd, LinkEnd]] = field(default_factory=list)
    labels: list[tuple[str, str]] = field(default_factory=list)
    """Printed device and port names of both ends."""
    cables: list[str] = field(default_factory=list)
    """Number of the cable in the installers' list."""
    machines: set[str] = field(default_factory=set)
    """Devices whose ports have operating system names in LLDP, not the printed ones."""
    fabrics: list[str] = field(default_factory=list)
    aliases: dict[LinkEnd, LinkEnd] = field(default_factory=dict)
    """Ports by the names that operating systems and neighbors use."""
    ports: dict[str, Sequence[str]] = field(default_factory=dict)
    """InfiniBand: names of a switch's ports, from number 1."""


def build_planned_links(plan: Plan, discovered: DiscoveredLinks) -> PlannedLinks:
    """Build the links of all fabrics in the output. Raises InputError if there are none."""
    found = PlannedLinks()
    spots = DeviceLocator(plan)
    candidates = [item for item in list_cabled_fabrics(plan) if get_cable_protocol(item) == discovered.network]
    for fabric in candidates:
        table = build_cable_table(plan, fabric, spots)
        known = _list_names(table, "switch") & discovered.devices.keys()
        nodes = _list_names(table, "machine")
        if known or (discovered.network == "ethernet" and nodes & discovered.reporting_devices):
            found.fabrics.append(fabric.name)
            _add_links(table, found, known if discovered.network == "infiniband" else set(), discovered.devices)
    if not found.fabrics:
        names = ", ".join(map(shorten_text, sorted(discovered.devices)[:3]))
        known_names = ", ".join(f"{item.name}-leaf-001" for item in candidates) or "none"
        raise InputError(
            f"no device in the output belongs to a network of the plan: it contains {names}; "
            f"names of switches in the plan: {known_names} …"
        )
    return found


def _list_names(table: CableTable, side: str) -> set[str]:
    """Return the names of the switches, or of the machines."""
    return {name for item in table.devices if item.side == side for name in item.names}


def _add_links(
    table: CableTable, planned: PlannedLinks, switches: set[str], discovered_devices: Container[str]
) -> None:
    """Add the links of a table; ``switches`` are those that InfiniBand discovered, empty for Ethernet."""
    rows = _select_inner_links(table)
    if switches:
        planned.ports |= _list_numbered_ports(table)
        ends = build_numbered_links(table)
        if len(_list_components(ends.source, ends.target, len(ends.names))) > 1:
            rows = _select_discovered_links(table, ends.source, ends.target, ends.names, switches)
        pairs = _pair_numbered_ends(ends)
    else:
        planned.machines |= _list_names(table, "machine")
        planned.aliases |= dict(_iter_aliases(table, discovered_devices)) | dict(_iter_lane_aliases(table))
        pairs = _pair_named_ends(table)
    printed = list(zip(*format_labels(table), strict=True))
    width, name = max(5, len(str(table.cable_count))), table.fabric.name
    for row in rows.tolist():
        planned.ends.append(pairs[row])
        planned.labels.append(printed[row])
        planned.cables.append(f"{name}-{int(table.cable_number[row]) + 1:0{width}d}")


def _select_inner_links(table: CableTable) -> NDArray[Any]:
    """Return the numbers of the links that do not leave the building."""
    building = next((number for number, item in enumerate(table.devices) if item.kind == "building"), -1)
    return np.flatnonzero(table.links.target_set != building)


def _list_numbered_ports(table: CableTable) -> dict[str, Sequence[str]]:
    """InfiniBand: switch -> names of its ports, of which a leaf may have two for each cage."""
    halved = bool(table.links.lane.any())
    found: dict[str, Sequence[str]] = {}
    for item in table.devices:
        if item.side != "switch":
            continue
        named = [str(port) for port in item.ports]
        if halved and item.kind == "leaf":
            named = [f"{port}/{lane}" for port in named for lane in (1, 2)]  # an InfiniBand port can be split in two
        found |= dict.fromkeys(item.names, named)
    return found


def _pair_numbered_ends(links: NumberedLinks) -> list[tuple[LinkEnd, LinkEnd]]:
    return [
        ((a, str(a_port)), (b, str(b_port)))
        for a, a_port, b, b_port in zip(
            links.names[links.source],
            links.source_port.tolist(),
            links.names[links.target],
            links.target_port.tolist(),
            strict=True,
        )
    ]


def _pair_named_ends(table: CableTable) -> list[tuple[LinkEnd, LinkEnd]]:
    return [
        ((a, a_port), (b, b_port))
        for a, a_port, b, b_port in zip(
            table.get_device_names("source"),
            table.get_port_names("source"),
            table.get_device_names("target"),
            list_end_names(table, "target"),
            strict=True,
        )
    ]


def _iter_aliases(table: CableTable, discovered_devices: Container[str]) -> Iterator[tuple[LinkEnd, LinkEnd]]:
    """Yield other names of the ports of discovered switches; operating system names come before printed ones."""
    for item in table.devices:
        for names in (item.port_aliases, item.system_names) if item.side == "switch" else ():
            known = [(given, str(port)) for given, port in zip(names, item.ports, strict=True) if given]
            yield from (
                ((device, given), (device, port))
                for device in item.names
                if device in discovered_devices
                for given, port in known
            )


def _iter_lane_aliases(table: CableTable) -> Iterator[tuple[LinkEnd, LinkEnd]]:
    """Yield names of the parts of split ports: they come before those of whole ports, which do not exist."""
    names, ends = table.get_device_names("target"), list_end_names(table, "target")
    for row, system, alias in iter_lane_names(table):
        for given in filter(None, (alias, system)):
            yield (names[row], given), (names[row], ends[row])


def _compute_components(source: NDArray[Any], target: NDArray[Any], count: int) -> NDArray[Any]:
    """Return for every device the lowest number of a device in its connected component."""
    label = np.arange(count)
    while True:
        least = np.minimum(label[source], label[target])
        before = label.copy()
        np.minimum.at(label, source, least)
        np.minimum.at(label, target, least)
        label = label[label]
        if (label == before).all():
            return label


def _list_components(source: NDArray[Any], target: NDArray[Any], count: int) -> NDArray[Any]:
    return np.unique(_compute_components(source, target, count)[source])


def _select_discovered_links(
    table: CableTable, source: NDArray[Any], target: NDArray[Any], names: NDArray[Any], switches: set[str]
) -> NDArray[Any]:
    """Return links of the parts of the fabric (planes, separate rails) in the output: each is a subnet."""
    label = _compute_components(source, target, len(names))
    there = {int(label[number]) for number, name in enumerate(names) if name in switches}
    return np.flatnonzero(np.isin(label[source], sorted(there)))
