"""Names of the interfaces of hosts on an InfiniBand fabric, and those with the addresses."""

from __future__ import annotations

from ...model.plan import FabricPlan, Plan
from .partitions import DEFAULT_KEY, is_default_first
from .roles import find_adapter

__all__ = ["format_addressed_name", "format_child_suffix", "format_interface_name", "list_ipoib_devices"]


def format_interface_name(fabric: FabricPlan, port: int) -> str:
    """Interface name of a host's port: rail0 on a compute fabric, else by role, such as storage0."""
    return f"{'rail' if fabric.role == 'compute' else fabric.role}{port}"


def format_child_suffix(plan: Plan, fabric: FabricPlan) -> str:
    """Suffix of the interface with the address if it is a child in the default partition: on a compute fabric whose
    nodes have the key of their tenant at index 0 and reach servers. Empty otherwise.
    """
    declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
    served = any(service.name != f"{fabric.name}-manager" for service in fabric.services)
    return f".{DEFAULT_KEY:x}" if served and not is_default_first(fabric, declared) else ""


def format_addressed_name(plan: Plan, fabric: FabricPlan, port: int) -> str:
    """The interface with the address of a host's port."""
    return format_interface_name(fabric, port) + format_child_suffix(plan, fabric)


def list_ipoib_devices(plan: Plan, fabric: FabricPlan, pool: str) -> tuple[str, ...]:
    """RDMA devices of a pool's nodes on a fabric, where the catalog has them."""
    adapter = find_adapter(plan.get_pool(pool).machine, fabric.role, fabric.kind)
    return adapter.devices if adapter else ()
