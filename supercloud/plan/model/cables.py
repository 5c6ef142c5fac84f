"""The cables of one fabric as columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...catalog import Cable
from .devices import DeviceSet
from .plan import FabricPlan

__all__ = ["CableTable", "LinkColumns"]

Ints = NDArray[np.int64]


class LinkColumns(NamedTuple):
    """Both ends of every link of a fabric: number of the set of devices, number in the set, port."""

    source_set: Ints
    source: Ints
    source_port: Ints
    target_set: Ints
    target: Ints
    target_port: Ints
    lane: Ints
    """Number of the splitter's end, from 1; 0 where the port is not split."""


@dataclass(frozen=True)
class CableTable:
    """The links of one fabric with their cables; the end nearer to the nodes is the source."""

    fabric: FabricPlan
    devices: tuple[DeviceSet, ...]
    links: LinkColumns
    length: NDArray[np.float64]
    """Meters along trays and racks; NaN where the layout does not determine it."""
    kinds: tuple[Cable, ...]
    kind_index: Ints
    """Index into ``kinds``, -1 where no cable of the catalog fits."""
    stock_length: NDArray[np.float64]
    """Length to order, in meters; NaN where unknown."""
    cable_number: Ints
    """Number of the cable, from 0; links of one twin-port cable or splitter share it."""

    @property
    def count(self) -> int:
        """Number of links."""
        return len(self.links.source)

    @property
    def cable_count(self) -> int:
        """Number of cables to order."""
        return int(self.cable_number[-1]) + 1 if self.count else 0

    def get_device_names(self, side: str) -> NDArray[Any]:
        """Device at one side (``source``, ``target``) of every link."""
        return self._select_column(side, lambda item: item.names, getattr(self.links, side))

    def get_port_names(self, side: str) -> NDArray[Any]:
        """Port name at one side of every link."""
        return self.select_column(side, lambda item: item.ports)

    def select_column(self, side: str, column: Callable[[DeviceSet], NDArray[Any]]) -> NDArray[Any]:
        """Value of a per-port column of the devices, for the port at one side of every link."""
        return self._select_column(side, column, getattr(self.links, f"{side}_port"))

    def get_racks(self, side: str) -> Ints:
        """Rack of the device at one side of every link, -1 where unknown."""
        return self._select_column(side, lambda item: item.racks, getattr(self.links, side)).astype(np.int64)

    def _select_column(self, side: str, column: Any, index: Ints) -> NDArray[Any]:
        sets = getattr(self.links, f"{side}_set")
        found = np.empty(self.count, dtype=object)
        for number, item in enumerate(self.devices):
            here = sets == number
            if here.any():
                found[here] = column(item)[index[here]]
        return found
