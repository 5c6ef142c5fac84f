"""Scalable units of a rail-optimized fabric if the spec does not fix them: only leaves with nodes.

A vendor's unit may have several leaves per rail (DGX GB200: one for each of 8 racks). If nodes fill the leaves of whole
units, the fabric is that of the vendor. Otherwise a unit consists of the nodes of one leaf, so that no leaf is without
nodes, and pods contain no more leaves than a unit does. A fabric of one unit has no core to join pods of one rail: all
its rails share the spines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ....catalog.machine import ScalableUnit
from ....spec import Fabric
from ....topology import Fabric as Wiring
from ....topology import TopologyError

__all__ = ["UnitLayout", "list_unit_layouts", "select_wiring"]

Pod = Literal["su", "rail"]
# Pods are joined by a third tier; under two tiers all units share the spines.
_TIERS_WITH_PODS = 3


@dataclass(frozen=True)
class UnitLayout:
    """The size of a unit, and the units that share its spines."""

    nodes: int | None
    """None: as many nodes as one leaf connects."""
    pod: Pod
    pod_units: int | None = None
    """None: the minimum with a core port for every pod."""
    is_reference: bool = False
    """The vendor documents the number of switches for it."""


def list_unit_layouts(
    nodes: int, fabric: Fabric, reference_unit: ScalableUnit, leaf_nodes: int, oversubscription: float
) -> list[UnitLayout]:
    """The units that can be built from a vendor's ``reference_unit``, whose leaves have ``leaf_nodes`` nodes;
    ``oversubscription`` is that of a leaf. Tiers and pods of the spec are kept.
    """
    leaves, full = -(-nodes // leaf_nodes), -(-reference_unit.nodes // leaf_nodes)
    whole = reference_unit.nodes % leaf_nodes == 0 and leaves % full == 0
    if leaves <= full:  # one unit
        core = reference_unit.pod if fabric.tiers == 3 else None
        return [UnitLayout(reference_unit.nodes if whole else leaves * leaf_nodes, fabric.pod or core or "su")]
    pods: list[Pod] = [fabric.pod] if fabric.pod else ["su"]
    if not fabric.pod and reference_unit.pod == "rail" and fabric.tiers in (None, 3):
        pods.insert(0, "rail")
    even = -(-leaves // -(-leaves // full))
    found = [UnitLayout(leaf_nodes, pod, units) for units in (even, None) for pod in pods]
    return (
        [UnitLayout(reference_unit.nodes, pods[0], is_reference=True), *found]
        if whole and oversubscription == 1
        else found
    )


def select_wiring(
    build: Callable[[UnitLayout], Wiring], layouts: Iterable[UnitLayout], can_change_pods: bool = False
) -> Wiring:
    """The result of ``build`` for the best of these units: the vendor's ``printed`` ones if they can be built, else
    those with the fewest tiers, then with the most nodes under the same spines, then with the fewest switches.

    If neither spec nor vendor defines a pod (``can_change_pods``), pods have the number of units that needs the fewest
    switches. Raises TopologyError, that of the first unit, if none can be built.
    """
    found: list[tuple[UnitLayout, Wiring]] = []
    refusals: list[TopologyError] = []
    for item in layouts:
        try:
            wiring = build(item)
        except TopologyError as error:
            refusals.append(error)
            continue
        found.append((item, wiring))
        if item.is_reference:
            break
    if not found:
        raise refusals[0]
    best = found[-1] if found[-1][0].is_reference else min(found, key=lambda pair: _compute_rank(pair[1]))
    return _select_fewest_switches(build, *best) if can_change_pods else best[1]


def _compute_rank(wiring: Wiring) -> tuple[int, int, int]:
    return len(wiring.tiers), -_count_pod_nodes(wiring), sum(wiring.switch_counts.values())


def _select_fewest_switches(build: Callable[[UnitLayout], Wiring], layout: UnitLayout, wiring: Wiring) -> Wiring:
    """The wiring, or the same units in pods of another size if that needs fewer switches."""
    if len(wiring.tiers) < _TIERS_WITH_PODS or layout.pod_units is not None:
        return wiring
    count = next(axis.size for axis in wiring.tiers[0].axes if axis.name == "su")
    for size in sorted({-(-count // pods) for pods in range(1, count + 1)}):
        try:
            other = build(replace(layout, pod_units=size))
        except TopologyError:
            continue  # for example more units than the spines of a pod have ports for
        if sum(other.switch_counts.values()) < sum(wiring.switch_counts.values()):
            wiring = other
    return wiring


def _count_pod_nodes(wiring: Wiring) -> int:
    return wiring.levels[-2].size if len(wiring.levels) > 1 else wiring.nodes
