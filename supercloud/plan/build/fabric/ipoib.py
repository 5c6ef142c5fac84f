"""What interfaces of hosts on an InfiniBand fabric are called, and which of them have the addresses."""

from __future__ import annotations

from ...model.plan import FabricPlan, Plan
from .partitions import DEFAULT_KEY, is_default_first
from .roles import find_adapter

__all__ = ["format_addressed_name", "format_child_suffix", "format_interface_name", "list_ipoib_devices"]


def format_interface_name(fabric: FabricPlan, port: int) -> str:
    """What a host's port is called: rail0 on a fabric of accelerators, else after the role, such as storage0."""
    return f"{'rail' if fabric.role == 'compute' else fabric.role}{port}"


def format_child_suffix(plan: Plan, fabric: FabricPlan) -> str:
    """What follows the name of an interface where a child of it, in the default partition, has the address: on a fabric
    of accelerators whose nodes have the key of their tenant at index 0 and reach servers. Empty elsewhere."""
    declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
    served = any(service.name != f"{fabric.name}-manager" for service in fabric.services)
    return f".{DEFAULT_KEY:x}" if served and not is_default_first(fabric, declared) else ""


def format_addressed_name(plan: Plan, fabric: FabricPlan, port: int) -> str:
    """The interface of a host's port that has the address."""
    return format_interface_name(fabric, port) + format_child_suffix(plan, fabric)


def list_ipoib_devices(plan: Plan, fabric: FabricPlan, pool: str) -> tuple[str, ...]:
    """RDMA devices of a pool's nodes on a fabric, as far as the catalog knows them."""
    adapter = find_adapter(plan.get_pool(pool).machine, fabric.role, fabric.kind)
    return adapter.devices if adapter else ()
