"""The cables of one fabric as columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...catalog import Cable
from ..build.cabling.ends import Devices
from .plan import FabricPlan

__all__ = ["CableTable"]

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
        return self.pick(side, lambda item: item.ports)

    def pick(self, side: str, column: Callable[[Devices], NDArray[Any]]) -> NDArray[Any]:
        """What a column over the ports of a device says of the port at one side of every link."""
        return self._pick(side, column, getattr(self, f"{side}_port"))

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
