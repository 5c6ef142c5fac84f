"""A cloud site in aligned lines of text, for people."""

from __future__ import annotations

from ...primitives.counts import format_count
from ..build.cloud.cost import HOURS_PER_MONTH
from ..build.cloud.region import compute_accelerator_carbon
from ..model.cloud import CloudNetwork, CloudPlan, CloudStorage, NodeGroup
from ..model.cloud_cost import CloudCost
from ..model.plan import Plan

__all__ = ["build_cloud_rows"]

Row = tuple[str, str, str]


def build_cloud_rows(plan: Plan) -> list[Row]:
    """Rows (kind, name, text) of a cloud site; empty on-prem."""
    cloud = plan.cloud
    if cloud is None:
        return []
    found: list[Row] = [("network", "", _describe_network(cloud.network, cloud))]
    found += [("group", group.key, _describe_group(group)) for group in cloud.groups]
    for host in cloud.hosts:
        parts = [f"{host.count} × {host.machine.name} ({host.role})", f"disk {host.disk}"]
        parts += [f"state on {host.state_disk}"] if host.state_disk else []
        parts += ["public"] if host.is_public else []
        found.append(("hosts", host.key, ", ".join(parts)))
    found += [("product", item.name, _describe_product(item)) for item in cloud.storage]
    if cloud.database:
        database = cloud.database
        found.append(
            (
                "database",
                database.key,
                f"{database.product} {database.engine} {database.version}, {database.machine}, {database.disk}",
            )
        )
    found += _build_cost_rows(cloud.cost)
    if plan.accelerators:
        carbon = compute_accelerator_carbon(plan)
        grid = plan.site.location.carbon if plan.site.location else None
        text = f"{carbon} an hour with the accelerators at their TDP, grid {grid}" if carbon is not None else "unknown"
        found.append(("carbon", "", text))
    return found


def _describe_network(network: CloudNetwork, cloud: CloudPlan) -> str:
    parts = [network.existing or (", ".join(network.cidrs) if network.cidrs else "ranges unknown")]
    parts.append(f"{len(network.subnets)} subnets in {', '.join(cloud.zones)}")
    if network.is_isolated:
        parts.append("isolated")
    if network.endpoints:
        parts.append(f"{len(network.endpoints)} private endpoint{'s' * (len(network.endpoints) > 1)}")
    return ", ".join(parts)


def _describe_group(group: NodeGroup) -> str:
    ident = getattr(group.capacity, "id", None)
    kinds = [interface.kind for interface in group.interfaces]
    names = {"interface": "standard"}
    counts = ", ".join(f"{kinds.count(kind)} {names.get(kind, kind)}" for kind in dict.fromkeys(kinds))
    parts = [f"{'then ' if group.rank else ''}{group.capacity.kind}{f' {ident}' if ident else ''}"]
    parts.append(f"up to {group.max_nodes} nodes, {group.initial_nodes} initially, in {', '.join(group.zones)}")
    parts.append(f"{format_count(len(kinds), 'network interface')} ({counts})")
    if group.has_placement_group:
        parts.append("placement group")
    if group.domain_nodes > 1:
        parts.append(f"domains of {group.domain_nodes}")
    return ", ".join(parts)


def _describe_product(storage: CloudStorage) -> str:
    deployment = storage.options.get("deployment")
    parts = [f"{storage.product}{f' {deployment}' if deployment else ''}"]
    if storage.capacity:
        parts.append(str(storage.capacity))
    if storage.throughput:
        parts.append(storage.throughput.bytes_text)
    parts += [f"{key} {value}" for key, value in storage.options.items() if key != "deployment"]
    if storage.linked_store:
        parts.append(f"filled from {storage.linked_store}")
    return ", ".join(parts)


def _build_cost_rows(cost: CloudCost) -> list[Row]:
    hour, month = cost.known_total.to("USD"), (cost.known_total * HOURS_PER_MONTH).to("USD")
    dates = sorted({line.source for line in cost.lines if line.source})
    least = "at least " if cost.unpriced_items else ""
    text = f"{least}{hour:,.2f} USD an hour, {month:,.0f} USD a month with everything running"
    found = [("cost", "", (text if dates else "unknown") + (f" ({'; '.join(dates)})" if dates else ""))]
    if cost.unpriced_items:
        found.append(("no price", "", ", ".join(cost.unpriced_items)))
    return found
