"""The kind of cable of each link: the simplest of sufficient reach."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....catalog import Cable

__all__ = ["CableAssignment", "CableGroup"]

Ints = NDArray[np.int64]
Meters = NDArray[np.float64]


@dataclass(frozen=True)
class CableGroup:
    """Links between two sets of devices with the same cages, and the kinds of cable that may connect them."""

    rows: Ints
    candidates: tuple[Cable, ...]
    """In the order of preference."""


@dataclass
class CableAssignment:
    """Columns that grow with the kinds in use; ``length`` is in meters, NaN where unknown."""

    length: Meters
    kinds: list[Cable] = field(default_factory=list)
    kind: Ints = field(init=False)
    """Index into ``kinds`` of each link, -1 where no cable fits."""
    stock: Meters = field(init=False)
    """Length to order of each link, in meters."""

    def __post_init__(self) -> None:
        self.kind = np.full(len(self.length), -1, dtype=np.int64)
        self.stock = np.full(len(self.length), np.nan)

    def assign(self, rows: Ints, candidates: tuple[Cable, ...]) -> None:
        """Select for every row the first kind of sufficient reach; without a length the first optical one."""
        left = rows
        unknown = np.isnan(self.length[rows])
        if candidates and unknown.any():
            likely = next((item for item in candidates if item.medium in ("aoc", "fiber")), candidates[-1])
            self.kind[rows[unknown]] = self._get_index(likely)
            left = rows[~unknown]
        for item in candidates:
            if not len(left):
                return
            sizes = np.array([float(size.base) for size in item.lengths])
            most = float(item.reach.base) if not len(sizes) else min(float(item.reach.base), sizes[-1])
            fits = self.length[left] <= most + 1e-9
            chosen = left[fits]
            if len(chosen):
                self.kind[chosen] = self._get_index(item)
                need = self.length[chosen]
                self.stock[chosen] = sizes[np.searchsorted(sizes, need - 1e-9)] if len(sizes) else np.ceil(need)
            left = left[~fits]

    def _get_index(self, cable: Cable) -> int:
        if cable not in self.kinds:
            self.kinds.append(cable)
        return self.kinds.index(cable)
