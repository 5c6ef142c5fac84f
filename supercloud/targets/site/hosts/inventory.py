"""An Ansible inventory in ranges: ``train-[0001:0127]``, so that it stays short whatever the number of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from ....plan.model.network import NetworksPlan, SwitchRun
from ....plan.model.plan import Plan, RackPlan, ServerGroup
from ....primitives.nodes import HostRange
from ....primitives.tables import yaml_text

__all__ = ["inventory_text"]


def inventory_text(plan: Plan, head: str) -> str:
    """Groups by role, pool, rack and switch tier, with what tasks want to know as variables."""
    networks = plan.networks
    assert networks is not None
    children: dict[str, Any] = {"controllers": _group(sorted({host.name for host in plan.scheduler.controllers}))}
    if plan.scheduler.database:
        children["database"] = _group([plan.scheduler.database.name])
    children["nodes"] = {"children": {
        _word(f"pool_{pool.name}"): _group(
            [_range(pool.hosts)], {"pool": pool.name, "machine": pool.machine.name, "accelerators": pool.per_node})
        for pool in plan.pools
    }}  # fmt: skip
    if plan.servers:
        children["storage"] = {"children": {
            _word(f"storage_{group.name}"): _group([_range(group.hosts)], _server_values(networks, group))
            for group in plan.servers
        }}  # fmt: skip
    machines = [item for item in networks.machines if item.ours]
    if machines:
        children["services"] = {"children": {
            _word(f"service_{item.name}"): _group([_range(item.hosts)], {"service": item.name}) for item in machines
        }}  # fmt: skip
    children["bmcs"] = {"children": {
        _word(f"bmc_{run.of}"): _group([_range(run.names)], {"pool": run.of}) for run in networks.bmcs
    }}  # fmt: skip
    if networks.switches:
        children["switches"] = {"children": {
            f"fabric_{_word(fabric)}": {"children": {
                _word(f"{fabric}_{switches.tier.name}"): _switches(switches) for switches in runs
            }}
            for fabric, runs in groupby(networks.switches, lambda run: run.fabric)
        }}  # fmt: skip
    racks = (
        [rack for rack in plan.layout.racks if any(item.what == "node" for item in rack.items)] if plan.layout else []
    )
    if racks:
        children["racks"] = {"children": {_word(f"rack_{rack.name}"): _group(_in_rack(plan, rack)) for rack in racks}}
    values = {"cluster": plan.name, "domain": plan.network.domain}
    return f"{head}\n{yaml_text({'all': {'vars': values, 'children': children}})}"


def _switches(switches: SwitchRun) -> dict[str, Any]:
    about = {"fabric": switches.fabric, "tier": switches.tier.name, "model": switches.switch.name}
    if switches.system:
        about["network_system"] = switches.system.name
    return _group([_range(switches.names(plane)) for plane in range(switches.planes)], about)


def _group(hosts: Iterable[str], values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"hosts": dict.fromkeys(hosts)}
    return found | ({"vars": dict(values)} if values else {})


def _server_values(networks: NetworksPlan, group: ServerGroup) -> dict[str, Any]:
    """What it serves, and under which name and addresses it is reached on each fabric."""
    values: dict[str, Any] = {"storage": group.storage, "role": group.role, "machine": group.machine.name}
    for item in networks.servers:
        if item.name == group.name:
            key = _word(item.fabric)
            values[f"{key}_name"] = "{{ inventory_hostname }}-" + item.fabric
            values[f"{key}_ports"] = item.ports
            values[f"{key}_cidrs"] = [str(block) for block in item.blocks]
    return values


def _range(hosts: HostRange) -> str:
    """The range as Ansible writes it."""
    low, high = f"{hosts.first:0{hosts.width}d}", f"{hosts.last:0{hosts.width}d}"
    return f"{hosts.prefix}{low}" if hosts.first == hosts.last else f"{hosts.prefix}[{low}:{high}]"


def _in_rack(plan: Plan, rack: RackPlan) -> Iterator[str]:
    pools = {pool.name: pool.hosts for pool in plan.pools}
    for item in rack.items:
        if item.what == "node" and item.of in pools:
            yield _range(pools[item.of].part(item.first, item.first + item.count))


def _word(name: str) -> str:
    """A name of a group: Ansible wants letters, digits and underscores."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)
