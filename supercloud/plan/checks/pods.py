"""Pods of three-tier fabrics: another kind of pod may join the same nodes with fewer switches."""

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

# What may be declared in place of nothing, the ones in which all rails meet first.
_ALTERNATIVES: tuple[dict[str, Any], ...] = ({"pod": "su"}, {"pod": "rail"}, {"pod": "rail", "tiers": 2})


class _PodAlternative(NamedTuple):
    """Another kind of pod, as it would be declared, and what it takes."""

    has_disjoint_rails: bool
    """Rails do not meet in the fabric."""
    switch_count: int
    settings: str


def fabric_pods(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Fabrics of three tiers whose pods nobody declared, where another kind of pod takes fewer switches."""
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
            "rails then meet in the nodes' scale-up links only"
            if best.has_disjoint_rails
            else "all rails meet there too"
        )
        yield Finding(
            "fabric-pods",
            "note",
            f"fabrics[{index}]",
            f"{now} switches join the nodes of {fabric.name}, and {best.switch_count} would with {best.settings}: "
            f"{why}",
            f"set {best.settings} where that will do",
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
