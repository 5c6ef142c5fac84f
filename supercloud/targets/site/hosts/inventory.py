"""An Ansible inventory in ranges: ``train-[0001:0127]``, so that its length does not depend on the number of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from ....plan.model.network import NetworksPlan, SwitchRun
from ....plan.model.plan import Plan, RackPlan, ServerGroup
from ....primitives.nodes import HostRange
from ....primitives.tables import format_yaml

__all__ = ["render_inventory"]


def render_inventory(plan: Plan, header: str) -> str:
    """Render groups by role, pool, rack and switch tier, with variables for tasks."""
    networks = plan.networks
    assert networks is not None
    children: dict[str, Any] = {"controllers": _build_group(sorted({host.name for host in plan.scheduler.controllers}))}
    if plan.scheduler.database:
        children["database"] = _build_group([plan.scheduler.database.name])
    children["nodes"] = {
        "children": {
            _to_group_name(f"pool_{pool.name}"): _build_group(
                [_format_range(pool.hosts)],
                {"pool": pool.name, "machine": pool.machine.name, "accelerators": pool.accelerators_per_node},
            )
            for pool in plan.pools
        }
    }
    if plan.servers:
        children["storage"] = {
            "children": {
                _to_group_name(f"storage_{group.name}"): _build_group(
                    [_format_range(group.hosts)], _build_server_variables(networks, group)
                )
                for group in plan.servers
            }
        }
    machines = [item for item in networks.machines if item.is_managed]
    if machines:
        children["services"] = {
            "children": {
                _to_group_name(f"service_{item.name}"): _build_group(
                    [_format_range(item.hosts)], {"service": item.name}
                )
                for item in machines
            }
        }
    children["bmcs"] = {
        "children": {
            _to_group_name(f"bmc_{run.group}"): _build_group([_format_range(run.names)], {"pool": run.group})
            for run in networks.bmcs
        }
    }
    if networks.switches:
        children["switches"] = {
            "children": {
                f"fabric_{_to_group_name(fabric)}": {
                    "children": {
                        _to_group_name(f"{fabric}_{switches.tier.name}"): _build_switch_group(switches)
                        for switches in runs
                    }
                }
                for fabric, runs in groupby(networks.switches, lambda run: run.fabric)
            }
        }
    racks = (
        [rack for rack in plan.layout.racks if any(item.kind == "node" for item in rack.items)] if plan.layout else []
    )
    if racks:
        children["racks"] = {
            "children": {
                _to_group_name(f"rack_{rack.name}"): _build_group(_iter_rack_ranges(plan, rack)) for rack in racks
            }
        }
    values = {"cluster": plan.name, "domain": plan.network.domain}
    return f"{header}\n{format_yaml({'all': {'vars': values, 'children': children}})}"


def _build_switch_group(switches: SwitchRun) -> dict[str, Any]:
    about = {"fabric": switches.fabric, "tier": switches.tier.name, "model": switches.switch.name}
    if switches.network_os:
        about["network_system"] = switches.network_os.name
    return _build_group([_format_range(switches.get_plane_hosts(plane)) for plane in range(switches.planes)], about)


def _build_group(hosts: Iterable[str], values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"hosts": dict.fromkeys(hosts)}
    return found | ({"vars": dict(values)} if values else {})


def _build_server_variables(networks: NetworksPlan, group: ServerGroup) -> dict[str, Any]:
    """Build variables: the services of the group, and its name and addresses on each fabric."""
    values: dict[str, Any] = {"storage": group.storage, "role": group.role, "machine": group.machine.name}
    for item in networks.servers:
        if item.name == group.name:
            key = _to_group_name(item.fabric)
            values[f"{key}_name"] = "{{ inventory_hostname }}-" + item.fabric
            values[f"{key}_ports"] = item.ports
            values[f"{key}_cidrs"] = [str(block) for block in item.blocks]
    return values


def _format_range(hosts: HostRange) -> str:
    """Format the range in Ansible's notation."""
    low, high = f"{hosts.first:0{hosts.width}d}", f"{hosts.last:0{hosts.width}d}"
    return f"{hosts.prefix}{low}" if hosts.first == hosts.last else f"{hosts.prefix}[{low}:{high}]"


def _iter_rack_ranges(plan: Plan, rack: RackPlan) -> Iterator[str]:
    pools = {pool.name: pool.hosts for pool in plan.pools}
    for item in rack.items:
        if item.kind == "node" and item.group in pools:
            yield _format_range(pools[item.group].slice(item.first, item.first + item.count))


def _to_group_name(name: str) -> str:
    """Convert to a group name: Ansible requires letters, digits and underscores."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)
