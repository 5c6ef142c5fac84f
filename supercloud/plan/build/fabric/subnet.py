"""Routing of an InfiniBand fabric."""

from __future__ import annotations

from ....spec import Fabric as Declared
from ....topology import Fabric as Wiring
from ...model.plan import FabricPlan

__all__ = ["list_routing_engines"]


def list_routing_engines(fabric: FabricPlan, declared: Declared) -> tuple[str, ...]:
    """Routing engines of the subnet manager, the best first; OpenSM stops instead of falling back further."""
    wiring = fabric.wiring
    trees = isinstance(wiring, Wiring) and len(wiring.tiers) > 1 and not declared.peer_links
    plain = ("ftree", "updn") if trees else ("updn",)
    if declared.subnet_manager == "nvidia":
        return (f"ar_{plain[0]}",) if declared.adaptive_routing else (plain[0],)
    return plain
