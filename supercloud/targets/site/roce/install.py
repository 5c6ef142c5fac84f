"""INSTALL.md: the contents of the bundle, and the order in which they are loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....plan.build.network.adapter_qos import format_nodes_key, format_servers_key
from ....plan.build.network.nccl import find_collectives_file
from ....plan.model.network import Underlay
from ....plan.model.plan import Plan
from ....primitives.templates import render_template
from ..dialects import RoutedFiles
from .nodes import has_joined_rails

__all__ = ["render_install_guide"]


def render_install_guide(plan: Plan, underlays: Sequence[Underlay], dialects: Mapping[str, RoutedFiles]) -> str:
    """Render instructions to load the files and to verify the fabric."""
    systems = [run.network_os for underlay in underlays for run in underlay.switches if run.network_os]
    loads = {system.dialect: system for system in systems}
    return render_template(
        "roce/INSTALL.md.j2",
        plan=plan,
        underlays=underlays,
        loads=[(dialects[name].load_template, system) for name, system in sorted(loads.items())],
        without_qos={underlay.fabric: _list_folders_without_qos(plan, underlay) for underlay in underlays},
        software={underlay.fabric: _group_software(underlay) for underlay in underlays},
        ethernet_settings={underlay.fabric: _list_ethernet_settings(underlay) for underlay in underlays},
        services={underlay.fabric: _list_driver_services(underlay) for underlay in underlays},
        conf={underlay.fabric: _list_collective_files(plan, underlay) for underlay in underlays},
        joined={underlay.fabric: has_joined_rails(underlay) for underlay in underlays},
    )


def _list_folders_without_qos(plan: Plan, underlay: Underlay) -> list[str]:
    """Return the folders of hosts that have no QoS script for their adapters."""
    keys = [format_nodes_key(pool.name) for pool in plan.pools if underlay.fabric in pool.fabrics]
    return [
        key
        for key in (*keys, *(format_servers_key(item.name) for item in underlay.servers))
        if key not in underlay.adapter_tools
    ]


def _group_software(underlay: Underlay) -> dict[str, list[str]]:
    """Required software on hosts -> the folders of these hosts."""
    found: dict[str, list[str]] = {}
    for key, tool in sorted(underlay.adapter_tools.items()):
        found.setdefault(tool.software, []).append(f"`{key}`")
    return found


def _list_ethernet_settings(underlay: Underlay) -> list[str]:
    """Return the firmware settings that make ports of its hosts Ethernet."""
    return sorted({tool.ethernet_setting for tool in underlay.adapter_tools.values() if tool.ethernet_setting})


def _list_driver_services(underlay: Underlay) -> list[str]:
    """Return the units that load the drivers on its hosts."""
    return sorted({tool.driver_service for tool in underlay.adapter_tools.values() if tool.driver_service})


def _list_collective_files(plan: Plan, underlay: Underlay) -> list[str]:
    """Return the configuration files of the collective libraries of its nodes."""
    pools = [pool for pool in plan.pools if underlay.fabric in pool.fabrics and underlay.role == "compute"]
    return sorted({file for pool in pools if (file := find_collectives_file(pool))})
