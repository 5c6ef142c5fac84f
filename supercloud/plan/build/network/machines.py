"""Addresses of devices other than nodes, switches and storage servers: service machines, and PDUs of racks.

On the in-band network their addresses are from the service hosts' block, from its end downwards; on the management
network from separate blocks. A group has space to grow, so that adding a machine renumbers no other.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ....primitives.addresses import AddressRun, Block, compute_block_size, count_block_hosts
from ....primitives.nodes import HostRange
from ...model.network import BmcRun, MachineRun
from ...model.plan import FabricPlan, NetworkPlan
from ...model.problems import Problems
from ...model.racks import FacilityPlan
from ..fabric.roles import is_routed
from .address_allocator import AddressAllocator

__all__ = ["ManagementAllocators", "build_machine_runs", "iter_management_runs"]

_DIGITS = 2
_PDU = "pdu"
# The first of the service hosts' addresses are those of controllers, which are numbered upwards.
_CONTROLLER_ADDRESSES = 100
# Reserved number of machines per group, if there are few groups for the block.
_GROUP_CAPACITY = 250
_MIN_GROUPS = 32
# Smaller parts of the management network are not divided: all kinds of devices then share one.
_MIN_SPLIT_ADDRESSES = 1 << 12
_PDU_CAPACITY = 250


@dataclass(frozen=True)
class ManagementAllocators:
    """The blocks of BMC addresses other than those of nodes: each kind grows without moving the others."""

    servers: AddressAllocator
    machines: AddressAllocator
    pdus: Block | None
    """Next address from the start of the block; None if all kinds share one block."""

    @classmethod
    def from_block(cls, block: Block) -> ManagementAllocators:
        """A part of the management network, divided: its upper half for servers, the rest for the others."""
        if block.num_addresses < _MIN_SPLIT_ADDRESSES:
            room = AddressAllocator(block)
            return cls(room, room, None)
        lower, upper = block.subnets(prefixlen_diff=1)
        pdus, machines = lower.subnets(prefixlen_diff=1)
        return cls(AddressAllocator(upper), AddressAllocator(machines), pdus)


def build_machine_runs(
    network: NetworkPlan, fabrics: tuple[FabricPlan, ...], hall: FacilityPlan | None, problems: Problems
) -> tuple[MachineRun, ...]:
    """Every group of service machines, with its addresses on the in-band network, if connected to it."""
    joined = [item for item in fabrics if item.role == "in-band" and not is_routed(item.kind, item.role) and item.tiers]
    on = {service.name for fabric in joined for service in fabric.services}
    block, runs = network.management, []
    whole = end = count_block_hosts(block)
    for name, (count, ours) in _count_groups(fabrics, hall).items():
        hosts = _build_hosts(name, count)
        if joined and name not in on:
            runs.append(MachineRun(name, hosts, None, ours))
            continue
        room = -(-count // _GROUP_CAPACITY) * _GROUP_CAPACITY if whole >= _GROUP_CAPACITY * _MIN_GROUPS else count
        end -= room
        if end < _CONTROLLER_ADDRESSES:
            problems.add_error(
                "network-size",
                "network.cidr",
                f"{block} has no {room} free addresses for the machines of {name}",
                "specify a larger network",
            )
            end += room
            continue
        runs.append(MachineRun(name, hosts, AddressRun(block, end, count), ours))
    return tuple(runs)


def iter_management_runs(
    machines: tuple[MachineRun, ...],
    scheduler_hosts: Collection[str],
    hall: FacilityPlan | None,
    allocators: ManagementAllocators,
    problems: Problems,
) -> Iterator[BmcRun]:
    """The management ports of self-managed service machines and of PDUs. A device that is on no other network has its
    own host name on this one, except for hosts of the scheduler: their names belong to the addresses that it uses.
    """
    for item in machines:
        if item.is_managed:
            is_named = item.addresses is not None or any(name in item.hosts for name in scheduler_hosts)
            prefix = f"bmc-{item.hosts.prefix}" if is_named else item.hosts.prefix
            block = allocators.machines.allocate(item.hosts.last)
            yield from _iter_run(item.name, item.hosts, prefix, block, allocators.machines.cidr, problems)
    pdus = hall.pdu_count if hall else 0
    if pdus and all(item.name != _PDU for item in machines):
        hosts = _build_hosts(_PDU, pdus)
        if allocators.pdus is None:
            part, block = allocators.machines.cidr, allocators.machines.allocate(pdus)
        else:
            part, block = str(allocators.pdus), _select_start_block(allocators.pdus, pdus)
        yield from _iter_run(_PDU, hosts, hosts.prefix, block, part, problems)


def _select_start_block(block: Block, hosts: int) -> Block | None:
    """The first addresses of a block: those of the hosts, and space for some more."""
    size = compute_block_size(max(hosts, _PDU_CAPACITY))
    if size > block.num_addresses:
        return None
    return ipaddress.IPv4Network((int(block.network_address), 33 - size.bit_length()))


def _iter_run(
    name: str, hosts: HostRange, prefix: str, block: Block | None, range_name: str, problems: Problems
) -> Iterator[BmcRun]:
    if block is None:
        problems.add_error(
            "network-size",
            "network.management",
            f"{range_name} has no free block for the {len(hosts)} management ports of {name}",
            "specify a larger network",
        )
        return
    yield BmcRun(name, hosts, HostRange(prefix, hosts.first, hosts.last, hosts.width), AddressRun(block, 0, len(hosts)))


def _count_groups(fabrics: tuple[FabricPlan, ...], hall: FacilityPlan | None) -> Mapping[str, tuple[int, bool]]:
    """Name -> number, and whether they are self-managed. The same name in several places means the same machines."""
    switches = {f"{fabric.name}-{tier.name}" for fabric in fabrics for tier in fabric.tiers}
    found = {group.name: (group.count, True) for group in (hall.service_groups if hall else ())}
    for fabric in fabrics:
        for item in fabric.services:
            if item.hosts is None and item.name not in switches and (item.is_managed or item.name != _PDU):
                count, ours = found.get(item.name, (0, False))
                found[item.name] = (max(count, item.count), ours or item.is_managed)
    return found


def _build_hosts(name: str, count: int) -> HostRange:
    return HostRange(f"{name}-", 1, count, max(_DIGITS, len(str(count))))
