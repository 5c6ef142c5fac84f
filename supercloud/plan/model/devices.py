"""Equal devices at the ends of cables, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...primitives.quantity import Rate
from .network import SwitchRun

__all__ = ["DeviceSet"]


@dataclass(frozen=True)
class DeviceSet:
    """Equal devices of one kind; columns are as long as there are devices, or ports on one."""

    kind: str
    """node, leaf, spine, core, or the name of a service."""
    model: str
    """Machine, switch or product."""
    side: str
    """switch or machine: which bodies of transceivers fit."""
    names: NDArray[Any]
    ports: NDArray[Any]
    """Name of each port, as it is printed on the device or shown by it."""
    cages: NDArray[np.int64]
    """Cage of each port."""
    form_factors: tuple[str, ...]
    """Form of the cage of each port; empty where it is not known."""
    racks: NDArray[np.int64]
    """Rack in the layout, -1 where it is not known."""
    heights: NDArray[np.float64]
    """Metres above the floor of the rack."""
    first_number: int = 0
    """Number of the first device within its kind, over all sets of the fabric."""
    adapters: tuple[str, ...] = ()
    """RDMA device behind each port of a machine."""
    is_managed: bool = True
    system_names: tuple[str, ...] = ()
    """What the operating system calls each port: of a switch its interface, or on InfiniBand its number; of a machine
    its RDMA device. Empty where nobody knows."""
    port_aliases: tuple[str, ...] = ()
    """What neighbours hear each port called, where that is another name."""
    link_speed: Rate | None = None
    """Of its links, where it is another one than the fabric's."""
    switch_run: SwitchRun | None = None
    """Switches of Ethernet: what knows the names of the ends of a port that is split."""

    @property
    def count(self) -> int:
        return len(self.names)

    def format_label(self, device: int, port: int) -> str:
        """An end as it is printed on a label: ``train-0001:OSFP1P1``."""
        return f"{self.names[device]}:{self.ports[port]}"

    @property
    def port_labels(self) -> tuple[str, ...]:
        """Each port as a label has it: its name on the device, and what a switch's system calls it where that
        differs."""
        if self.side == "machine" or not self.system_names:
            return tuple(self.ports)
        return tuple(
            port if system in (port, "") or system.isdigit() else f"{port} ({system})"
            for port, system in zip(self.ports, self.system_names, strict=True)
        )
