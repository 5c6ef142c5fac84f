"""Port names of devices, and the cables that no rule describes: those of services, of pairs of leaves, to the building
and to other networks. The page's search needs both.
"""

from __future__ import annotations

from typing import Any

from ...errors import InputError
from ...plan.build.cabling.cables import build_cable_table
from ...plan.build.cabling.ends import DeviceLocator, build_node_devices, build_switch_devices
from ...plan.model.plan import FabricPlan, Plan
from ...topology import Fabric as Wiring

__all__ = ["list_irregular_cables", "build_port_names"]


def build_port_names(plan: Plan, fabric: FabricPlan, spots: DeviceLocator) -> dict[str, list[list[str]]]:
    """Pool or tier -> printed name of each port, and its name in the operating system if it differs."""
    found: dict[str, list[list[str]]] = {}
    for name, item in zip(fabric.pools, build_node_devices(plan, fabric, spots), strict=True):
        found[name] = _pair_names(item.ports, item.system_names)
    for tier in fabric.tiers:
        item = build_switch_devices(fabric, tier, spots)
        found[tier.name] = _pair_names(item.ports, item.system_names)
    return found


def _pair_names(ports: Any, system: tuple[str, ...]) -> list[list[str]]:
    return [
        [str(port), other] if other not in ("", str(port)) and not other.isdigit() else [str(port)]
        for port, other in zip(ports, system or ("",) * len(ports), strict=True)
    ]


def list_irregular_cables(plan: Plan, fabric: FabricPlan, spots: DeviceLocator) -> list[list[str]]:
    """Return device and port of both ends of every link that is not of a node or between tiers."""
    wiring = fabric.wiring
    if not isinstance(wiring, Wiring) or not fabric.tiers or not _has_irregular_cables(fabric):
        return []
    try:
        table = build_cable_table(plan, fabric, spots)
    except InputError:
        return []  # a finding has the reason
    ruled = sum(group.count for group in wiring.link_groups if group.source_kind != "reserved")
    served = sum(item.links for item in fabric.services)
    names = {item.name for item in fabric.services}
    kinds = [item.kind in names for item in table.devices]
    ends = zip(
        table.get_device_names("source"),
        table.get_port_names("source"),
        table.get_device_names("target"),
        table.get_port_names("target"),
        strict=True,
    )
    return [
        [str(cell) for cell in row]
        for number, (row, one) in enumerate(zip(ends, table.links.source_set.tolist(), strict=True))
        if kinds[one] or number >= ruled + served
    ]


def _has_irregular_cables(fabric: FabricPlan) -> bool:
    return bool(fabric.services or fabric.peer_links or fabric.external_links or fabric.upstream_fabric)
