"""Checks of the bandwidth of fabrics: the ports down per port up, compared with the declared oversubscription."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

from ...catalog import Catalog
from ...errors import Finding
from ...spec import Fabric as Declared
from ...spec.fabric import Oversubscription
from ...topology.tiers import compute_uplinks
from ..build.fabric.used_ports import UsedPorts, format_ratio, list_used_ports
from ..model.plan import FabricPlan, Plan
from .rebuild import rebuild_fabric

__all__ = ["CHECKS"]

# Networks whose leaves reference designs oversubscribe: only a declared ratio is compared.
_OVERSUBSCRIBED_ROLES = ("in-band", "management")


def fabric_oversubscription(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Tiers with more ports down per port up than declared, because the spec fixes the number of uplinks."""
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = next((item for item in plan.fabrics if item.name == declared.name), None)
        if fabric is None or not _is_compared(declared, fabric):
            continue
        for item in _list_exceeded(fabric, declared):
            wanted = getattr(declared.oversubscription, item.tier)
            key = "leaf_up" if item.tier == "leaf" and declared.leaf_up else "oversubscription"
            kind = "declared" if "oversubscription" in declared.model_fields_set else "default"
            yield Finding(
                "fabric-oversubscription",
                "warning",
                f"fabrics[{index}].{key}",
                f"a {item.tier} of {fabric.name} has {item.down} ports down and {item.up} up, "
                f"{format_ratio(item.ratio)}; the {kind} oversubscription is {format_ratio(wanted)}",
                _suggest_ratio(plan, catalog, declared, item),
            )


def _is_compared(declared: Declared, fabric: FabricPlan) -> bool:
    """Whether the ratio was declared, or is the default of a network for which it matters; without ``leaf_up`` the
    uplinks follow from the ratio, or from the machine's reference design.
    """
    if "oversubscription" in declared.model_fields_set:
        return True
    return declared.leaf_up is not None and fabric.role not in _OVERSUBSCRIBED_ROLES


def _list_exceeded(fabric: FabricPlan | None, declared: Declared) -> list[UsedPorts]:
    """The tiers with more ports down than the oversubscription allows."""
    used = list_used_ports(fabric) if fabric else []
    return [
        item for item in used if item.up < compute_uplinks(item.down, getattr(declared.oversubscription, item.tier))
    ]


def _suggest_ratio(plan: Plan, catalog: Catalog, declared: Declared, used: UsedPorts) -> str:
    """Another number of uplinks, and the ratio as built, if a fabric that is built with them has no such tier."""
    ratio = ceil(round(used.ratio * 100, 9)) / 100
    accepted = declared.oversubscription.model_copy(update={used.tier: ratio})
    uplinks = compute_uplinks(used.down, getattr(declared.oversubscription, used.tier))
    of_leaf: dict[str, dict[str, Any]] = {
        "omit leaf_up": {"leaf_up": None},
        f"set leaf_up: {uplinks}": {"leaf_up": uplinks},
    }
    intended = f"set oversubscription: {_format_oversubscription(accepted)} if this is intended"

    def list_working(candidates: dict[str, dict[str, Any]]) -> list[str]:
        return [text for text, changes in candidates.items() if _is_solved(plan, catalog, declared, changes)]

    works = list_working(of_leaf)[:1] if used.tier == "leaf" and declared.leaf_up else []
    works += list_working({intended: {"oversubscription": accepted}})
    return ", or ".join(works) or "use leaves with more ports"


def _is_solved(plan: Plan, catalog: Catalog, declared: Declared, changes: dict[str, Any]) -> bool:
    changed = declared.model_copy(update=changes)
    found = rebuild_fabric(plan, catalog, changed)
    return found is not None and not _list_exceeded(found, changed)


def _format_oversubscription(value: Oversubscription) -> str:
    parts = [f"{tier}: {getattr(value, tier):g}" for tier in ("leaf", "spine") if getattr(value, tier) != 1]
    return f"{{{', '.join(parts)}}}"


CHECKS = (fabric_oversubscription,)
