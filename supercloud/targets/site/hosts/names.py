"""All names with in-band or management addresses, by runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ....plan.build.network.server_links import iter_server_ends
from ....plan.build.storage.client_names import iter_named_clients
from ....plan.model.network import NetworksPlan
from ....plan.model.plan import Plan
from ....plan.model.subnet import Subnet
from ....primitives.addresses import AddressRun
from ....primitives.nodes import HostRange

__all__ = ["NamedAddress", "iter_named_addresses", "iter_dhcp_reservations", "list_dhcp_subnets"]


class NamedAddress(NamedTuple):
    """A name with its address."""

    name: str
    address: str
    network: str
    """in-band, bmc or switch, as in the user's list of MAC addresses; empty for static addresses."""
    owner: str
    """Host in the list of MAC addresses: the machine of a BMC, else the host itself."""


def iter_named_addresses(plan: Plan) -> Iterator[NamedAddress]:
    """Yield service hosts, nodes, storage servers and service machines, named ports on fabrics, BMCs, switches."""
    assert plan.networks is not None
    yield from _iter_in_band(plan, plan.networks)
    yield from _iter_fabric_ports(plan, plan.networks)
    yield from _iter_management(plan.networks)


def _iter_in_band(plan: Plan, networks: NetworksPlan) -> Iterator[NamedAddress]:
    database = (plan.scheduler.database,) if plan.scheduler.database else ()
    seen: set[str] = set()
    machines = {name for run in networks.machines if run.addresses for name in run.hosts}
    for host in (*plan.scheduler.controllers, *database):
        if host.name not in seen:
            seen.add(host.name)
            # a service machine that is a controller gets the controller's address by DHCP
            yield NamedAddress(host.name, host.address, "in-band" if host.name in machines else "", host.name)
    for pool in plan.pools:
        yield from _iter_hosts(pool.hosts, pool.addresses)
    for group in plan.servers:
        yield from _iter_hosts(group.hosts, group.addresses)
    for run in networks.machines:
        if run.addresses:  # a controller on one of them has its assigned address
            yield from (item for item in _iter_hosts(run.hosts, run.addresses) if item.name not in seen)


def _iter_hosts(hosts: HostRange, addresses: AddressRun) -> Iterator[NamedAddress]:
    for index, name in enumerate(hosts):
        yield NamedAddress(name, addresses[index], "in-band", name)


def _iter_fabric_ports(plan: Plan, networks: NetworksPlan) -> Iterator[NamedAddress]:
    for fabric in plan.fabrics:
        for end in iter_server_ends(fabric, networks.list_servers(fabric.name)):
            yield NamedAddress(end.name, end.address, "", end.name)
    for name, address in iter_named_clients(plan):
        yield NamedAddress(name, address, "", name)


def _iter_management(networks: NetworksPlan) -> Iterator[NamedAddress]:
    for bmcs in networks.bmcs:
        for index, (name, node) in enumerate(zip(bmcs.names, bmcs.owners, strict=True)):
            yield NamedAddress(name, bmcs.addresses[index], "bmc", node)
    for switches in networks.switches:
        for index in range(switches.tier.count):
            name = switches.format_name(index)
            yield NamedAddress(name, switches.get_management_address(index), "switch", name)


def list_dhcp_subnets(plan: Plan) -> list[Subnet]:
    """Return the subnets whose hosts use DHCP."""
    assert plan.networks is not None
    roles = {"in-band", "storage", "bmc", "switch"}
    if any(item.addresses for item in plan.networks.machines):
        roles.add("service")
    return [subnet for subnet in plan.networks.subnets if subnet.role in roles]


def iter_dhcp_reservations(plan: Plan) -> Iterator[tuple[NamedAddress, str | None]]:
    """Yield the reservations of DHCP, each with its MAC address if the user specified one."""
    assert plan.networks is not None
    macs = plan.networks.macs
    return ((item, macs.get((item.owner, item.network))) for item in iter_named_addresses(plan) if item.network)
