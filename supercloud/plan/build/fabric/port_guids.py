"""GUIDs of the ports that partitions list, by host: read from the fabric's file, never made up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....spec import Fabric as Declared
from ...model.plan import FabricPlan, Plan, Service
from .partitions import build_partition_rules, expand_hosts, has_tenant_hosts, list_service_hosts
from .roles import find_adapter

__all__ = ["HostPorts", "MissingGuids", "PortGuids", "iter_missing_guids"]


class HostPorts(NamedTuple):
    """How a host is on a fabric."""

    ports: int
    devices: tuple[str, ...]
    """RDMA devices; empty where the catalog does not know them."""


class MissingGuids(NamedTuple):
    """Ports without a GUID."""

    path: str
    """In the fabric of the spec."""
    problem: str
    hint: str


class PortGuids:
    """The GUIDs of a fabric, looked up by host."""

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
        """GUIDs of a host's ports on the fabric, as far as the file has them."""
        return [self._guids[name] for name in self._list_names(host)]

    def list_missing(self, host: str) -> list[str]:
        """What the file lacks of a host: the names of its devices where the catalog knows them, else the host's."""
        ports = self._find_ports(host)
        if ports.devices:
            return [f"{host} {device}" for device in ports.devices if f"{host} {device}" not in self._guids]
        return [host] * max(0, ports.ports - len(self._found.get(host, ())))

    def _list_names(self, host: str) -> list[str]:
        devices = self._find_ports(host).devices
        if devices:
            return [name for device in devices if (name := f"{host} {device}") in self._guids]
        # the fabric's own file: whatever it has of the host is on this fabric
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


def iter_missing_guids(plan: Plan, fabric: FabricPlan, declared: Declared) -> Iterator[MissingGuids]:
    """Ports that partitions list and that the fabric's file has no GUID of, for each place of the spec."""
    if not has_tenant_hosts(declared):
        return
    ports = PortGuids(plan, fabric)
    for place, hosts in _iter_listed_hosts(plan, fabric, declared):
        lacking = [name for host in hosts for name in ports.list_missing(host)]
        total = sum(ports.count_ports(host) for host in hosts)
        if lacking:
            yield MissingGuids(
                place,
                f"the GUIDs of {len(lacking)} of {total} ports are not known, the first is {lacking[0]!r}",
                "set guids to a file with what ibnetdiscover printed, or with lines of a name and a GUID",
            )


def _iter_listed_hosts(plan: Plan, fabric: FabricPlan, declared: Declared) -> Iterator[tuple[str, Sequence[str]]]:
    """Place in the fabric of the spec -> hosts that it has partitions list by GUID."""
    rules = build_partition_rules(plan, fabric, declared)
    for index, item in enumerate(declared.partitions):
        if item.hosts:
            yield f".partitions[{index}].hosts", expand_hosts(item.hosts)
        else:  # the nodes that have this tenant's key at index 0
            own = {host for rule in rules if rule.name == item.tenant for host in rule.hosts or ()}
            yield f".partitions[{index}]", sorted(own)
    named = [item.name for item in declared.services]
    for service in fabric.services:
        if service.name != f"{fabric.name}-manager":  # the subnet manager makes its own port a full member
            place = f".services[{named.index(service.name)}]" if service.name in named else ""
            yield place, list_service_hosts(service)
