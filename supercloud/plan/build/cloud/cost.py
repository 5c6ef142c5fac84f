"""What a cloud site costs an hour with everything running: known prices with their date, and what has none."""

from __future__ import annotations

from typing import cast

from ....catalog import Machine, Prices
from ....primitives.quantity import Duration, Money
from ...model.cloud import CloudCost, CloudDatabase, CloudHost, CloudNetwork, CloudStorage, CostLine, NodeGroup
from .given import Given

__all__ = ["HOURS_OF_A_MONTH", "cost_of", "price_line"]

HOURS_OF_A_MONTH = 730
"""A twelfth of 365 days, as clouds' own calculators count a month."""


def cost_of(
    given: Given, groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...], storage: tuple[CloudStorage, ...],
    network: CloudNetwork, database: CloudDatabase | None,
) -> CloudCost:  # fmt: skip
    """A line for each pool (all nodes, by the first way), each host, and each service."""
    lines = []
    for pool in given.pools:
        first = next((group for group in groups if group.pool == pool.name and group.order == 0), None)
        if first is not None:
            rule = given.provider.way(first.capacity.kind)
            lines.append(price_line(given, first.key, pool.machine, pool.nodes, rule.price if rule else None))
    lines += [price_line(given, host.key, host.machine, host.count, "on-demand") for host in hosts]
    lines += [CostLine(f"{item.name} ({item.product})", 1, None, "") for item in storage if item.kind != "servers"]
    if given.kubernetes:
        lines.append(CostLine("control plane", 1, None, ""))
    if database:
        lines.append(CostLine(f"{database.key} ({database.product})", 1, None, ""))
    inner = sum(kind == "interface" for kind in network.endpoints.values())
    if inner:
        lines.append(CostLine("private endpoints", inner, None, ""))
    if any(subnet.public for subnet in network.subnets) and network.existing is None:
        lines.append(CostLine("gateway to the internet", 1, None, ""))
    disks = sum(host.count for host in hosts) + sum(pool.nodes for pool in given.pools)
    lines += [CostLine("disks", disks, None, ""), CostLine("traffic out of the region", 1, None, "")]
    return CloudCost(tuple(lines))


def price_line(given: Given, what: str, machine: Machine, count: int, kind: str | None) -> CostLine:
    """The line of machines; without a price where none was sourced for the region and the way they are had."""
    if kind is None or machine.name not in given.catalog.names("prices"):
        return CostLine(what, count, None, "")
    known = cast(Prices, given.catalog.get("prices", machine.name))
    found = known.at(given.region.name, kind)
    if found is None:
        return CostLine(what, count, None, "")
    source = f"{found.read}, {found.date}" if found.date else f"{found.read}, undated"
    return CostLine(what, count, cast(Money, found.price * Duration(1, "h")), source)
