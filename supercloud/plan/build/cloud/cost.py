"""Hourly cost of a cloud site with everything running: known prices with their date, and items without a price."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ....catalog import Catalog, Machine, Prices
from ....catalog.price import ListPrice
from ....primitives.quantity import Duration, Money
from ...model.cloud import CloudDatabase, CloudHost, CloudNetwork, CloudStorage, NodeGroup
from ...model.cloud_cost import CloudCost, CostLine
from ...model.plan import PoolPlan
from .inputs import CloudInputs

__all__ = ["HOURS_PER_MONTH", "build_cost_line", "compute_cost", "find_list_price"]

HOURS_PER_MONTH = 730
"""A twelfth of 365 days, the month of the providers' own calculators."""


def compute_cost(
    inputs: CloudInputs,
    groups: tuple[NodeGroup, ...],
    hosts: tuple[CloudHost, ...],
    storage: tuple[CloudStorage, ...],
    network: CloudNetwork,
    database: CloudDatabase | None,
) -> CloudCost:
    """One line for each pool (all nodes, with its first capacity source), each host, and each service."""
    disks = sum(host.count for host in hosts) + sum(pool.nodes for pool in inputs.pools)
    return CloudCost(
        (
            *_iter_pool_lines(inputs, groups),
            *(build_cost_line(inputs, host.key, host.machine, host.count, "on-demand") for host in hosts),
            *_iter_service_lines(inputs, storage, database),
            *_iter_network_lines(network),
            CostLine("disks", disks, None, ""),
            CostLine("egress traffic", 1, None, ""),
        ),
        {pool.name: price for pool in inputs.pools if (price := _find_node_price(inputs, pool, groups)) is not None},
    )


def _find_node_price(inputs: CloudInputs, pool: PoolPlan, groups: tuple[NodeGroup, ...]) -> Money | None:
    """The highest price of a node of a pool, as it is unknown from which source of capacity a node will come; None if
    a price is unknown. Spot instances cost at most the on-demand price.
    """
    rules = [inputs.provider.find_capacity_rule(group.capacity.kind) for group in groups if group.pool == pool.name]
    kinds = {rule.price if rule else None for rule in rules}
    found = [
        build_cost_line(inputs, pool.name, pool.machine, 1, kind).unit_price
        for kind in kinds - ({"spot"} if "on-demand" in kinds else set())
    ]
    known = [price for price in found if price is not None]
    return max(known, default=None) if len(known) == len(found) else None


def _iter_pool_lines(inputs: CloudInputs, groups: tuple[NodeGroup, ...]) -> Iterator[CostLine]:
    for pool in inputs.pools:
        first = next((group for group in groups if group.pool == pool.name and group.rank == 0), None)
        if first is not None:
            rule = inputs.provider.find_capacity_rule(first.capacity.kind)
            yield build_cost_line(inputs, first.key, pool.machine, pool.nodes, rule.price if rule else None)


def _iter_service_lines(
    inputs: CloudInputs, storage: tuple[CloudStorage, ...], database: CloudDatabase | None
) -> Iterator[CostLine]:
    """Managed services, whose prices are not known."""
    for item in storage:
        if item.kind != "servers":
            yield CostLine(f"{item.name} ({item.product})", 1, None, "")
    if inputs.has_managed_kubernetes:
        yield CostLine("control plane", 1, None, "")
    if database:
        yield CostLine(f"{database.key} ({database.product})", 1, None, "")


def _iter_network_lines(network: CloudNetwork) -> Iterator[CostLine]:
    inner = sum(kind == "interface" for kind in network.endpoints.values())
    if inner:
        yield CostLine("private endpoints", inner, None, "")
    if any(subnet.is_public for subnet in network.subnets) and network.existing is None:
        yield CostLine("internet gateway", 1, None, "")


def find_list_price(catalog: Catalog, machine: Machine, region: str, capacity_kind: str | None) -> ListPrice | None:
    """The list price of a machine in a region for a purchase option; None if none has a source."""
    if capacity_kind is None or machine.name not in catalog.list_names("prices"):
        return None
    return catalog.get(Prices, machine.name).find_price(region, capacity_kind)


def build_cost_line(
    inputs: CloudInputs, item: str, machine: Machine, count: int, capacity_kind: str | None
) -> CostLine:
    """Cost line of machines; without a price if none has a source for the region and the purchase option."""
    found = find_list_price(inputs.catalog, machine, inputs.region.name, capacity_kind)
    if found is None:
        return CostLine(item, count, None, "")
    source = f"{found.read}, {found.date}" if found.date else f"{found.read}, undated"
    return CostLine(item, count, cast(Money, found.price * Duration(1, "h")), source)
