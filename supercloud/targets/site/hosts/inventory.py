"""An Ansible inventory in ranges: ``train-[0001:0127]``, so that it stays short whatever the number of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from ....plan.model import Plan, RackPlan, ServerGroup
from ....plan.network.model import NetworksPlan
from ....primitives.nodes import HostRange

__all__ = ["inventory_text"]


def inventory_text(plan: Plan, head: str) -> str:
    """Groups by role, pool, rack and switch tier, with what tasks want to know as variables."""
    networks = plan.networks
    assert networks is not None
    lines = [head, "all:", "  vars:", f"    cluster: {plan.name}", f"    domain: {plan.network.domain}", "  children:"]
    lines += _group(4, "controllers", sorted({host.name for host in plan.scheduler.controllers}))
    if plan.scheduler.database:
        lines += _group(4, "database", [plan.scheduler.database.name])
    lines += ["    nodes:", "      children:"]
    for pool in plan.pools:
        values: dict[str, str | int] = {"pool": pool.name, "machine": pool.machine.name, "accelerators": pool.per_node}
        lines += _group(8, f"pool_{pool.name}", [_range(pool.hosts)], values)
    if plan.servers:
        lines += ["    storage:", "      children:"]
        for group in plan.servers:
            lines += _group(8, f"storage_{group.name}", [_range(group.hosts)], _server_values(networks, group))
    machines = [item for item in networks.machines if item.ours]
    if machines:
        lines += ["    services:", "      children:"]
        for machine in machines:
            lines += _group(8, f"service_{machine.name}", [_range(machine.hosts)], {"service": machine.name})
    lines += ["    bmcs:", "      children:"]
    for run in networks.bmcs:
        lines += _group(8, f"bmc_{run.of}", [_range(run.names)], {"pool": run.of})
    if networks.switches:
        lines += ["    switches:", "      children:"]
        for fabric, runs in groupby(networks.switches, lambda run: run.fabric):
            lines += [f"        fabric_{_word(fabric)}:", "          children:"]
            for switches in runs:
                hosts = [_range(switches.names(plane)) for plane in range(switches.planes)]
                about: dict[str, str | int] = {"fabric": fabric, "tier": switches.tier.name}
                about["model"] = switches.switch.name
                if switches.system:
                    about["network_system"] = switches.system.name
                lines += _group(12, f"{fabric}_{switches.tier.name}", hosts, about)
    if plan.layout:
        racks = [rack for rack in plan.layout.racks if any(item.what == "node" for item in rack.items)]
        lines += ["    racks:", "      children:"] if racks else []
        for rack in racks:
            lines += _group(8, f"rack_{rack.name}", list(_in_rack(plan, rack)))
    return "\n".join(lines) + "\n"


def _group(indent: int, name: str, hosts: Iterable[str], values: Mapping[str, str | int] | None = None) -> list[str]:
    pad = " " * indent
    lines = [f"{pad}{_word(name)}:", f"{pad}  hosts:", *(f"{pad}    {host}:" for host in hosts)]
    if values:
        lines += [f"{pad}  vars:", *(f"{pad}    {key}: {value}" for key, value in values.items())]
    return lines


def _server_values(networks: NetworksPlan, group: ServerGroup) -> dict[str, str | int]:
    """What it serves, and under which name and addresses it is reached on each fabric."""
    values: dict[str, str | int] = {"storage": group.storage, "role": group.role, "machine": group.machine.name}
    for item in networks.servers:
        if item.name == group.name:
            key = _word(item.fabric)
            values[f"{key}_name"] = '"{{ inventory_hostname }}-' + item.fabric + '"'
            values[f"{key}_ports"] = item.ports
            values[f"{key}_cidrs"] = "[" + ", ".join(map(str, item.blocks)) + "]"
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
