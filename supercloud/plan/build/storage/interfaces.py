"""The interfaces that the files of a store name on servers and clients: only names that other files of the plan give.

On InfiniBand ``ipoib.sh`` gives them, on routed Ethernet ``roce-rails.sh``, both by the RDMA devices of the catalog; on
bridged Ethernet it is the bond that ``bond.sh`` makes. Where none of them does, the name is not known.
"""

from __future__ import annotations

from ...model.fabric import FabricPlan
from ...model.plan import Plan
from ..fabric.ipoib import format_addressed_name, format_interface_name
from ..fabric.roles import find_client_fabric, is_routed
from ..network.bonds import find_bond_groups, format_bond_name

__all__ = ["find_store_fabric", "list_store_interfaces"]


def find_store_fabric(plan: Plan, index: int) -> FabricPlan | None:
    """The network with switches of ours that clients reach a store over, by the store's place in the spec."""
    declared = find_client_fabric(plan.spec, plan.storage[index].fabric)
    if declared is None:
        return None
    return next((item for item in plan.fabrics if item.name == declared.name and item.tiers), None)


def list_store_interfaces(plan: Plan, index: int) -> tuple[str, ...]:
    """Interfaces of a store's servers and clients, by its place in the spec: as declared, else one for each port that
    every server has, else the bond of all; empty where nothing of the plan names them."""
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
        if fabric.planes > 1:  # an interface of a node is then called after its plane too, one of a server is not
            return ()
        return tuple(format_interface_name(fabric, port) for port in range(min(links, max(1, fabric.rails))))
    bonds = find_bond_groups(fabric)
    hosts = [*fabric.pools, *(group.name for group in servers)]
    return (format_bond_name(plan, fabric),) if all(host in bonds for host in hosts) else ()
