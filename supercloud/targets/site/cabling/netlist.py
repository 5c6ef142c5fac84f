"""A network in the format of ibsim and ibnetdiscover: a block for every device, a line for every port.

A machine has one host channel adapter for each of its ports, with the node description of the Linux driver: host name
and RDMA device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....plan.model.cables import CableTable

__all__ = ["NumberedLinks", "build_numbered_links", "render_netlist"]

IntArray = NDArray[np.int64]


class NumberedLinks:
    """Both ends of every link with InfiniBand numbering: devices by description, ports from 1."""

    def __init__(
        self,
        names: NDArray[Any],
        sizes: IntArray,
        source: IntArray,
        source_port: IntArray,
        target: IntArray,
        target_port: IntArray,
    ):
        self.names = names
        self.sizes = sizes
        """Ports of each device; 0 for an adapter of a machine."""
        self.source, self.source_port = source, source_port
        self.target, self.target_port = target, target_port


def build_numbered_links(table: CableTable) -> NumberedLinks:
    """Build the links of a table between adapters and switches."""
    names: list[NDArray[Any]] = []
    sizes: list[IntArray] = []
    starts: list[int] = []
    base = 0
    halved = bool(table.links.lane.any())
    for item in table.devices:
        starts.append(base)
        if item.side == "machine":
            adapters = np.empty(len(item.ports), dtype=object)
            adapters[:] = [f" {device}" for device in item.adapters]
            names.append((item.names[:, None] + adapters[None, :]).ravel())
            sizes.append(np.zeros(item.count * len(item.ports), dtype=np.int64))
        else:
            names.append(item.names)
            lanes = 2 if halved and item.kind == "leaf" else 1
            sizes.append(np.full(item.count, len(item.ports) * lanes, dtype=np.int64))
        base += len(names[-1])
    columns: list[IntArray] = []
    for side in ("source", "target"):
        sets, index, port = (getattr(table.links, f"{side}{part}") for part in ("_set", "", "_port"))
        device, number = np.empty(table.count, dtype=np.int64), np.ones(table.count, dtype=np.int64)
        for position, item in enumerate(table.devices):
            here = sets == position
            if item.side == "machine":
                device[here] = starts[position] + index[here] * len(item.ports) + port[here]
            else:
                device[here] = starts[position] + index[here]
                lanes = 2 if halved and item.kind == "leaf" else 1
                # a switch with split ports has two numbers for each of them
                number[here] = port[here] * lanes + (np.maximum(table.links.lane[here], 1) if lanes == 2 else 1)
        columns += [device, number]
    return NumberedLinks(np.concatenate(names), np.concatenate(sizes), *columns)


def render_netlist(table: CableTable) -> str:
    """Render the network file of one fabric."""
    ends = build_numbered_links(table)
    device = np.concatenate([ends.source, ends.target])
    port = np.concatenate([ends.source_port, ends.target_port])
    peer = np.concatenate([ends.target, ends.source])
    peer_port = np.concatenate([ends.target_port, ends.source_port])
    order = np.lexsort((port, device))
    device, port, peer_names, peer_port = device[order], port[order], ends.names[peer[order]], peer_port[order]
    lines: list[str] = []
    last = -1
    for owner, number, name, other in zip(device.tolist(), port.tolist(), peer_names, peer_port.tolist(), strict=True):
        if owner != last:
            size = int(ends.sizes[owner])
            kind = f"Switch {size}" if size else "Hca 1"
            lines.append(f'\n{kind} "{ends.names[owner]}"')
            last = owner
        lines.append(f'[{number}]\t"{name}"[{other}]')
    return "\n".join([f"# {table.fabric.name}", *lines]) + "\n"
