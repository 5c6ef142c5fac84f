"""Addresses of hosts on an InfiniBand fabric (IPoIB): what file systems and RDMA connections are addressed by.

One script for all hosts: each works its addresses out of its number, with the arithmetic of the plan.
"""

from __future__ import annotations

from typing import NamedTuple

from ....plan.fabric.roles import adapter_of
from ....plan.model import FabricPlan, Plan
from ....primitives.addresses import AddressRun, Block
from ....primitives.bundle import File
from ....primitives.nodes import HostRange
from ....primitives.templates import fill

__all__ = ["ipoib_script"]


class _Port(NamedTuple):
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
    before: int
    """Hosts of other pools that come before them in the subnet."""
    ports: list[_Port]


def ipoib_script(plan: Plan, fabric: FabricPlan) -> File:
    """The script of a fabric: nodes of its pools, and its servers."""
    assert plan.networks is not None
    rails = [item.block for item in plan.networks.subnets if item.fabric == fabric.name and item.role == "rail"]
    groups: list[_Hosts] = []
    before = 0
    for name in fabric.pools:
        pool = plan.pool(name)
        adapter = adapter_of(pool.machine, fabric.role, fabric.kind)
        devices = adapter.devices if adapter else ()
        ports = [_port(rail, rail, 0, number, devices) for number, rail in enumerate(rails)]
        groups.append(_Hosts(pool.hosts, before, ports))
        before += pool.nodes
    for item in plan.networks.served(fabric.name):
        devices = fabric.services[item.service].devices
        ports = []
        for number in range(item.ports):
            turn, rail = divmod(number, len(rails))
            ports.append(_port(item.blocks[rail], rails[rail], turn * item.room, number, devices))
        groups.append(_Hosts(item.hosts, 0, ports))
    return File(fill("infiniband/ipoib.sh.j2", name=plan.name, fabric=fabric.name, groups=groups,
                     per_256=AddressRun.PER_256), executable=True)  # fmt: skip


def _port(block: Block, rail: Block, turn: int, number: int, devices: tuple[str, ...]) -> _Port:
    device = devices[number] if number < len(devices) else "-"
    return _Port(device, int(block.network_address), turn, rail.prefixlen)
