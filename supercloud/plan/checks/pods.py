"""Pods of three-tier fabrics: another kind of pod may connect the same nodes with fewer switches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...catalog import Catalog
from ...errors import Finding
from ...spec import Fabric
from ...topology import Fabric as Wiring
from ..model.plan import Plan
from .rebuild import rebuild_fabric

__all__ = ["CHECKS"]

# Settings that may be declared instead; those in which all rails are connected come first.
_ALTERNATIVES: tuple[dict[str, Any], ...] = ({"pod": "su"}, {"pod": "rail"}, {"pod": "rail", "tiers": 2})


class _PodAlternative(NamedTuple):
    """Another kind of pod, its settings, and its number of switches."""

    has_disjoint_rails: bool
    """Rails are not connected to each other in the fabric."""
    switch_count: int
    settings: str


def fabric_pods(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Fabrics of three tiers without declared pods, where another kind of pod requires fewer switches."""
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = next((item for item in plan.fabrics if item.name == declared.name), None)
        if fabric is None or fabric.shape != "rail-optimized" or len(fabric.tiers) < len(("leaf", "spine", "core")):
            continue
        if declared.pod or declared.tiers or fabric.role != "compute":
            continue
        now = sum(tier.count for tier in fabric.tiers)
        better = [item for item in _iter_alternatives(plan, catalog, declared) if item.switch_count < now]
        if not better:
            continue
        best = min(better)
        why = (
            "rails are then connected by the nodes' scale-up links only"
            if best.has_disjoint_rails
            else "all rails remain connected"
        )
        yield Finding(
            "fabric-pods",
            "note",
            f"fabrics[{index}]",
            f"{now} switches connect the nodes of {fabric.name}: {best.switch_count} are enough with {best.settings}; "
            f"{why}",
            f"set {best.settings} if that is acceptable",
        )


def _iter_alternatives(plan: Plan, catalog: Catalog, declared: Fabric) -> Iterator[_PodAlternative]:
    many = any(
        pool.machine.accelerators and pool.machine.accelerators.count > 1
        for pool in plan.pools
        if declared.name in pool.fabrics
    )
    for settings in _ALTERNATIVES:
        found = rebuild_fabric(plan, catalog, declared.model_copy(update=settings))
        wiring = found.wiring if found else None
        if found is None or not isinstance(wiring, Wiring) or (wiring.has_disjoint_rails and not many):
            continue
        text = " and ".join(f"{key}: {value}" for key, value in settings.items())
        yield _PodAlternative(wiring.has_disjoint_rails, sum(tier.count for tier in found.tiers), text)


CHECKS = (fabric_pods,)
