"""The users of leaf ports other than nodes: subnet managers, storage servers, declared machines, and, on the management
network, all other devices of the plan with a management port.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ....catalog import Cable, Catalog, Machine
from ....catalog.machine import Adapter
from ....errors import UnknownNameError
from ....primitives.quantity import Rate
from ....spec import ClusterSpec, Fabric
from ...model.plan import FabricPlan, Service
from ...model.problems import Problems
from ...model.storage import ServerGroup
from .roles import (
    can_join_fabric,
    find_adapter,
    find_client_adapter,
    find_client_fabric,
    get_fabric_role,
    has_same_ports,
)

__all__ = ["AttachedEquipment", "FabricContext", "build_services"]


@dataclass(frozen=True)
class AttachedEquipment:
    """Devices other than nodes on the networks."""

    servers: tuple[ServerGroup, ...] = ()
    pdus: int = 0
    """Power distribution units of all racks."""
    rack_nodes: int | None = None
    """Nodes per rack, if racks are known."""
    downstream_links: tuple[tuple[str, int], ...] = ()
    """Fabric -> number of links of other networks to its topmost switches."""


@dataclass(frozen=True)
class FabricContext:
    """What the fabrics of a cluster are built from, and where problems are reported."""

    spec: ClusterSpec
    catalog: Catalog
    problems: Problems
    attached: AttachedEquipment


def build_services(
    fabric: Fabric, path: str, speed: Rate, built: tuple[FabricPlan, ...], context: FabricContext
) -> tuple[Service, ...]:
    """The services of a fabric in the order of their ports: managers, the declared ones, servers, managed devices."""
    spec, attached, catalog, problems = context.spec, context.attached, context.catalog, context.problems
    found: list[Service] = []
    manager = fabric.manager
    if manager and manager.links:
        count = manager.appliances or manager.links
        found.append(
            Service(
                f"{fabric.name}-manager",
                count,
                manager.links,
                manager.speed or speed,
                _compute_split(speed, manager.speed),
                manager.cage,
                manager.product,
                manager.part_number,
                cable=_find_cable(manager.cable, f"{path}.manager.cable", catalog, problems),
                can_share_modules=manager.pack,
                peer_links=manager.peer_links,
            )
        )
    for index, item in enumerate(fabric.services):
        cable = _find_cable(item.cable, f"{path}.services[{index}].cable", catalog, problems)
        found.append(
            Service(
                item.name,
                item.count,
                item.count * item.links,
                item.speed or speed,
                1 if cable and cable.tails > 1 else _compute_split(speed, item.speed),
                item.cage,
                item.product,
                item.part_number,
                not item.vendor_managed,
                cable,
                item.pack,
                item.peer_links,
                item.non_blocking,
            )
        )
    named = {service.name for service in found}
    if get_fabric_role(fabric) == "management":
        named |= {item.name for item in fabric.services}
        found += _iter_management_services(built, named, speed, attached, spec)
    else:
        found += _iter_storage_services(fabric, spec, speed, named, attached.servers)
    return tuple(found)


def _find_cable(name: str | None, path: str, catalog: Catalog, problems: Problems) -> Cable | None:
    if name is None:
        return None
    try:
        return catalog.get(Cable, name)
    except UnknownNameError as error:
        problems.add_unknown_name(path, error)
        return None


def _compute_split(speed: Rate, link_speed: Rate | None) -> int:
    """Number of links of the requested speed per port: the speed ratio, if a splitter with as many tails exists."""
    times = int(speed.base // link_speed.base) if link_speed and link_speed.base else 1
    return times if 1 < times <= _MAX_TAILS else 1


_MAX_TAILS = 8
"""Electrical lanes of the widest cages (multi-source agreements of QSFP-DD and OSFP): no splitter has more ends."""


def _iter_storage_services(
    fabric: Fabric, spec: ClusterSpec, speed: Rate, declared_names: set[str], servers: Sequence[ServerGroup]
) -> Iterator[Service]:
    """The storage servers: on the network of their clients, and on the in-band network with their ports for it."""
    stores = {item.name: find_client_fabric(spec, item.fabric) for item in spec.storage}
    for group in servers:
        if group.name in declared_names:
            continue
        clients = stores[group.storage]
        towards = find_client_adapter(group.machine, clients)
        if clients is fabric:
            if towards is not None:
                yield _build_storage_service(group, towards, speed, is_non_blocking=True)
            continue
        own = _find_in_band_adapter(group.machine, fabric, spec)
        if own is not None and not (towards and has_same_ports(own, towards)):
            yield _build_storage_service(group, own, speed)


def _find_in_band_adapter(machine: Machine, fabric: Fabric, spec: ClusterSpec) -> Adapter | None:
    """The in-band adapter of a server on a network. A port is on one network: that of the clients, or the first in-band
    network that it fits.
    """
    in_band = (item for item in machine.adapters if item.role == "in-band")
    own = next((item for item in in_band if can_join_fabric(item, fabric.kind)), None)
    if own is None:
        return None
    networks = (item for item in spec.fabrics if get_fabric_role(item) == "in-band")
    first = next((item for item in networks if can_join_fabric(own, item.kind)), None)
    return own if first is fabric else None


def _build_storage_service(group: ServerGroup, adapter: Adapter, speed: Rate, is_non_blocking: bool = False) -> Service:
    own = min(speed, adapter.speed)
    return Service(
        group.name,
        group.count,
        group.count * adapter.count,
        own,
        _compute_split(speed, own),
        adapter.cage,
        group.machine.name,
        is_non_blocking=is_non_blocking,
        hosts=group.hosts,
        port_names=adapter.ports,
        devices=adapter.devices,
        adapter=adapter,
    )


def _iter_management_services(
    built: Sequence[FabricPlan], declared_names: set[str], speed: Rate, attached: AttachedEquipment, spec: ClusterSpec
) -> Iterator[Service]:
    """A management port for every self-managed switch, server and service machine, and every distribution unit."""
    for fabric in built:
        for tier in fabric.tiers:
            boxes = -(-tier.count // tier.switch.chips)
            yield Service(f"{fabric.name}-{tier.name}", boxes, boxes, speed, cage="rj45", product=tier.switch.name)
    for name, service in _collect_service_machines(built, speed, spec).items():
        if name not in declared_names:
            yield Service(
                name,
                service.count,
                service.count,
                speed,
                cage="rj45",
                product=service.product,
                part_number=service.part_number,
                peer_links=service.peer_links,
            )
    for group in attached.servers:
        own = find_adapter(group.machine, "management", "ethernet", speed)
        if group.name not in declared_names and own is not None:
            yield _build_storage_service(group, own, speed)
    if attached.pdus and "pdu" not in declared_names:
        yield Service("pdu", attached.pdus, attached.pdus, speed, cage="rj45", is_managed=False)


def _collect_service_machines(built: Iterable[FabricPlan], speed: Rate, spec: ClusterSpec) -> dict[str, Service]:
    """The machines of managed services of other networks, and those of ``facility.machines``, whether or not another
    network names them; of several with the same name those with the highest number.
    """
    found: dict[str, Service] = {}
    for fabric in built:
        for service in fabric.services:
            known = found.get(service.name)
            if service.is_managed and service.hosts is None and (known is None or known.count < service.count):
                found[service.name] = service
    for item in spec.facility.machines if spec.facility else ():
        known = found.get(item.name)
        if known is None:
            found[item.name] = Service(item.name, item.count, item.count, speed, product=item.machine)
        elif known.count < item.count:
            found[item.name] = replace(known, count=item.count)
    return found
