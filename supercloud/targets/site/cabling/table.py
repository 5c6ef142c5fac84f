"""The installers' list of cables: one row per link, a label for each end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....plan.model.cables import CableTable
from ....plan.model.plan import Plan
from ....primitives.tables import format_csv
from .netlist import build_numbered_links

__all__ = [
    "COLUMNS",
    "list_end_names",
    "format_labels",
    "iter_lane_names",
    "append_lanes",
    "build_summary",
    "list_system_names",
    "render_table",
]

COLUMNS = (
    "cable",
    "label_a",
    "label_b",
    "a_device",
    "a_port",
    "a_system_port",
    "a_rack",
    "b_device",
    "b_port",
    "b_system_port",
    "b_rack",
    "medium",
    "product",
    "part_number",
    "run_m",
    "order_m",
)


def render_table(plan: Plan, table: CableTable) -> str:
    """Render the CSV of one fabric. Links of one twin-port cable or splitter have the same number in the first
    column.
    """
    racks = np.array([rack.name for rack in plan.layout.racks] + [""] if plan.layout else [""], dtype=object)
    name, width = table.fabric.name, max(5, len(str(table.cable_count)))
    kinds: list[tuple[str, str, dict[str, str]]] = [
        (item.medium, item.name, item.part_numbers) for item in table.kinds
    ] + [("", "", {})]
    numbers = {
        (kind, size): part
        for kind, (_, _, parts) in enumerate(kinds)
        for text, part in parts.items()
        for size in [float(next(item.base for item in table.kinds[kind].lengths if str(item) == text))]
    }
    ends = zip(
        table.get_device_names("source"),
        list_end_names(table, "source"),
        list_system_names(table, "source"),
        racks[table.get_racks("source")],
        table.get_device_names("target"),
        list_end_names(table, "target"),
        list_system_names(table, "target"),
        racks[table.get_racks("target")],
        strict=True,
    )
    rows = zip(
        table.cable_number.tolist(),
        *format_labels(table),
        ends,
        table.kind_index.tolist(),
        table.length.tolist(),
        table.stock_length.tolist(),
        strict=True,
    )
    lines: list[Sequence[object]] = []
    for cable, one, other, (a, a_port, a_system, a_rack, b, b_port, b_system, b_rack), kind, run, order in rows:
        medium, product, _ = kinds[kind]
        lines.append(
            (
                f"{name}-{cable + 1:0{width}d}",
                f"{one} > {other}",
                f"{other} > {one}",
                a,
                a_port,
                a_system,
                a_rack,
                b,
                b_port,
                b_system,
                b_rack,
                medium,
                product,
                numbers.get((kind, order), ""),
                "" if isnan(run) else f"{run:.1f}",
                "" if isnan(order) else f"{order:g}",
            )
        )
    return format_csv(COLUMNS, lines)


def format_labels(table: CableTable) -> tuple[list[str], list[str]]:
    """Format the labels of both ends of every link: the port name printed on the device, and in brackets the name in
    the switch's operating system if it differs.
    """
    found = []
    for side in ("source", "target"):
        printed = append_lanes(
            table, side, table.select_column(side, lambda item: np.array(item.port_labels, dtype=object))
        )
        if side == "target":
            for row, system, _ in iter_lane_names(table):
                port = table.devices[table.links.target_set[row]].ports[table.links.target_port[row]]
                printed[row] = f"{port}/{table.links.lane[row]} ({system})"
        found.append([f"{name}:{port}" for name, port in zip(table.get_device_names(side), printed, strict=True)])
    return found[0], found[1]


def list_system_names(table: CableTable, side: str) -> NDArray[Any]:
    """Return the system's port names at one side: interface, number on InfiniBand, RDMA device of a machine."""
    names = table.select_column(side, lambda item: np.array(item.system_names or ("",) * len(item.ports), dtype=object))
    if table.fabric.kind == "infiniband" and table.links.lane.any():  # halves of a port have separate numbers
        numbers = getattr(build_numbered_links(table), f"{side}_port")
        switched = np.isin(
            getattr(table.links, f"{side}_set"), [at for at, item in enumerate(table.devices) if item.side == "switch"]
        )
        names[switched] = [str(number) for number in numbers[switched].tolist()]
    if side == "target":
        for row, system, _ in iter_lane_names(table):
            names[row] = system
    return names


def iter_lane_names(table: CableTable) -> Iterator[tuple[int, str, str]]:
    """Yield for Ethernet the row of each link at a part of a split port, its name in the switch's system, and its name
    in LLDP if that differs.
    """
    splits = {service.name: service.split for service in table.fabric.services}
    for row in np.flatnonzero(table.links.lane > 0).tolist():
        run = table.devices[table.links.target_set[row]].switch_run
        if run is not None and run.network_os is not None:
            port, lane = int(table.links.target_port[row]), int(table.links.lane[row])
            split = splits[table.devices[table.links.source_set[row]].kind]
            yield row, run.format_port_name(port, split, lane), run.format_port_alias(port, split, lane)


def list_end_names(table: CableTable, side: str) -> NDArray[Any]:
    """Return port names at one side; an end of a splitter has its number after the port's."""
    return append_lanes(table, side, table.get_port_names(side))


def append_lanes(table: CableTable, side: str, ports: NDArray[Any]) -> NDArray[Any]:
    """Return the names of ports at one side, with the number of the splitter's end appended."""
    if side == "source" or not table.links.lane.any():
        return ports
    split = table.links.lane > 0
    ports = ports.copy()
    ports[split] = [f"{port}/{lane}" for port, lane in zip(ports[split], table.links.lane[split].tolist(), strict=True)]
    return ports


def build_summary(table: CableTable) -> dict[str, object]:
    """Build the summary row of one fabric."""
    unit = int((table.kind_index < 0).sum())
    known = table.length[~np.isnan(table.length)]
    return {
        "fabric": table.fabric.name,
        "links": table.count,
        "cables": table.cable_count,
        "longest": f"{known.max():.1f} m" if len(known) else "unknown",
        "unknown": unit,
    }
