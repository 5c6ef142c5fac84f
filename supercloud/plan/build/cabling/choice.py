"""Lengths and kinds of cables, computed from columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....catalog import Cable
from ....primitives.quantity import Rate
from ....spec import Fabric as Declared
from ...model.cables import CableTable, LinkColumns
from ...model.devices import DeviceSet
from ...model.plan import FabricPlan, LayoutPlan, Plan, Service
from ..fabric.cabling_parts import CablingParts
from .assignment import CableAssignment, CableGroup
from .cabled import get_cable_protocol
from .ends import RACK_UNIT_HEIGHT
from .modules import compute_cage_pairs, unify_optics

__all__ = ["select_cables", "list_joining_cables", "find_named_cable"]

Ints = NDArray[np.int64]
Meters = NDArray[np.float64]

# Default cable routes: over trays above the racks, with slack at each end to dress the cable and to pull out a machine.
_TRAY_HEIGHT = 0.3
_END_SLACK = 0.5
_DEFAULT_RACK_UNITS = 48


def select_cables(
    plan: Plan,
    fabric: FabricPlan,
    declared: Declared,
    devices: tuple[DeviceSet, ...],
    links: LinkColumns,
) -> CableTable:
    """The table with lengths, kinds and cable numbers."""
    source_set, source, source_port, target_set, target, target_port, lane = links
    length = _compute_lengths(plan.layout, devices, links)
    shared, share, cages = compute_cage_pairs(devices, links)
    assignment, groups = CableAssignment(length), []
    parts = fabric.cabling_parts
    if isinstance(parts, CablingParts) and fabric.speed:
        for pair in np.unique(source_set * len(devices) + target_set):
            low, high = divmod(int(pair), len(devices))
            here = (source_set == low) & (target_set == high)
            sides = (devices[low], devices[high])
            ports = (int(source_port[here][0]), int(target_port[here][0]))
            forms = [f"{side.side}:{side.form_factors[port]}" for side, port in zip(sides, ports, strict=True)]
            speed = sides[0].link_speed or fabric.speed
            if ports[0] >= len(sides[0].ports) - _count_uplinks(sides[0]) and _count_uplinks(sides[0]):
                speed = _get_uplink_speed(fabric) or speed
            for link_count in sorted({int(value) for value in np.unique(share[here])}, reverse=True):
                rows = np.flatnonzero(here & (share == link_count))
                candidates = _list_candidate_cables(fabric, declared, parts, sides, forms, speed, link_count)
                assignment.assign(rows, candidates)
                groups.append(CableGroup(rows, candidates))
    unify_optics(assignment, groups, cages)
    kinds, kind = assignment.kinds, assignment.kind
    cable = _number_cables(kinds, kind, shared, cages[1], links, len(devices))
    return CableTable(
        fabric,
        devices,
        links,
        length,
        tuple(kinds),
        kind,
        assignment.stock,
        cable,
    )


def _list_candidate_cables(
    fabric: FabricPlan,
    declared: Declared,
    parts: CablingParts,
    sides: tuple[DeviceSet, DeviceSet],
    cage_keys: list[str],
    speed: Rate,
    links: int,
) -> tuple[Cable, ...]:
    """The kinds of cable that may connect two sets of devices, in the order of preference."""
    network, service = (
        get_cable_protocol(fabric),
        next((item for item in fabric.services if item.name == sides[0].kind), None),
    )
    named = find_named_cable(declared, parts, service, sides[0].kind, sides[1].kind)
    split = service.split if service else 1
    if named is not None:
        own = service.speed if service and service.ports_per_cable > 1 else None
        plugs = parts.can_join(named, cage_keys[0], cage_keys[1], network, own or speed, links)
        return (named,) if plugs and (named.tails > 1 or named.split == split) else ()
    offered = parts.list_cables(cage_keys[0], cage_keys[1], network, speed, links, split)
    if links > 1:  # fibers of a single link are also possible for several
        single = parts.list_cables(cage_keys[0], cage_keys[1], network, speed, 1, split)
        offered += tuple(item for item in _select_media(single, ("fiber",)) if item not in offered)
    is_external = "building" in (sides[0].kind, sides[1].kind)
    return _select_media(offered, ("fiber",) if is_external else _list_declared_media(declared))


def _list_declared_media(declared: Declared) -> Sequence[str]:
    return declared.cabling.media if declared.cabling else ()


def _select_media(cables: Sequence[Cable], media: Sequence[str]) -> tuple[Cable, ...]:
    """The cables of some media; all of them if none are given."""
    return tuple(item for item in cables if item.medium in media) if media else tuple(cables)


def list_joining_cables(
    fabric: FabricPlan, declared: Declared, near: DeviceSet, far: DeviceSet, near_port: int, far_port: int
) -> tuple[Cable, ...]:
    """The kinds of cable between two ports that the spec allows and the catalog contains, of any length."""
    if not isinstance(fabric.cabling_parts, CablingParts) or not fabric.speed:
        return ()
    forms = [f"{item.side}:{item.form_factors[port]}" for item, port in ((near, near_port), (far, far_port))]
    speed = near.link_speed or fabric.speed
    found: dict[str, Cable] = {}
    for links in range(1, int(np.bincount(far.cages).max(initial=1)) + 1):
        offered = _list_candidate_cables(fabric, declared, fabric.cabling_parts, (near, far), forms, speed, links)
        found |= {item.name: item for item in offered}
    return tuple(found.values())


def find_named_cable(
    declared: Declared, parts: CablingParts, service: Service | None, near_kind: str, far_kind: str
) -> Cable | None:
    """The cable that the spec requests for links between two kinds of device; None if it does not."""
    if service is not None:
        return service.cable
    cabling = declared.cabling
    if cabling is None or "building" in (near_kind, far_kind):
        return None
    name = cabling.nodes if near_kind == "node" else cabling.peers if near_kind == far_kind else cabling.uplinks
    return next((item for item in parts.cables if item.name == name), None)


def _count_uplinks(devices: DeviceSet) -> int:
    """Uplink ports after the regular ones: those whose form factor differs from the first."""
    return sum(form != devices.form_factors[0] for form in devices.form_factors)


def _get_uplink_speed(fabric: FabricPlan) -> Rate | None:
    return fabric.tiers[0].switch.uplink_speed


def _compute_lengths(layout: LayoutPlan | None, devices: tuple[DeviceSet, ...], links: LinkColumns) -> Meters:
    """Vertical distance within a rack; else up to the tray, along the row, along the aisle, and down."""
    if layout is None or not layout.racks:
        return np.full(len(links.source), np.nan)
    racks, heights = [], []
    for sets, index in ((links.source_set, links.source), (links.target_set, links.target)):
        rack, height = np.full(len(index), -1, dtype=np.int64), np.zeros(len(index))
        for number, item in enumerate(devices):
            here = sets == number
            rack[here], height[here] = item.racks[index[here]], item.heights[index[here]]
        racks.append(rack)
        heights.append(height)
    row = np.array([item.row for item in layout.racks])
    column = np.array([item.column for item in layout.racks])
    top = np.array([(item.units or _DEFAULT_RACK_UNITS) for item in layout.racks]) * RACK_UNIT_HEIGHT + _TRAY_HEIGHT
    a, b = racks
    across = np.abs(column[a] - column[b]) * float(layout.rack_width.base)
    along = np.abs(row[a] - row[b]) * float(layout.row_pitch.base)
    climb = (top[a] - heights[0]) + (top[b] - heights[1])
    length = np.where(a == b, np.abs(heights[0] - heights[1]), across + along + climb) + 2 * _END_SLACK
    return np.where((a < 0) | (b < 0), np.nan, length)


def _number_cables(
    kinds: list[Cable],
    kind: Ints,
    cage_pair: Ints,
    far_cage: Ints,
    links: LinkColumns,
    set_count: int,
) -> Ints:
    """Cable numbers in the order of the links: one for each pair of cages, cage with tails, split port, or link."""
    target_set, target, target_port, lane = links.target_set, links.target, links.target_port, links.lane
    whole = np.array([item.medium != "fiber" and item.links > 1 for item in kinds] + [False])[kind]
    tailed = np.array([item.tails > 1 for item in kinds] + [False])[kind]
    positions = np.arange(len(kind))
    size = int(target.max(initial=0)) + 1
    ports = int(target_port.max(initial=0)) + 1
    top = int(cage_pair.max(initial=0)) + 1
    split = top + (target_set * size + target) * ports + target_port
    alone = top + set_count * size * ports + positions
    key = np.where(
        lane > 0,
        split,
        np.where(tailed, top + set_count * size * ports + len(kind) + far_cage, np.where(whole, cage_pair, alone)),
    )
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first, kind="stable")] = np.arange(len(first))
    return order[number]
