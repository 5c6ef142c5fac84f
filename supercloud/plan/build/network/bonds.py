"""The bond of a host's links to a bridged network: its name and its interfaces."""

from __future__ import annotations

from ...model.fabric import FabricPlan
from ...model.plan import Plan
from ..fabric.roles import find_adapter

__all__ = ["list_bond_devices", "find_bond_groups", "format_bond_interface", "format_bond_name", "get_product_name"]


def format_bond_name(plan: Plan, fabric: FabricPlan) -> str:
    """Name of the bond in ``bond.sh`` of a network: the same on all of its hosts."""
    return f"bond{[item.name for item in plan.spec.fabrics].index(fabric.name)}"


def format_bond_interface(fabric: FabricPlan, link: int) -> str:
    """Placeholder for an interface whose RDMA device the catalog does not have."""
    return f"{fabric.role}{link}"


def find_bond_groups(fabric: FabricPlan) -> dict[str, int]:
    """Pool or service -> links of each of its machines to a bridged network, if there is more than one."""
    links = dict.fromkeys(fabric.pools, fabric.rails * fabric.planes)
    links |= {item.name: -(-item.links // item.count) for item in fabric.services if item.count}
    return {group: count for group, count in links.items() if count > 1}


def list_bond_devices(plan: Plan, fabric: FabricPlan, group: str, links: int) -> tuple[str, ...]:
    """RDMA devices behind the links of a machine; empty unless the catalog has all of them."""
    found: tuple[str, ...] = ()
    for pool in plan.pools:
        if pool.name == group:
            adapter = find_adapter(pool.machine, fabric.role, fabric.kind, fabric.speed)
            found = adapter.devices if adapter else ()
    found = found or next((item.devices for item in fabric.services if item.name == group), ())
    return found if len(found) >= links else ()


def get_product_name(plan: Plan, fabric: FabricPlan, group: str) -> str:
    """Product name of the machines of a pool or service; the name of the service without a product."""
    pool = next((item for item in plan.pools if item.name == group), None)
    if pool:
        return pool.machine.name
    return next((item.product for item in fabric.services if item.name == group and item.product), group)
