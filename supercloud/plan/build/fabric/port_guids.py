"""GUIDs of the ports that partitions list, by host: read from the fabric's file, never generated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...model.plan import FabricPlan, Plan, Service
from .partitions import build_partition_rules, expand_hosts, has_tenant_hosts, list_service_hosts
from .roles import find_adapter

__all__ = ["HostPorts", "MissingGuids", "PortGuids", "iter_missing_guids"]


class HostPorts(NamedTuple):
    """The ports of a host on a fabric."""

    ports: int
    devices: tuple[str, ...]
    """RDMA devices; empty if the catalog does not have them."""


class MissingGuids(NamedTuple):
    """Number of ports without a GUID."""

    path: str
    """Index in the spec's partitions of the fabric."""
    problem: str
    hint: str


class PortGuids:
    """The GUIDs of a fabric, by host."""

    def __init__(self, plan: Plan, fabric: FabricPlan):
        self._guids = fabric.guids
        self._pools = [(plan.get_pool(name).hosts, _build_node_ports(plan, fabric, name)) for name in fabric.pools]
        self._services = {
            host: _build_service_ports(item) for item in fabric.services for host in list_service_hosts(item)
        }
        self._found: dict[str, list[str]] = {}
        for name in fabric.guids:
            host, _, device = name.partition(" ")
            if device:
                self._found.setdefault(host, []).append(name)

    def count_ports(self, host: str) -> int:
        """Ports of a host on the fabric."""
        return self._find_ports(host).ports

    def list_guids(self, host: str) -> list[str]:
        """GUIDs of a host's ports on the fabric, that the file contains."""
        return [self._guids[name] for name in self._list_names(host)]

    def list_missing(self, host: str) -> list[str]:
        """Missing entries of a host in the file: the names of its devices if the catalog has them, else the host's."""
        ports = self._find_ports(host)
        if ports.devices:
            return [f"{host} {device}" for device in ports.devices if f"{host} {device}" not in self._guids]
        return [host] * max(0, ports.ports - len(self._found.get(host, ())))

    def _list_names(self, host: str) -> list[str]:
        devices = self._find_ports(host).devices
        if devices:
            return [name for device in devices if (name := f"{host} {device}") in self._guids]
        # the file is that of the fabric: all ports of the host in it are on this fabric
        return sorted(self._found.get(host, ()), key=lambda name: (len(name), name))

    def _find_ports(self, host: str) -> HostPorts:
        pool = next((ports for hosts, ports in self._pools if host in hosts), None)
        return pool or self._services.get(host, HostPorts(0, ()))


def _build_node_ports(plan: Plan, fabric: FabricPlan, pool: str) -> HostPorts:
    count = fabric.rails * fabric.planes
    adapter = find_adapter(plan.get_pool(pool).machine, fabric.role, fabric.kind)
    devices = adapter.devices[:count] if adapter and len(adapter.devices) >= count else ()
    return HostPorts(count, devices)


def _build_service_ports(service: Service) -> HostPorts:
    count = -(-service.links // service.count)
    return HostPorts(count, service.devices[:count] if len(service.devices) >= count else ())


def iter_missing_guids(plan: Plan, fabric: FabricPlan) -> Iterator[MissingGuids]:
    """Ports that partitions list without a GUID in the fabric's file, for each index of the spec."""
    if not has_tenant_hosts(fabric.require_subnet_manager()):
        return
    ports = PortGuids(plan, fabric)
    for place, hosts in _iter_listed_hosts(plan, fabric):
        lacking = [name for host in hosts for name in ports.list_missing(host)]
        total = sum(ports.count_ports(host) for host in hosts)
        if lacking:
            yield MissingGuids(
                place,
                f"the GUIDs of {len(lacking)} of {total} ports are unknown, the first is {lacking[0]!r}",
                "set guids to a file with the output of ibnetdiscover, or with lines of a name and a GUID",
            )


def _iter_listed_hosts(plan: Plan, fabric: FabricPlan) -> Iterator[tuple[str, Sequence[str]]]:
    """Index in the spec -> hosts whose ports the partitions list by GUID."""
    rules = build_partition_rules(plan, fabric)
    for index, item in enumerate(fabric.require_subnet_manager().partitions):
        if item.hosts:
            yield f".partitions[{index}].hosts", expand_hosts(item.hosts)
        else:  # the nodes that have this tenant's key at index 0
            own = {host for rule in rules if rule.name == item.tenant for host in rule.hosts or ()}
            yield f".partitions[{index}]", sorted(own)
    named = [item.name for item in plan.spec.fabrics[fabric.position].services]
    for service in fabric.services:
        if service.name != f"{fabric.name}-manager":  # the subnet manager makes its own port a full member
            place = f".services[{named.index(service.name)}]" if service.name in named else ""
            yield place, list_service_hosts(service)
