"""One optic in each cage: a twin-port transceiver connects two fibers of the same kind only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....catalog import Cable
from ...model.cables import CableTable, LinkColumns
from ...model.devices import DeviceSet
from .assignment import CableAssignment, CableGroup

__all__ = ["compute_cage_pairs", "find_mixed_cages", "unify_optics"]

Ints = NDArray[np.int64]


def unify_optics(assignment: CableAssignment, groups: Sequence[CableGroup], cages: tuple[Ints, Ints]) -> None:
    """Replace fibers until all in a cage have the optic of the one that reaches furthest.

    A replaced fiber changes the transceiver at its other end too, so that this is repeated until nothing changes.
    Links without a suitable fiber are left as they are: :func:`find_mixed_cages` finds them.

    Args:
        assignment: the kind of cable of each link, which is changed.
        groups: all links with the kinds that may connect them.
        cages: numbers of the cages at the source and the target of each link, unique in the fabric.

    Source: NVIDIA, MMA4Z00-NS 800 Gb/s twin-port OSFP 2x400 Gb/s SR4: one module has both ports.
    """
    optics = _rank_optics([cable for group in groups for cable in group.candidates])
    if len(optics) < 2:
        return
    changed = True
    while changed:
        changed = False
        own = _get_optics(assignment.kinds, assignment.kind, optics)
        needed = _find_furthest(own, cages)
        for group in groups:
            have, need = own[group.rows], needed[group.rows]
            for optic in np.unique(need[(have >= 0) & (have < need)]):
                rows = group.rows[(have >= 0) & (have < need) & (need == optic)]
                former = assignment.kind[rows].copy()
                assignment.assign(rows, tuple(item for item in group.candidates if optics.get(item.optic) == optic))
                changed = changed or bool((assignment.kind[rows] != former).any())


def find_mixed_cages(cables: CableTable) -> Ints:
    """The links of which a cage has a fiber of another optic that reaches further, in order."""
    optics = _rank_optics(cables.kinds)
    own = _get_optics(cables.kinds, cables.kind_index, optics)
    _, _, cages = compute_cage_pairs(cables.devices, cables.links)
    return np.flatnonzero((own >= 0) & (own < _find_furthest(own, cages)))


def compute_cage_pairs(devices: tuple[DeviceSet, ...], links: LinkColumns) -> tuple[Ints, Ints, tuple[Ints, Ints]]:
    """For every link the number of its pair of cages, the number of links in the pair if both cages share all of them,
    else 1, and the numbers of both cages, the one nearer to the nodes first.
    """
    keys, wholes = [], []
    for sets, index, port in (
        (links.source_set, links.source, links.source_port),
        (links.target_set, links.target, links.target_port),
    ):
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
    return number, np.where((same == wholes[0]) & (same == wholes[1]), same, 1), (keys[0], keys[1])


def _rank_optics(cables: Sequence[Cable]) -> dict[str | None, int]:
    """Number of each optic, in the order of the reach of its fibers."""
    reach: dict[str, float] = {}
    for item in cables:
        if item.medium == "fiber" and item.optic:
            reach[item.optic] = max(reach.get(item.optic, 0.0), float(item.reach.base))
    return {name: number for number, name in enumerate(sorted(reach, key=lambda name: (reach[name], name)))}


def _get_optics(kinds: Sequence[Cable], kind: Ints, optics: dict[str | None, int]) -> Ints:
    """Number of the optic of each link, -1 where it has no fiber."""
    own = [optics.get(item.optic, -1) if item.medium == "fiber" else -1 for item in kinds]
    return np.array([*own, -1], dtype=np.int64)[kind]


def _find_furthest(own: Ints, cages: tuple[Ints, Ints]) -> Ints:
    """For each link the highest number of an optic in the cages at both its ends."""
    highest = np.full(max((int(column.max(initial=-1)) for column in cages), default=-1) + 1, -1, dtype=np.int64)
    for column in cages:
        np.maximum.at(highest, column, own)
    return np.maximum(highest[cages[0]], highest[cages[1]])
