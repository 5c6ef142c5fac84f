"""The self-managed fabrics with cables, and their kind. A separate module, as checks need it without building cables
(numpy).
"""

from __future__ import annotations

from ....topology import Fabric as Wiring
from ...model.plan import FabricPlan, Plan

__all__ = ["list_cabled_fabrics", "get_cable_protocol"]


def list_cabled_fabrics(plan: Plan) -> tuple[FabricPlan, ...]:
    """The fabrics with self-managed switches; a torus has the cables of its vendor."""
    return tuple(item for item in plan.fabrics if isinstance(item.wiring, Wiring) and item.tiers)


def get_cable_protocol(fabric: FabricPlan) -> str:
    """Infiniband or ethernet: the protocol that cables and transceivers must support."""
    return "infiniband" if fabric.kind == "infiniband" else "ethernet"
