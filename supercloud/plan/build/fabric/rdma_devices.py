"""RDMA devices by which rendered files identify the ports of hosts."""

from __future__ import annotations

from dataclasses import dataclass

from ....primitives.nodes import HostRange
from ....primitives.rdma_names import is_kernel_name
from ...model.plan import Plan
from .roles import find_adapter

__all__ = ["RdmaHosts", "list_rdma_hosts"]


@dataclass(frozen=True)
class RdmaHosts:
    """Equal hosts, with the RDMA devices that the catalog has for their ports on the fabrics."""

    hosts: HostRange
    devices: tuple[str, ...]
    ethernet: tuple[str, ...] = ()
    """Those on Ethernet fabrics; the others are InfiniBand. A VPI port can be either, by a setting of its firmware."""

    @property
    def has_kernel_names(self) -> bool:
        """Whether the kernel gives these names, so that udev must not change them."""
        return any(map(is_kernel_name, self.devices))


def list_rdma_hosts(plan: Plan) -> list[RdmaHosts]:
    """Return the hosts whose RDMA devices the catalog names: nodes, and servers on fabrics."""
    found: dict[HostRange, dict[str, bool]] = {}
    for fabric in plan.fabrics:
        is_ethernet = fabric.kind != "infiniband"
        for pool in map(plan.get_pool, fabric.pools):
            adapter = find_adapter(pool.machine, fabric.role, fabric.kind)
            found.setdefault(pool.hosts, {}).update(dict.fromkeys(adapter.devices if adapter else (), is_ethernet))
        for service in fabric.services:
            if service.hosts:
                found.setdefault(service.hosts, {}).update(dict.fromkeys(service.devices, is_ethernet))
    return [
        RdmaHosts(hosts, tuple(devices), tuple(name for name, is_ethernet in devices.items() if is_ethernet))
        for hosts, devices in found.items()
        if devices
    ]
