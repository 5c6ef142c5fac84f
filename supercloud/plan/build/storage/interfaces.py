"""Interfaces in the files of a store, on servers and clients: only names that other files of the plan define.

On InfiniBand ``ipoib.sh`` defines them, on routed Ethernet ``roce-rails.sh``, both by the RDMA devices of the catalog;
on bridged Ethernet it is the bond of ``bond.sh``. Otherwise the name is unknown.
"""

from __future__ import annotations

from ...model.fabric import FabricPlan
from ...model.plan import Plan
from ..fabric.ipoib import format_addressed_name, format_interface_name
from ..fabric.roles import find_client_fabric, is_routed
from ..network.bonds import find_bond_groups, format_bond_name

__all__ = ["find_store_fabric", "list_store_interfaces"]


def find_store_fabric(plan: Plan, index: int) -> FabricPlan | None:
    """The self-managed network through which clients reach a store, given by the store's index in the spec."""
    declared = find_client_fabric(plan.spec, plan.storage[index].fabric)
    if declared is None:
        return None
    return next((item for item in plan.fabrics if item.name == declared.name and item.tiers), None)


def list_store_interfaces(plan: Plan, index: int) -> tuple[str, ...]:
    """Interfaces of a store's servers and clients, by its index in the spec: as declared, else one for each port that
    every server has, else the bond of all ports; empty if the plan defines no names.
    """
    declared = plan.spec.storage[index].interface
    if declared:
        return tuple(name.strip() for name in declared.split(",") if name.strip())
    fabric = find_store_fabric(plan, index)
    if fabric is None:
        return ()
    servers = plan.storage[index].servers
    links = max(1, min((group.links for group in servers), default=1))
    if fabric.kind == "infiniband":
        return tuple(format_addressed_name(plan, fabric, port) for port in range(links))
    if is_routed(fabric.kind, fabric.role):
        if fabric.planes > 1:  # then the plane is part of interface names on nodes, but not on servers
            return ()
        return tuple(format_interface_name(fabric, port) for port in range(min(links, max(1, fabric.rails))))
    bonds = find_bond_groups(fabric)
    hosts = [*fabric.pools, *(group.name for group in servers)]
    return (format_bond_name(plan, fabric),) if all(host in bonds for host in hosts) else ()
