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
    """Equal devices of one kind; columns have one entry for each device, or for each port of one device."""

    kind: str
    """node, leaf, spine, core, or the name of a service."""
    model: str
    """Name of the machine, switch or product."""
    side: str
    """switch or machine: determines which transceiver housings fit."""
    names: NDArray[Any]
    ports: NDArray[Any]
    """Name of each port, as printed on the device or shown by it."""
    cages: NDArray[np.int64]
    """Cage number of each port."""
    form_factors: tuple[str, ...]
    """Form factor of each port's cage; empty where unknown."""
    racks: NDArray[np.int64]
    """Rack index in the layout, -1 where unknown."""
    heights: NDArray[np.float64]
    """Meters above the bottom of the rack."""
    first_number: int = 0
    """Number of the first device within its kind, over all sets of the fabric."""
    adapters: tuple[str, ...] = ()
    """RDMA device behind each port of a machine."""
    is_managed: bool = True
    system_names: tuple[str, ...] = ()
    """Name of each port in the operating system: the interface of a switch, or on InfiniBand its port number; the RDMA
    device of a machine. Empty where unknown."""
    port_aliases: tuple[str, ...] = ()
    """Name of each port as reported to neighbors by LLDP, where it differs."""
    link_speed: Rate | None = None
    """Speed of its links, where it differs from the fabric's."""
    switch_run: SwitchRun | None = None
    """Ethernet switches: gives the names of the ends of a split port."""

    @property
    def count(self) -> int:
        """Number of devices."""
        return len(self.names)

    def format_label(self, device: int, port: int) -> str:
        """Format an end as printed on a label: ``train-0001:OSFP1P1``."""
        return f"{self.names[device]}:{self.ports[port]}"

    @property
    def port_labels(self) -> tuple[str, ...]:
        """Format each port for a label: its name on the device, and its name in the switch's operating system if that
        differs.
        """
        if self.side == "machine" or not self.system_names:
            return tuple(self.ports)
        return tuple(
            port if system in (port, "") or system.isdigit() else f"{port} ({system})"
            for port, system in zip(self.ports, self.system_names, strict=True)
        )
