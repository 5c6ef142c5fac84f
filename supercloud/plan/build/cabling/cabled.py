"""Which fabrics have cables of ours, and of which kind. Apart, as checks ask it without laying cables (numpy)."""

from __future__ import annotations

from ....topology import Fabric as Wiring
from ...model.plan import FabricPlan, Plan

__all__ = ["list_cabled_fabrics", "network_of"]


def list_cabled_fabrics(plan: Plan) -> tuple[FabricPlan, ...]:
    """The fabrics with switches of our own; a torus has cables of its maker's."""
    return tuple(item for item in plan.fabrics if isinstance(item.wiring, Wiring) and item.tiers)


def network_of(fabric: FabricPlan) -> str:
    """infiniband or ethernet: what cables and transceivers must speak."""
    return "infiniband" if fabric.kind == "infiniband" else "ethernet"
