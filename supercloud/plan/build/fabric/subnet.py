"""The subnet manager of an InfiniBand fabric, and its routing."""

from __future__ import annotations

from ....spec import Fabric as Declared
from ....topology import Fabric as Wiring
from ...model.fabric import FabricPlan, SubnetManagerPlan

__all__ = ["build_subnet_manager"]


def build_subnet_manager(fabric: FabricPlan, declared: Declared) -> SubnetManagerPlan:
    """The subnet manager of a fabric with planned switches."""
    manager = declared.manager
    return SubnetManagerPlan(
        kind=declared.subnet_manager,
        engines=_list_routing_engines(fabric, declared),
        standbys=max(0, (manager.appliances or manager.links) - 1) if manager else 0,
        m_key=declared.m_key,
        has_sharp=declared.sharp,
        partitions=declared.partitions,
    )


def _list_routing_engines(fabric: FabricPlan, declared: Declared) -> tuple[str, ...]:
    """Routing engines of the subnet manager, the best first; OpenSM stops instead of falling back further."""
    wiring = fabric.wiring
    trees = isinstance(wiring, Wiring) and len(wiring.tiers) > 1 and not declared.peer_links
    plain = ("ftree", "updn") if trees else ("updn",)
    if declared.subnet_manager == "nvidia":
        return (f"ar_{plain[0]}",) if declared.adaptive_routing else (plain[0],)
    return plain
