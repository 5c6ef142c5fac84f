"""How long a cable must be and which kind it is: arithmetic on columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..catalog import Cable
from ..primitives.quantity import Rate
from ..spec import Fabric as Declared
from .cable_ends import UNIT, Devices
from .cable_parts import Parts
from .model import FabricPlan, LayoutPlan, Plan

if TYPE_CHECKING:
    from .cables import CableTable

__all__ = ["choose", "network_of"]

Ints = NDArray[np.int64]
Metres = NDArray[np.float64]

# How cables are laid where nobody says otherwise: over trays above the racks, with something to spare at each end
# to dress the cable and to pull a machine out.
_TRAY = 0.3
_SPARE = 0.5
_RACK_UNITS = 48


def network_of(fabric: FabricPlan) -> str:
    """infiniband or ethernet: what cables and transceivers must speak."""
    return "infiniband" if fabric.kind == "infiniband" else "ethernet"


def choose(
    plan: Plan,
    fabric: FabricPlan,
    declared: Declared,
    devices: tuple[Devices, ...],
    one_set: Ints, one: Ints, one_port: Ints, other_set: Ints, other: Ints, other_port: Ints, lane: Ints,
) -> CableTable:  # fmt: skip
    """The table with lengths, kinds and cable numbers."""
    from .cables import CableTable

    length = _lengths(plan.layout, devices, one_set, one, other_set, other)
    shared, share = _cage_pairs(devices, one_set, one, one_port, other_set, other, other_port)
    kinds: list[Cable] = []
    kind = np.full(len(one), -1, dtype=np.int64)
    stock = np.full(len(one), np.nan)
    parts = fabric.parts
    media = declared.cabling.media if declared.cabling else ()
    if isinstance(parts, Parts) and fabric.speed:
        for pair in np.unique(one_set * len(devices) + other_set):
            low, high = divmod(int(pair), len(devices))
            here = (one_set == low) & (other_set == high)
            sides = (devices[low], devices[high])
            ports = (int(one_port[here][0]), int(other_port[here][0]))
            forms = [f"{side.side}:{side.forms[port]}" for side, port in zip(sides, ports, strict=True)]
            speed = fabric.speed
            if ports[0] >= len(sides[0].ports) - _uplinks(sides[0]) and _uplinks(sides[0]):
                speed = _uplink_speed(fabric) or speed
            split = _split(fabric, sides)
            for links in sorted({int(value) for value in np.unique(share[here])}, reverse=True):
                rows = np.flatnonzero(here & (share == links))
                offered = parts.between(forms[0], forms[1], network_of(fabric), speed, links, split)
                if links > 1:  # what joins one link only joins several, too
                    offered += tuple(item for item in
                                     parts.between(forms[0], forms[1], network_of(fabric), speed, 1, split)
                                     if item.medium == "fibre" and item not in offered)  # fmt: skip
                allowed = ("fibre",) if "building" in (sides[0].kind, sides[1].kind) else media
                _assign(rows, tuple(item for item in offered if not allowed or item.medium in allowed), length, kinds,
                        kind, stock)  # fmt: skip
    cable = _numbers(kinds, kind, shared, lane, other_set, other, other_port, len(devices))
    return CableTable(fabric, devices, one_set, one, one_port, other_set, other, other_port, lane, length,
                      tuple(kinds), kind, stock, cable)  # fmt: skip


def _uplinks(devices: Devices) -> int:
    """Ports after those of the mode: the ones whose form differs from the first."""
    return sum(form != devices.forms[0] for form in devices.forms)


def _uplink_speed(fabric: FabricPlan) -> Rate | None:
    return fabric.tiers[0].switch.uplink_speed


def _split(fabric: FabricPlan, sides: tuple[Devices, Devices]) -> int:
    return next((item.split for item in fabric.services if item.name == sides[0].kind), 1)


def _assign(rows: Ints, offered: tuple[Cable, ...], length: Metres, kinds: list[Cable], kind: Ints,
            stock: Metres) -> None:  # fmt: skip
    """To every row the first kind that reaches; where no length is known, light: it reaches furthest."""
    left = rows
    unknown = np.isnan(length[rows])
    if offered and unknown.any():
        likely = next((item for item in offered if item.medium in ("aoc", "fibre")), offered[-1])
        kind[rows[unknown]] = _position(kinds, likely)
        left = rows[~unknown]
    for item in offered:
        if not len(left):
            return
        sizes = np.array([float(size.base) for size in item.lengths])
        most = float(item.reach.base) if not len(sizes) else min(float(item.reach.base), sizes[-1])
        fits = length[left] <= most + 1e-9
        chosen = left[fits]
        if len(chosen):
            kind[chosen] = _position(kinds, item)
            need = length[chosen]
            stock[chosen] = sizes[np.searchsorted(sizes, need - 1e-9)] if len(sizes) else np.ceil(need)
        left = left[~fits]


def _position(kinds: list[Cable], item: Cable) -> int:
    if item not in kinds:
        kinds.append(item)
    return kinds.index(item)


def _lengths(layout: LayoutPlan | None, devices: tuple[Devices, ...], one_set: Ints, one: Ints, other_set: Ints,
             other: Ints) -> Metres:  # fmt: skip
    """Down or up within a rack; else up to the tray, along the row, along the aisle, and down again."""
    if layout is None or not layout.racks:
        return np.full(len(one), np.nan)
    racks, heights = [], []
    for sets, index in ((one_set, one), (other_set, other)):
        rack, height = np.full(len(index), -1, dtype=np.int64), np.zeros(len(index))
        for number, item in enumerate(devices):
            here = sets == number
            rack[here], height[here] = item.rack[index[here]], item.height[index[here]]
        racks.append(rack)
        heights.append(height)
    row = np.array([item.row for item in layout.racks])
    column = np.array([item.column for item in layout.racks])
    top = np.array([(item.units or _RACK_UNITS) for item in layout.racks]) * UNIT + _TRAY
    a, b = racks
    across = np.abs(column[a] - column[b]) * float(layout.rack_width.base)
    along = np.abs(row[a] - row[b]) * float(layout.row_pitch.base)
    climb = (top[a] - heights[0]) + (top[b] - heights[1])
    length = np.where(a == b, np.abs(heights[0] - heights[1]), across + along + climb) + 2 * _SPARE
    return np.where((a < 0) | (b < 0), np.nan, length)


def _cage_pairs(devices: tuple[Devices, ...], one_set: Ints, one: Ints, one_port: Ints, other_set: Ints,
                other: Ints, other_port: Ints) -> tuple[Ints, Ints]:  # fmt: skip
    """For every link the number of its pair of cages, and how many links the two share if they share all, else 1."""
    keys, wholes = [], []
    for sets, index, port in ((one_set, one, one_port), (other_set, other, other_port)):
        cage, whole, base = np.zeros(len(index), dtype=np.int64), np.ones(len(index), dtype=np.int64), 0
        for number, item in enumerate(devices):
            here = sets == number
            cages = item.cages
            per_cage = np.bincount(cages) if len(cages) else np.ones(1, dtype=np.int64)
            if here.any():
                cage[here] = base + index[here] * len(per_cage) + cages[port[here]]
                whole[here] = per_cage[cages[port[here]]]
            base += item.count * len(per_cage)
        keys.append(cage)
        wholes.append(whole)
        total = base
    _, number, counts = np.unique(keys[0] * total + keys[1], return_inverse=True, return_counts=True)
    same = counts[number]
    return number, np.where((same == wholes[0]) & (same == wholes[1]), same, 1)


def _numbers(kinds: list[Cable], kind: Ints, pair: Ints, lane: Ints, other_set: Ints, other: Ints, other_port: Ints,
             sets: int) -> Ints:  # fmt: skip
    """Cable numbers in the order of the links: one for each pair of cages, split port, or link."""
    whole = np.array([item.medium != "fibre" and item.links > 1 for item in kinds] + [False])[kind]
    links = np.arange(len(kind))
    size = int(other.max(initial=0)) + 1
    ports = int(other_port.max(initial=0)) + 1
    top = int(pair.max(initial=0)) + 1
    split = top + (other_set * size + other) * ports + other_port
    alone = top + sets * size * ports + links
    key = np.where(lane > 0, split, np.where(whole, pair, alone))
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first, kind="stable")] = np.arange(len(first))
    return order[number]
