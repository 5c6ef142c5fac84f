"""Interfaces in the files of a store, on servers and clients: only names that other files of the plan define.

On InfiniBand ``ipoib.sh`` defines them, on routed Ethernet ``roce-rails.sh``, both by the RDMA devices of the catalog;
on bridged Ethernet it is the bond of ``bond.sh``. Otherwise the name is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...model.fabric import FabricPlan
from ...model.plan import Plan
from ..fabric.ipoib import format_addressed_name, format_interface_name
from ..fabric.roles import find_client_fabric, is_routed
from ..network.bonds import find_bond_groups, format_bond_name

__all__ = ["StoreInterfaces", "build_store_interfaces", "find_store_fabric"]


@dataclass(frozen=True)
class StoreInterfaces:
    """Interfaces of a store on its hosts, which may have different numbers of ports; empty where the plan defines no
    names.
    """

    clients: tuple[str, ...]
    """Those of the nodes on its network: a network has the same links to each of its nodes."""
    servers: Mapping[str, tuple[str, ...]]
    """Role of the servers -> their interfaces."""

    @property
    def is_complete(self) -> bool:
        """Whether the names are known on all hosts."""
        return bool(self.clients) and all(self.servers.values())

    @property
    def is_uniform(self) -> bool:
        """Whether all hosts have the same interfaces."""
        return all(names == self.clients for names in self.servers.values())


def find_store_fabric(plan: Plan, index: int) -> FabricPlan | None:
    """The self-managed network through which clients reach a store, given by the store's index in the spec."""
    declared = find_client_fabric(plan.spec, plan.storage[index].fabric)
    if declared is None:
        return None
    return next((item for item in plan.fabrics if item.name == declared.name and item.tiers), None)


def build_store_interfaces(plan: Plan, index: int) -> StoreInterfaces:
    """Interfaces of a store's servers and of the clients on its network, by its index in the spec: as declared, else
    one for each port that the machines have on the network, else the bond of all ports.
    """
    servers = {group.role: group for group in plan.storage[index].servers}
    declared = plan.spec.storage[index].interface
    if declared:
        names = tuple(name.strip() for name in declared.split(",") if name.strip())
        return StoreInterfaces(names, dict.fromkeys(servers, names))
    fabric = find_store_fabric(plan, index)
    if fabric is None:
        return StoreInterfaces((), dict.fromkeys(servers, ()))
    if fabric.kind == "infiniband" or is_routed(fabric.kind, fabric.role):
        client = _list_port_names(plan, fabric, fabric.rails * fabric.planes)
        return StoreInterfaces(
            client, {role: _list_port_names(plan, fabric, group.links) for role, group in servers.items()}
        )
    bonds = find_bond_groups(fabric)
    bond = (format_bond_name(plan, fabric),)
    return StoreInterfaces(
        bond if all(pool in bonds for pool in fabric.pools) else (),
        {role: bond if group.name in bonds else () for role, group in servers.items()},
    )


def _list_port_names(plan: Plan, fabric: FabricPlan, ports: int) -> tuple[str, ...]:
    if fabric.kind == "infiniband":
        return tuple(format_addressed_name(plan, fabric, port) for port in range(max(1, ports)))
    if fabric.planes > 1:  # then the plane is part of interface names on nodes, but not on servers
        return ()
    return tuple(format_interface_name(fabric, port) for port in range(max(1, ports)))
