"""A cloud site in aligned lines of text, for people."""

from __future__ import annotations

from ..build.cloud.cost import HOURS_OF_A_MONTH
from ..build.cloud.place import accelerator_carbon
from ..model.cloud import CloudCost, CloudNetwork, CloudPlan, CloudStorage, NodeGroup
from ..model.plan import Plan

__all__ = ["cloud_rows"]

Row = tuple[str, str, str]


def cloud_rows(plan: Plan) -> list[Row]:
    """(what, name, text) for each thing of a cloud site; nothing on-prem."""
    cloud = plan.cloud
    if cloud is None:
        return []
    found: list[Row] = [("network", "", _network(cloud.network, cloud))]
    found += [("group", group.key, _group(group)) for group in cloud.groups]
    for host in cloud.hosts:
        parts = [f"{host.count} × {host.machine.name} ({host.role})", f"disk {host.disk}"]
        parts += [f"state on {host.state}"] if host.state else []
        parts += ["public"] if host.public else []
        found.append(("hosts", host.key, ", ".join(parts)))
    found += [("product", item.name, _product(item)) for item in cloud.storage]
    if cloud.database:
        database = cloud.database
        found.append(("database", database.key, f"{database.product} {database.engine} {database.version}, "
                                                f"{database.machine}, {database.disk}"))  # fmt: skip
    found += _cost(cloud.cost)
    if plan.accelerators:
        carbon = accelerator_carbon(plan)
        grid = plan.site.location.carbon if plan.site.location else None
        text = f"{carbon} an hour with the accelerators at their TDP, grid {grid}" if carbon else "unknown"
        found.append(("carbon", "", text))
    return found


def _network(network: CloudNetwork, cloud: CloudPlan) -> str:
    parts = [network.existing or (", ".join(network.cidrs) if network.cidrs else "ranges unknown")]
    parts.append(f"{len(network.subnets)} subnets in {', '.join(cloud.zones)}")
    if network.closed:
        parts.append("closed")
    if network.endpoints:
        parts.append(f"{len(network.endpoints)} private endpoint{'s' * (len(network.endpoints) > 1)}")
    return ", ".join(parts)


def _group(group: NodeGroup) -> str:
    ident = getattr(group.capacity, "id", None)
    kinds = [interface.kind for interface in group.interfaces]
    cards = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    parts = [f"{'then ' if group.order else ''}{group.capacity.kind}{f' {ident}' if ident else ''}"]
    parts.append(f"up to {group.nodes} nodes, {group.initial} at first, in {', '.join(group.zones)}")
    parts.append(f"interfaces {cards}")
    if group.cluster_placement:
        parts.append("placement group")
    if group.domain_nodes > 1:
        parts.append(f"domains of {group.domain_nodes}")
    return ", ".join(parts)


def _product(item: CloudStorage) -> str:
    deployment = item.options.get("deployment")
    parts = [f"{item.product}{f' {deployment}' if deployment else ''}"]
    if item.capacity:
        parts.append(str(item.capacity))
    if item.throughput:
        parts.append(item.throughput.bytes_text)
    parts += [f"{key} {value}" for key, value in item.options.items() if key != "deployment"]
    if item.linked:
        parts.append(f"filled from {item.linked}")
    return ", ".join(parts)


def _cost(cost: CloudCost) -> list[Row]:
    hour, month = cost.known.to("USD"), (cost.known * HOURS_OF_A_MONTH).to("USD")
    dates = sorted({line.source for line in cost.lines if line.source})
    text = f"{hour:,.2f} USD an hour, {month:,.0f} USD a month with everything running"
    found = [("cost", "", (text if dates else "unknown") + (f" ({'; '.join(dates)})" if dates else ""))]
    if cost.unknown:
        found.append(("no price", "", ", ".join(cost.unknown)))
    return found
