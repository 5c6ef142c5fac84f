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
    children["nodes"] = _build_parent(_iter_pool_groups(plan))
    optional = {
        "storage": _build_parent(_iter_server_groups(plan, networks)),
        "services": _build_parent(_iter_service_groups(networks)),
    }
    children |= {name: group for name, group in optional.items() if group["children"]}
    children["bmcs"] = _build_parent(
        (f"bmc_{run.group}", _build_group(_list_ranges(run.names), {"pool": run.group})) for run in networks.bmcs
    )
    optional = {
        "switches": _build_parent(_iter_fabric_groups(networks)),
        "racks": _build_parent(_iter_rack_groups(plan)),
    }
    children |= {name: group for name, group in optional.items() if group["children"]}
    values = {"cluster": plan.name, "domain": plan.network.domain}
    return f"{header}\n{format_yaml({'all': {'vars': values, 'children': children}})}"


_NamedGroup = tuple[str, dict[str, Any]]


def _build_parent(groups: Iterable[_NamedGroup]) -> dict[str, Any]:
    """Build a group of groups."""
    return {"children": {_to_group_name(name): group for name, group in groups}}


def _iter_pool_groups(plan: Plan) -> Iterator[_NamedGroup]:
    for pool in plan.pools:
        values = {"pool": pool.name, "machine": pool.machine.name, "accelerators": pool.accelerators_per_node}
        yield f"pool_{pool.name}", _build_group(_list_ranges(pool.hosts), values)


def _iter_server_groups(plan: Plan, networks: NetworksPlan) -> Iterator[_NamedGroup]:
    for group in plan.servers:
        values = _build_server_variables(networks, group)
        yield f"storage_{group.name}", _build_group(_list_ranges(group.hosts), values)


def _iter_service_groups(networks: NetworksPlan) -> Iterator[_NamedGroup]:
    for item in networks.machines:
        if item.is_managed:
            yield f"service_{item.name}", _build_group(_list_ranges(item.hosts), {"service": item.name})


def _iter_fabric_groups(networks: NetworksPlan) -> Iterator[_NamedGroup]:
    for fabric, runs in groupby(networks.switches, lambda run: run.fabric):
        tiers = ((f"{fabric}_{switches.tier.name}", _build_switch_group(switches)) for switches in runs)
        yield f"fabric_{fabric}", _build_parent(tiers)


def _iter_rack_groups(plan: Plan) -> Iterator[_NamedGroup]:
    """Yield the racks with nodes."""
    for rack in plan.layout.racks if plan.layout else ():
        if any(item.kind == "node" for item in rack.items):
            yield f"rack_{rack.name}", _build_group(_iter_rack_ranges(plan, rack))


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


def _list_ranges(hosts: HostRange) -> list[str]:
    """List the ranges of hosts in Ansible's notation: one, unless names of hosts are given."""
    return [_format_range(run) for run in hosts.list_runs()]


def _format_range(hosts: HostRange) -> str:
    """Format the range in Ansible's notation."""
    if hosts.first == hosts.last:
        return hosts.get_name(0)
    return f"{hosts.prefix}[{hosts.first:0{hosts.width}d}:{hosts.last:0{hosts.width}d}]"


def _iter_rack_ranges(plan: Plan, rack: RackPlan) -> Iterator[str]:
    pools = {pool.name: pool.hosts for pool in plan.pools}
    for item in rack.items:
        if item.kind == "node" and item.group in pools:
            yield from _list_ranges(pools[item.group].slice(item.first, item.first + item.count))


def _to_group_name(name: str) -> str:
    """Convert to a group name: Ansible requires letters, digits and underscores."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)
