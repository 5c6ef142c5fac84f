"""Names and addresses of hosts' interfaces on an InfiniBand fabric (IPoIB): what file systems are addressed by.

One script for all hosts: each works its addresses out of its number, with the arithmetic of the plan. Interfaces are
called after the fabric's role, so that those of storage and of compute cannot be taken for each other.
"""

from __future__ import annotations

from typing import NamedTuple

from ....plan.build.fabric.ipoib import child_suffix, interface_name, ipoib_devices
from ....plan.build.fabric.partitions import DEFAULT_KEY, FULL
from ....plan.model.plan import FabricPlan, Plan
from ....primitives.addresses import AddressRun, Block
from ....primitives.bundle import File
from ....primitives.nodes import HostRange
from ....primitives.templates import fill

__all__ = ["ipoib_script"]


class _Port(NamedTuple):
    interface: str
    """What the plan calls it."""
    device: str
    """RDMA device, ``-`` where the catalog does not know it."""
    base: int
    """First address of the block it is in."""
    turn: int
    """Number of the first host within that block."""
    length: int
    """Of the subnet's prefix."""


class _Hosts(NamedTuple):
    hosts: HostRange
    machine: str
    """Product of the catalog, or name of the service."""
    ports: list[_Port]


def ipoib_script(plan: Plan, fabric: FabricPlan) -> File:
    """The script of a fabric: nodes of its pools, and its servers."""
    assert plan.networks is not None
    rails = [item.block for item in plan.networks.subnets if item.fabric == fabric.name and item.role == "rail"]
    groups: list[_Hosts] = []
    for links in plan.networks.joined(fabric.name):
        devices = ipoib_devices(plan, fabric, links.pool)
        ports = [_port(fabric, run.block, run.block, run.start, number, devices)
                 for number, run in enumerate(links.runs)]  # fmt: skip
        groups.append(_Hosts(links.hosts, plan.pool(links.pool).machine.name, ports))
    for item in plan.networks.served(fabric.name):
        service = fabric.services[item.service]
        ports = []
        for number in range(item.ports):
            turn, rail = divmod(number, len(rails))
            ports.append(_port(fabric, item.blocks[rail], rails[rail], turn * item.room, number, service.devices))
        groups.append(_Hosts(item.hosts, service.name, ports))
    return File(fill("infiniband/ipoib.sh.j2", name=plan.name, fabric=fabric.name, groups=groups,
                     per_256=AddressRun.PER_256, child=child_suffix(plan, fabric), key=DEFAULT_KEY | FULL),
                executable=True)  # fmt: skip


def _port(fabric: FabricPlan, block: Block, rail: Block, turn: int, number: int, devices: tuple[str, ...]) -> _Port:
    device = devices[number] if number < len(devices) else "-"
    return _Port(interface_name(fabric, number), device, int(block.network_address), turn, rail.prefixlen)
