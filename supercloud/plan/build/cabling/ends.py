"""The ends of cables: the devices of a fabric as columns, with their names, ports and positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....catalog import Machine, Switch
from ....primitives.quantity import Rate
from ...model.devices import DeviceSet
from ...model.plan import FabricPlan, Plan, Service, SwitchTier
from ..fabric.device_names import list_service_names, list_switch_names
from ..fabric.node_numbers import compute_first_nodes
from ..fabric.roles import find_adapter

__all__ = [
    "DeviceLocator",
    "build_node_devices",
    "build_external_device",
    "build_service_devices",
    "build_switch_devices",
]

# Rack units are 44.45 mm high (EIA-310).
RACK_UNIT_HEIGHT = 0.04445

# Switch names have at least this number of digits, so that growth of a tier renames none.
_SWITCH_DIGITS = 3


class DeviceLocator:
    """Positions of devices, by their identifiers."""

    def __init__(self, plan: Plan):
        runs = plan.networks.switches if plan.networks else ()
        self.switch_runs = {(run.fabric, run.tier.name): run for run in runs}
        """Fabric and tier -> its switches with operating system."""
        self._runs: dict[tuple[str, str], list[tuple[int, int, int, int, int]]] = {}
        for number, rack in enumerate(plan.layout.racks if plan.layout else ()):
            for item in rack.items:
                run = (item.first, item.count, number, item.unit, item.height)
                self._runs.setdefault((item.kind, item.group), []).append(run)

    def locate(self, item_kind: str, name: str, count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rack and height of each of ``count`` devices; -1 if the layout does not contain them."""
        rack = np.full(count, -1, dtype=np.int64)
        height = np.zeros(count)
        runs = self._runs.get((item_kind, name))
        if runs:
            first, many, number, unit, units = np.array(runs).T
            many = np.clip(count - first, 0, many)
            run = np.repeat(np.arange(len(runs)), many)
            within = np.arange(len(run)) - np.repeat(np.cumsum(many) - many, many)
            rack[first[run] + within] = number[run]
            height[first[run] + within] = (unit[run] + within * units[run] + units[run] / 2) * RACK_UNIT_HEIGHT
        return rack, height

    def locate_all(self, item_kind: str, count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The same for devices of a kind, whatever their product: they are numbered over the hall."""
        found = self.locate(item_kind, "", count)
        for kind, name in self._runs:
            if kind == item_kind and name:
                rack, height = self.locate(item_kind, name, count)
                found = np.where(rack >= 0, rack, found[0]), np.where(rack >= 0, height, found[1])
        return found


def build_switch_devices(fabric: FabricPlan, tier: SwitchTier, locator: DeviceLocator) -> DeviceSet:
    """The switches of one tier, with the uplink ports last."""
    switch = tier.switch
    boxes = -(-tier.count // switch.chips)
    rack, height = locator.locate("switch", f"{fabric.name}/{tier.name}", boxes)
    box = np.arange(tier.count) // switch.chips
    ports, cages = _list_switch_ports(switch, fabric.speed, tier.radix)
    forms = [switch.cage or ""] * len(ports)
    more = switch.uplink_ports
    total = switch.modes[0].ports if switch.modes else tier.radix
    ports += [(switch.uplink_name or "uplink{number}").format(number=total + item + 1) for item in range(more)]
    cages += [max(cages, default=-1) + 1 + item for item in range(more)]
    forms += [switch.uplink_cage or ""] * more
    run = locator.switch_runs.get((fabric.name, tier.name))
    numbered = fabric.kind == "infiniband"
    system = [
        str(port + 1) if numbered else run.format_port_name(port) if run and run.network_os else ""
        for port in range(len(ports))
    ]
    aliases = [run.format_port_alias(port) if run and not numbered else "" for port in range(len(ports))]
    return DeviceSet(
        tier.name,
        switch.name,
        "switch",
        _to_text_array(list_switch_names(fabric.name, tier.name, tier.count)),
        _to_text_array(ports),
        np.array(cages, dtype=np.int64),
        tuple(forms),
        rack[box],
        height[box],
        system_names=tuple(system),
        port_aliases=tuple(aliases),
        switch_run=None if numbered else run,
    )


def _list_switch_ports(switch: Switch, speed: Rate | None, radix: int) -> tuple[list[str], list[int]]:
    mode = next((item for item in switch.modes if item.speed == speed), None)
    each = max(1, radix // switch.cages) if switch.cages else 1
    pattern = (mode.name if mode else None) or "{number}"
    names = [
        pattern.format(cage=port // each + 1, port=port % each + 1, port0=port % each, number=port + 1)
        for port in range(radix)
    ]
    return names, [port // each for port in range(radix)]


def build_node_devices(plan: Plan, fabric: FabricPlan, locator: DeviceLocator) -> list[DeviceSet]:
    """The nodes of each pool of a fabric."""
    found: list[DeviceSet] = []
    for name, first in compute_first_nodes(fabric, plan.pools).items():
        pool = plan.get_pool(name)
        count = fabric.rails * fabric.planes
        ports, cages, form, adapters, known = _list_machine_ports(pool.machine, fabric, count)
        rack, height = locator.locate("node", name, pool.nodes)
        found.append(
            DeviceSet(
                "node",
                pool.machine.name,
                "machine",
                _to_text_array(list(pool.hosts)),
                _to_text_array(ports),
                np.array(cages, dtype=np.int64),
                (form,) * count,
                rack,
                height,
                first,
                adapters,
                system_names=known,
                link_speed=fabric.pool_speeds.get(name),
            )
        )
    return found


def _list_machine_ports(
    machine: Machine, fabric: FabricPlan, count: int
) -> tuple[list[str], list[int], str, tuple[str, ...], tuple[str, ...]]:
    adapter, role = find_adapter(machine, fabric.role, fabric.kind, fabric.speed), fabric.role
    named = list(adapter.ports[:count]) if adapter and len(adapter.ports) >= count else []
    each = adapter.cage_links if adapter else 1
    devices = adapter.devices[:count] if adapter and len(adapter.devices) >= count else ()
    return (
        named or [f"{role}{port + 1}" for port in range(count)],
        [port // each for port in range(count)],
        (adapter.cage if adapter else None) or "",
        devices or tuple(f"mlx5_{port}" for port in range(count)),
        devices,
    )


def build_service_devices(plan: Plan, role: str, service: Service, locator: DeviceLocator) -> DeviceSet:
    """The machines of a service; each link has a separate cage. Switches keep the names of their fabric.

    Ports to the other machine of a pair follow those of the network.
    """
    each = -(-service.links // service.count)
    names = list(service.hosts or ()) or list_service_names(service.name, service.count)
    ports = _list_service_ports(service, role, each)
    rack, height = locator.locate("server", service.name, service.count)
    if service.name == "pdu":
        rack, height = locator.locate_all("pdu", service.count)
    tiers = {f"{fabric.name}-{tier.name}": (fabric, tier) for fabric in plan.fabrics for tier in fabric.tiers}
    if service.name in tiers:
        fabric, tier = tiers[service.name]
        names = list_switch_names(fabric.name, tier.name, tier.count)[:: tier.switch.chips]
        ports = ["mgmt0"]
        rack, height = locator.locate("switch", f"{fabric.name}/{tier.name}", service.count)
    ports += [f"peer{number + 1}" for number in range(service.peer_links)]
    known = service.devices[:each] if len(service.devices) >= each else ()
    return DeviceSet(
        service.name,
        service.product or service.name,
        "machine",
        _to_text_array(names),
        _to_text_array(ports),
        np.arange(len(ports)),
        (service.cage or "",) * len(ports),
        rack,
        height,
        adapters=known or tuple(f"mlx5_{port}" for port in range(len(ports))),
        is_managed=service.is_managed,
        system_names=(*known, *[""] * service.peer_links) if known else (),
    )


def _list_service_ports(service: Service, role: str, count: int) -> list[str]:
    """Names of the ports of one machine on a network of this role."""
    if len(service.port_names) >= count:
        return list(service.port_names[:count])
    return [f"{role}{port + 1}" for port in range(count)]


def build_external_device(ports: int, form_factor: str) -> DeviceSet:
    """The building's network, as one device whose cages are assumed to be like those of the fabric."""
    return DeviceSet(
        "building",
        "building",
        "switch",
        _to_text_array(["building"]),
        _to_text_array([f"port{port + 1}" for port in range(ports)]),
        np.arange(ports),
        (form_factor,) * ports,
        np.array([-1]),
        np.zeros(1),
        is_managed=False,
    )


def _to_text_array(values: list[str]) -> NDArray[Any]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
