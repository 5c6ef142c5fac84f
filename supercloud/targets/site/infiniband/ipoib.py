"""Names and addresses of hosts' interfaces on an InfiniBand fabric (IPoIB), which file systems use.

One script for all hosts: each computes its addresses from its number, with the arithmetic of the plan. Interfaces are
named after the fabric's role, so that those of storage and of compute cannot be confused.
"""

from __future__ import annotations

from typing import NamedTuple

from ....plan.build.fabric.ipoib import format_child_suffix, format_interface_name, list_ipoib_devices
from ....plan.build.fabric.partitions import DEFAULT_KEY, FULL_MEMBERSHIP
from ....plan.model.plan import FabricPlan, Plan
from ....primitives.addresses import AddressRun, Block
from ....primitives.bundle import File
from ....primitives.nodes import HostRange
from ....primitives.templates import render_template

__all__ = ["render_ipoib_script"]


class _IpoibPort(NamedTuple):
    interface: str
    """Name in the plan."""
    device: str
    """RDMA device, ``-`` if it is not in the catalog."""
    base: int
    """First address of its block."""
    first_host: int
    """Number of the first host within that block."""
    length: int
    """Prefix length of the subnet."""


class _HostGroup(NamedTuple):
    hosts: HostRange
    machine: str
    """Product of the catalog, or name of the service."""
    ports: list[_IpoibPort]


def render_ipoib_script(plan: Plan, fabric: FabricPlan) -> File:
    """Render the script of a fabric, for the nodes of its pools and its servers."""
    assert plan.networks is not None
    rails = [item.block for item in plan.networks.subnets if item.fabric == fabric.name and item.role == "rail"]
    groups: list[_HostGroup] = []
    for links in plan.networks.list_pool_links(fabric.name):
        devices = list_ipoib_devices(plan, fabric, links.pool)
        ports = [
            _build_port(fabric, run.block, run.block, run.start, number, devices)
            for number, run in enumerate(links.runs)
        ]
        groups.append(_HostGroup(links.hosts, plan.get_pool(links.pool).machine.name, ports))
    for item in plan.networks.list_servers(fabric.name):
        service = fabric.services[item.service]
        ports = []
        for number in range(item.ports):
            turn, rail = divmod(number, len(rails))
            ports.append(
                _build_port(fabric, item.blocks[rail], rails[rail], turn * item.capacity, number, service.devices)
            )
        groups.append(_HostGroup(item.hosts, service.name, ports))
    return File(
        render_template(
            "infiniband/ipoib.sh.j2",
            name=plan.name,
            fabric=fabric.name,
            groups=groups,
            per_256=AddressRun.HOSTS_PER_256,
            child=format_child_suffix(plan, fabric),
            default_key=DEFAULT_KEY | FULL_MEMBERSHIP,
        ),
        executable=True,
    )


def _build_port(
    fabric: FabricPlan, block: Block, rail: Block, first_host: int, number: int, devices: tuple[str, ...]
) -> _IpoibPort:
    device = devices[number] if number < len(devices) else "-"
    return _IpoibPort(
        format_interface_name(fabric, number), device, int(block.network_address), first_host, rail.prefixlen
    )
